package gate

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"slices"

	"github.com/pires/go-proxyproto"
)

const (
	openingSize = 512 // room for the first read: a PROXY header and a small request

	maxV1 = 107 // longest header of version 1, its line end included
	minV2 = 16  // of version 2: signature, command, family and the length of the rest

	// Of a header of version 2: where its command and the family of its addresses are, and the family of none.
	v2Command, v2Family, v2Unspecified = 12, 13, 0x00
)

// opening reads the first bytes of a connection.
type opening struct {
	nc  net.Conn
	buf []byte // what was read and not taken
}

// peek returns the first byte that is left, and waits for it.
func (o *opening) peek() (byte, error) {
	for len(o.buf) == 0 {
		if err := o.more(); err != nil {
			return 0, err
		}
	}
	return o.buf[0], nil
}

// more reads once.
func (o *opening) more() error {
	o.buf = slices.Grow(o.buf, 1)
	n, err := o.nc.Read(o.buf[len(o.buf):cap(o.buf)])
	o.buf = o.buf[:len(o.buf)+n]
	switch {
	case n > 0:
		return nil // an error comes again with the next read
	case err == nil:
		return io.ErrNoProgress
	}
	return err
}

// takeProxyHeader takes a PROXY header off and returns the source address that it names: nil when there is no header, or
// when it names none. It waits for no more bytes than it needs to be sure, however they are cut into packets.
func (o *opening) takeProxyHeader() (net.Addr, error) {
	for {
		size, err := proxyHeaderSize(o.buf)
		if err != nil {
			return nil, err
		}
		if size == 0 {
			return nil, nil
		}
		if size <= len(o.buf) {
			header := o.buf[:size]
			o.buf = o.buf[size:]
			return proxySource(header)
		}
		if err := o.more(); err != nil {
			return nil, err
		}
	}
}

// proxyHeaderSize returns the size of the PROXY header that b begins with, 0 when it cannot be one, and more than len(b)
// when more must be read to tell.
func proxyHeaderSize(b []byte) (int, error) {
	switch {
	case len(b) == 0:
		return 1, nil
	case begins(b, proxyproto.SIGV1):
		return v1Size(b)
	case begins(b, proxyproto.SIGV2):
		return v2Size(b)
	}
	return 0, nil
}

// begins reports whether b is, or may become, something with that prefix.
func begins(b, prefix []byte) bool {
	n := min(len(b), len(prefix))
	return bytes.Equal(b[:n], prefix[:n])
}

func v1Size(b []byte) (int, error) {
	end := bytes.IndexByte(b[:min(len(b), maxV1)], '\n')
	switch {
	case end >= 0:
		return end + 1, nil
	case len(b) >= maxV1:
		return 0, fmt.Errorf("%w: no line end in %d bytes", ErrProxyHeader, maxV1)
	}
	return len(b) + 1, nil
}

func v2Size(b []byte) (int, error) {
	if len(b) < minV2 {
		return minV2, nil
	}
	rest := binary.BigEndian.Uint16(b[minV2-2:])
	if rest > proxyproto.MaxV2HeaderSize {
		return 0, fmt.Errorf("%w: %d bytes, more than %d", ErrProxyHeader, rest, proxyproto.MaxV2HeaderSize)
	}
	return minV2 + int(rest), nil
}

// proxySource parses a complete header. A proxy that speaks for itself (LOCAL), or does not know for whom (UNKNOWN),
// names no source, and neither does one whose client did not come over TCP.
func proxySource(header []byte) (net.Addr, error) {
	if len(header) >= minV2 && header[v2Command] == byte(proxyproto.PROXY) && header[v2Family] == v2Unspecified {
		return nil, nil // the library refuses what the stock server and others let pass
	}
	parsed, err := proxyproto.Read(bufio.NewReader(bytes.NewReader(header)))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrProxyHeader, err)
	}
	source, _, ok := parsed.TCPAddrs()
	if !ok || parsed.Command.IsLocal() {
		return nil, nil
	}
	return source, nil
}
