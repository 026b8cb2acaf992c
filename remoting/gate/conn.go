package gate

import (
	"errors"
	"net"
)

// conn is an accepted connection whose first bytes were looked at.
type conn struct {
	net.Conn
	replay []byte   // of those, what nobody has read yet
	remote net.Addr // from a PROXY header, nil without one
}

// Read gives the bytes that were looked at first, and then is the connection's own.
func (c *conn) Read(b []byte) (int, error) {
	if c.replay == nil {
		return c.Conn.Read(b)
	}
	n := copy(b, c.replay)
	if c.replay = c.replay[n:]; len(c.replay) == 0 {
		c.replay = nil
	}
	return n, nil
}

// RemoteAddr is what the PROXY header said, or the peer's address.
func (c *conn) RemoteAddr() net.Addr {
	if c.remote != nil {
		return c.remote
	}
	return c.Conn.RemoteAddr()
}

// CloseWrite ends the stream towards the peer.
func (c *conn) CloseWrite() error {
	half, ok := c.Conn.(interface{ CloseWrite() error })
	if !ok {
		return errors.ErrUnsupported
	}
	return half.CloseWrite()
}
