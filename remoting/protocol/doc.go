// Package protocol holds the RocketMQ remoting wire as data: request and response codes, the two encodings of a
// command's header, the bodies a name server reads and writes, and the two dialects of JSON they are written in.
//
// # The wire
//
// A frame is a 4-byte length of what follows, one byte that names the header's encoding, a 3-byte header length, the
// header and the body; all integers are big-endian. [AppendFrame] writes a whole frame, [DecodeFrame] reads what
// follows the first four bytes. A frame that breaks the rules of RocketMQ's NettyDecoder and RemotingCommand is
// [ErrFrame]: its connection is beyond repair. What is wrong inside a body is [ErrBody] and can be answered.
//
// # JSON, written and read
//
// Peers parse answers with everything from fastjson to hand-written splitting on commas, so output is exact: no white
// space, members in alphabetical order, nulls left out, and one of two [Dialect]s. Input is read by one lenient scanner
// of our own, because senders write what encoding/json refuses: bare integer keys, unquoted names, numbers as strings.
// Unknown members are skipped, nesting is bounded, and broken UTF-8 turns into U+FFFD on the way in and on the way out,
// as it does in Java.
//
// # What it does not do
//
// No I/O, no goroutine, no clock, no meaning: it does not know which codes are served, what a registration changes, or
// which fields a request needs. A timestamp missing from a DataVersion is therefore 0, where the stock server puts in
// the time of arrival: a value made from a clock would differ on each member of a group, and would never compare equal
// to the next registration of the same broker.
//
// # Concurrency
//
// Functions are safe for concurrent use as long as nobody writes to their arguments. Values are plain data. Strings of a
// decoded value never alias the input; the Body of a command decoded by [DecodeFrame] does.
package protocol
