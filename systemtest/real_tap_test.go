package systemtest_test

import (
	"io"
	"net"
	"sync/atomic"
	"testing"
)

// tap stands in front of a server, passes every connection on, and counts them by how they begin.
type tap struct {
	addr              string
	tls, json, binary atomic.Int64
}

const (
	tlsHandshake = 0x16 // the first byte of a TLS connection; a frame never begins with it
	headerOffset = 4    // where a frame says how its header is written
	binaryHeader = 1    // … the binary form
)

// newTap puts a tap in front of the server at target, until the test ends.
func newTap(t *testing.T, target string) *tap {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &tap{addr: l.Addr().String()}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go s.pass(c, target)
		}
	}()
	return s
}

// pass copies both ways until one side ends.
func (s *tap) pass(c net.Conn, target string) {
	defer c.Close()
	first := make([]byte, headerOffset+1)
	if _, err := io.ReadFull(c, first); err != nil {
		return
	}
	switch {
	case first[0] == tlsHandshake:
		s.tls.Add(1)
	case first[headerOffset] == binaryHeader:
		s.binary.Add(1)
	default:
		s.json.Add(1)
	}
	server, err := net.Dial("tcp", target)
	if err != nil {
		return
	}
	defer server.Close()
	if _, err := server.Write(first); err != nil {
		return
	}
	ended := make(chan struct{}, 2)
	for _, way := range [][2]net.Conn{{server, c}, {c, server}} {
		go func() {
			_, _ = io.Copy(way[0], way[1])
			ended <- struct{}{}
		}()
	}
	<-ended
}
