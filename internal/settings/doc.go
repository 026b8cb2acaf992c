// Package settings holds every setting of a server under the names, types,
// defaults and conversion rules of the stock name server (its NamesrvConfig and
// NettyServerConfig), and the server's own settings beside them.
//
// It reads no file, no environment and no flag: it is given their contents. It
// decides what a value means, whether it is in range, whether a setting belongs
// to one peer or to the whole cluster and whether it may change while the server
// runs; it does not carry any change out.
//
// Conversion follows the stock server: texts are trimmed, a number that does not
// parse leaves the setting as it was, every boolean but "true" in any case is
// false, and keys that nobody knows are kept for display. Unlike there, values
// that did not parse are reported, those of a server that starts are refused, and
// so are values that could not work (a port of 70000, a pool without a thread).
//
// Settings is an immutable value, safe for concurrent use.
package settings
