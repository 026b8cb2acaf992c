// Package remoting moves RocketMQ remoting commands over TCP: a [Server] that answers requests and a [Client] that makes
// them. It knows frames, connections and queues; which codes exist and what they mean is its users' business, and what
// the bytes look like is package protocol's.
//
// # A request's way through the server
//
// Each connection has one goroutine that reads. It decodes every complete frame that has arrived and gives each to the
// [Processor] of its code. What the processor's Inline answers at once is collected and written together before the
// goroutine blocks on reading again. Everything else runs in the processor's [Pool], and its answers are written by a
// goroutine that exists while there is something to write. Answers are sent in the order in which they are made, which
// need not be the order of their requests.
//
// A request with the one-way bit is executed and never answered. A frame with the response bit is ignored: this server
// asks nothing over connections that it accepted. A frame that breaks the framing rules ends its connection, without an
// answer, and whatever was wrong inside a frame is the handler's to answer.
//
// # A connection's life
//
//   - OnEvent(Connected) is called before anything is read. Value and SetValue are there for what the owner wants to
//     remember.
//   - Requests whose processor is Ordered run one after another, in the order in which they arrived, each after the one
//     before it has returned; that holds across all Ordered processors of one connection. Other requests run at any
//     time, beside each other and beside those.
//   - Exactly one of Closed, Errored, Idle and Stopped is delivered last, from the goroutine that delivered Connected.
//     By then every Ordered request that arrived whole has returned, also those that were still queued when the
//     connection broke, and none starts afterwards. Requests that are not Ordered may still be running.
//   - A connection that Wrap refuses, or that is accepted while the server stops, has no events at all.
//
// # What one peer can do to others
//
// Nobody but a connection's own goroutines ever blocks on its socket. Reading from a connection pauses while more than
// HighWater bytes of its answers are unsent, or more than that of its requests is waiting in queues, or 1,024 of its
// requests are unanswered. Requests of such a connection that are already queued step aside instead of producing more.
// A write that makes no progress for 30 s ends the connection, and so does a frame that takes longer than the idle
// timeout to arrive: no sender waits that long for its answer. Memory for a frame grows with the bytes that arrive, not
// with the length that they claim.
//
// # Concurrency
//
// All exported methods are safe for concurrent use. Handlers run concurrently, inside the pool that their processor
// names; Inline runs on the goroutine that reads the connection, and all else on that connection waits for it. No lock
// is held while a handler or OnEvent runs. Close and Shutdown wait for every goroutine that the server or client
// started, so handlers must honour their context, and must not call Close or Shutdown themselves.
package remoting
