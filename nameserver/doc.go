// Package nameserver answers brokers, clients and tools: it turns request codes
// into reads of the replicated tables and commands for the log. It is the only
// package that knows both the wire and the tables.
//
// Its parts: [Tables] is the state machine that the group replicates; [Clock]
// runs at every peer and, while that peer leads, decides which brokers are gone;
// [Service] holds the request handlers and this peer's connections.
//
// It opens no listener, reads no file and knows no flag. It never decides by
// itself that a broker is gone unless this peer leads, and never answers "no
// such thing" from tables that were not confirmed after the question.
//
// # Concurrency
//
// Everything exported may be used from any goroutine. Reads take no lock: they
// load one pointer to immutable tables. Answers that several requests can share
// are built once by whoever asks first and kept beside the version of the table
// they came from. Requests of one connection that register or unregister a
// broker run in order, others beside each other.
package nameserver
