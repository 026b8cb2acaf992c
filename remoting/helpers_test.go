package remoting

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"namesrv/remoting/protocol"
)

const codeEcho protocol.Code = 7001

// echo answers with the request's body and fields.
func echo(_ context.Context, _ *Conn, req *protocol.Command) *protocol.Command {
	resp := protocol.NewResponse(protocol.Success, "")
	resp.Body, resp.ExtFields = req.Body, req.ExtFields
	return resp
}

func inlineEcho(c *Conn, req *protocol.Command) (*protocol.Command, bool) {
	return echo(context.Background(), c, req), true
}

func listen(tb testing.TB) net.Listener {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	return l
}

// serve runs s on a port of its own until the test ends, and returns the address.
func serve(tb testing.TB, s *Server) string {
	tb.Helper()
	l := listen(tb)
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	tb.Cleanup(func() {
		_ = s.Close()
		if err := <-done; !errors.Is(err, ErrServerClosed) {
			tb.Errorf("Serve returned %v", err)
		}
	})
	return l.Addr().String()
}

// peer is a connection that speaks frames by hand.
type peer struct {
	t  testing.TB
	nc net.Conn
	in *frameReader
}

func dial(t testing.TB, addr string) *peer {
	t.Helper()
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = nc.Close() })
	return &peer{t: t, nc: nc, in: newFrameReader(nc, protocol.MaxFrame)}
}

func (p *peer) write(b []byte) {
	p.t.Helper()
	if _, err := p.nc.Write(b); err != nil {
		p.t.Fatal(err)
	}
}

func (p *peer) send(cmds ...*protocol.Command) {
	p.t.Helper()
	var b []byte
	for _, cmd := range cmds {
		b = protocol.AppendFrame(b, cmd)
	}
	p.write(b)
}

// receive returns the next command, or the error that reading ended with. It waits at most 10 s.
func (p *peer) receive() (*protocol.Command, error) {
	_ = p.nc.SetReadDeadline(time.Now().Add(10 * time.Second))
	for {
		frame, owned, err := p.in.next()
		if err != nil {
			return nil, err
		}
		if frame != nil {
			cmd := new(protocol.Command)
			return cmd, decode(cmd, frame, owned)
		}
		if _, err := p.in.fill(); err != nil {
			return nil, err
		}
	}
}

func (p *peer) mustReceive() *protocol.Command {
	p.t.Helper()
	cmd, err := p.receive()
	if err != nil {
		p.t.Fatal(err)
	}
	return cmd
}

// mustEnd fails the test unless the server closes the connection without a further answer.
func (p *peer) mustEnd() {
	p.t.Helper()
	cmd, err := p.receive()
	if err == nil {
		p.t.Fatalf("got %+v, want the connection closed", cmd)
	}
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		p.t.Fatal("the connection is still open")
	}
}

// eventually polls until cond holds.
func eventually(t testing.TB, what string, cond func() bool) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for !cond() {
		if time.Now().After(deadline) {
			t.Fatalf("not in time: %s", what)
		}
		time.Sleep(time.Millisecond)
	}
}
