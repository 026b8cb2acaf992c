// Package gate is what a connection goes through before requests are read from it: it takes off a PROXY protocol header
// and ends TLS. It also makes outgoing connections over TLS.
//
// # What a connection begins with
//
// The first bytes decide, as in the stock server (RocketMQ NettyRemotingServer, HandshakeHandler and TlsModeHandler).
// "PROXY", or the signature of version 2, begins a PROXY header, with or without TLS after it. Then 0x16 begins TLS, and
// everything else is plain text: a frame would have to be 369 MB long to begin with it. Only as many bytes are waited
// for as the decision needs. The bytes that were read for it are given to the reader once; every later read goes
// straight to the connection.
//
// Anyone can write a PROXY header. The address in it becomes the connection's RemoteAddr, for logs, and must not decide
// what a peer may do.
//
// # TLS
//
// TLS 1.2 and 1.3 are spoken, with the suites of Go's default: all of them are known to Java 8. Host names are not
// checked in either direction, since RocketMQ clients and brokers know each other by address.
//
// Files are looked at when a connection needs them, at most twice a second, and read again when one of them has
// changed. Until they can be read and fit together, the former ones stay in use. Connections that exist keep what they
// began with.
//
// The package does not know the stock names of its options, and reads no configuration but certificates and keys.
//
// # Concurrency
//
// A [Gate] and a [Dialer] are safe for concurrent use and start no goroutine. Wrap and Dial block on the network, as
// long as the connection's deadline or the context lets them.
package gate
