// Package rocketmq runs the released Apache RocketMQ programs beside a name server under test, and speaks their
// protocol: it fetches the artifacts with Maven and npm, starts brokers, a container of brokers, the proxy and the stock
// name server, runs mqadmin and the clients for Java and Node, and has a small client of the remoting protocol with
// registrations shaped like those of a real broker.
//
// It is for tests and benchmarks only; no product package imports it. Its wire client has a codec of its own, written
// with encoding/json, on purpose: a mistake in the product's codec must not be able to cancel itself out. It does not
// pool connections and does not retry.
//
// A Java process takes 2–4 seconds to start on a small machine, so a caller shares brokers between its checks.
//
// Everything started here is ended by its process id through the returned value. [Artifacts] may be called by several
// test processes at once. A [Conn] may be used from several goroutines.
package rocketmq
