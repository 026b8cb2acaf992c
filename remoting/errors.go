package remoting

import "errors"

var (
	// ErrServerClosed is what Serve returns after Close, Shutdown or CloseListeners.
	ErrServerClosed = errors.New("remoting server closed")

	// ErrClientClosed is what calls of a closed client return, also those that were waiting when it closed.
	ErrClientClosed = errors.New("remoting client closed")

	// ErrConnClosed says that the connection broke after the request may have been sent: whether the peer executed
	// it is not known.
	ErrConnClosed = errors.New("connection closed")

	// ErrConnect says that no connection could be made: the request was not sent.
	ErrConnect = errors.New("cannot connect")

	// ErrTimeout says that no answer came in time: whether the peer executed the request is not known.
	ErrTimeout = errors.New("no answer in time")

	// ErrTooManyRequests says that as many calls of this kind are under way as are allowed: the request was not sent.
	ErrTooManyRequests = errors.New("too many requests under way")
)
