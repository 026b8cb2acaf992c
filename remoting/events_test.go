package remoting

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"namesrv/remoting/protocol"
)

// recorder notes what happens, in order.
type recorder struct {
	mu   sync.Mutex
	list []string
}

func (r *recorder) add(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = append(r.list, what)
}

func (r *recorder) record(kind EventKind, _ *Conn) { r.add(kind.String()) }

func (r *recorder) reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = nil
}

func (r *recorder) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.list...)
}

// await polls until exactly want has been noted.
func (r *recorder) await(t *testing.T, want ...string) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for len(r.all()) < len(want) && time.Now().Before(deadline) {
		time.Sleep(time.Millisecond)
	}
	if diff := cmp.Diff(want, r.all()); diff != "" {
		t.Fatalf("events (-want +got):\n%s", diff)
	}
}

func TestEvents(t *testing.T) {
	tests := []struct {
		name string
		end  func(*peer, *Server)
		want string
	}{
		{"the peer closes", func(p *peer, _ *Server) { _ = p.nc.Close() }, "closed"},
		{"the peer closes in the middle of a frame", func(p *peer, _ *Server) { p.write([]byte{0, 0, 1}); _ = p.nc.Close() }, "closed"},
		{"the peer resets", func(p *peer, _ *Server) { _ = p.nc.(*net.TCPConn).SetLinger(0); _ = p.nc.Close() }, "errored"},
		{"the owner closes", func(p *peer, _ *Server) { p.send(&protocol.Command{Code: 1}) }, "closed"},
		{"the peer sends garbage", func(p *peer, _ *Server) { p.write([]byte("garbage")) }, "errored"},
		{"nothing happens", func(*peer, *Server) {}, "idle"},
		{"the server closes", func(_ *peer, s *Server) { _ = s.Close() }, "stopped"},
		{"the server shuts down", func(_ *peer, s *Server) { _ = s.Shutdown(context.Background()) }, "stopped"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var events recorder
			s := NewServer(ServerConfig{
				IdleTimeout: 300 * time.Millisecond, OnEvent: events.record,
				Default: Processor{Handle: func(_ context.Context, c *Conn, _ *protocol.Command) *protocol.Command {
					_ = c.Close()
					return nil
				}},
			})
			p := dial(t, serve(t, s))
			events.await(t, "connected")
			tt.end(p, s)
			events.await(t, "connected", tt.want)
			eventually(t, "the connection forgotten", func() bool { return s.Conns() == 0 })
			_ = s.Close()
			events.await(t, "connected", tt.want)
		})
	}
}

func TestValueIsThereForTheFirstRequest(t *testing.T) {
	s := NewServer(ServerConfig{
		OnEvent: func(kind EventKind, c *Conn) {
			if kind == Connected {
				if c.Value() != nil {
					t.Error("a new connection has a value")
				}
				c.SetValue("state")
			}
		},
		Default: Processor{
			Handle: echo,
			Inline: func(c *Conn, _ *protocol.Command) (*protocol.Command, bool) {
				v, _ := c.Value().(string)
				return protocol.NewResponse(protocol.Code(c.ID()), v), true
			},
		},
	})
	addr := serve(t, s)
	for id := range protocol.Code(3) {
		p := dial(t, addr)
		p.send(&protocol.Command{})
		if got := p.mustReceive(); got.Remark != "state" || got.Code != id+1 {
			t.Errorf("connection %d with value %q, want %d", got.Code, got.Remark, id+1)
		}
	}
}

func TestTrafficIsNotIdle(t *testing.T) {
	const idle = 400 * time.Millisecond
	var events recorder
	p := dial(t, serve(t, NewServer(ServerConfig{
		Processors: testProcessors(), IdleTimeout: idle, OnEvent: events.record,
	})))
	tick := time.NewTicker(idle / 8)
	defer tick.Stop()
	var last time.Time // before the last traffic
	for start := time.Now(); time.Since(start) < 2*idle; <-tick.C {
		last = time.Now()
		p.send(&protocol.Command{Code: codeInline, Opaque: 8})
		if got := p.mustReceive(); got.Opaque != 8 {
			t.Errorf("got %+v", got)
		}
	}
	p.mustEnd()
	if silent := time.Since(last); silent < idle {
		t.Errorf("closed after %v of silence", silent)
	}
	events.await(t, "connected", "idle")
}

// A peer that sends a byte now and then does not keep its connection, but what it asked before is answered.
func TestTricklingFrame(t *testing.T) {
	const idle = 300 * time.Millisecond
	var events recorder
	p := dial(t, serve(t, NewServer(ServerConfig{
		Processors: testProcessors(), IdleTimeout: idle, OnEvent: events.record,
	})))
	p.send(&protocol.Command{Code: codeInline, Opaque: 8})
	tick := time.NewTicker(idle / 8)
	defer tick.Stop()
	p.write([]byte{0, 0, 1, 0})
	for start := time.Now(); len(events.all()) < 2; <-tick.C {
		if time.Since(start) > 20*idle {
			t.Fatal("the connection is still open")
		}
		_, _ = p.nc.Write([]byte{0})
	}
	events.await(t, "connected", "idle")
}

// Ordered requests run in the order of arrival, one at a time, also when their pools differ; the event that ends the
// connection comes after all that had arrived.
func TestOrdered(t *testing.T) {
	const n = 200
	var events recorder
	var running sync.Mutex
	release := make(chan struct{})
	handle := func(ctx context.Context, _ *Conn, req *protocol.Command) *protocol.Command {
		<-release
		if !running.TryLock() {
			t.Error("two Ordered requests run at once")
		}
		defer running.Unlock()
		if ctx.Err() != nil {
			t.Error("the context ended with the connection")
		}
		events.add(req.Remark)
		return nil
	}
	inline := func(c *Conn, req *protocol.Command) (*protocol.Command, bool) {
		return handle(t.Context(), c, req), true
	}
	s := NewServer(ServerConfig{OnEvent: events.record, Processors: map[protocol.Code]Processor{
		1: {Handle: handle, Ordered: true, Pool: NewPool("one", 4, 1000)},
		2: {Handle: handle, Ordered: true, Pool: NewPool("two", 4, 1000)},
		3: {Handle: handle, Ordered: true, Pool: NewPool("three", 4, 1000), Inline: inline},
	}})
	p := dial(t, serve(t, s))
	want := []string{"connected"}
	var cmds []*protocol.Command
	for i := range n {
		name := string(rune('a'+i%26)) + string(rune('a'+i/26))
		cmds = append(cmds, &protocol.Command{Code: protocol.Code(1 + (i/3+i/7)%3), Remark: name, Flag: protocol.FlagOneWay})
		want = append(want, name)
	}
	cmds[0].Code = 1
	p.send(cmds...)
	_ = p.nc.Close()
	events.await(t, "connected")
	close(release)
	events.await(t, append(want, "closed")...)
}

func TestOrderedInlineWhenNothingRuns(t *testing.T) {
	s := NewServer(ServerConfig{Default: Processor{Handle: echo, Inline: inlineEcho, Ordered: true}})
	p := dial(t, serve(t, s))
	p.send(&protocol.Command{Opaque: 1}, &protocol.Command{Opaque: 2})
	for i := range int32(2) {
		if got := p.mustReceive(); got.Opaque != i+1 {
			t.Errorf("opaque %d, want %d", got.Opaque, i+1)
		}
	}
}

// Requests that are not Ordered overtake a slow Ordered one.
func TestUnorderedOvertakes(t *testing.T) {
	release := make(chan struct{})
	s := NewServer(ServerConfig{Processors: map[protocol.Code]Processor{
		codeEcho: {Handle: echo},
		1: {Ordered: true, Handle: func(context.Context, *Conn, *protocol.Command) *protocol.Command {
			<-release
			return protocol.NewResponse(protocol.Success, "")
		}},
	}})
	p := dial(t, serve(t, s))
	p.send(&protocol.Command{Code: 1, Opaque: 1}, &protocol.Command{Code: codeEcho, Opaque: 2})
	if got := p.mustReceive(); got.Opaque != 2 {
		t.Errorf("first answer is to %d", got.Opaque)
	}
	close(release)
	if got := p.mustReceive(); got.Opaque != 1 {
		t.Errorf("second answer is to %d", got.Opaque)
	}
}

// An Ordered request whose pool is full is refused, and those behind it still run.
func TestOrderedOverload(t *testing.T) {
	release := make(chan struct{})
	started := make(chan struct{}, 1)
	s := NewServer(ServerConfig{Processors: map[protocol.Code]Processor{
		1: {Ordered: true, Handle: echo, Pool: NewPool("busy", 1, 0)},
		2: {Ordered: true, Handle: echo, Pool: NewPool("free", 1, 0)},
	}})
	busy := s.processors[1].Pool
	busy.submit(func() { started <- struct{}{}; <-release })
	<-started
	p := dial(t, serve(t, s))
	p.send(&protocol.Command{Code: 1, Opaque: 1}, &protocol.Command{Code: 2, Opaque: 2})
	var got []protocol.Code
	for range 2 {
		got = append(got, p.mustReceive().Code)
	}
	close(release)
	if diff := cmp.Diff([]protocol.Code{protocol.SystemBusy, protocol.Success}, got); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
}
