package remoting

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"namesrv/remoting/protocol"
)

func newTestClient(t testing.TB, cfg ClientConfig) *Client {
	t.Helper()
	c := NewClient(cfg)
	t.Cleanup(c.Close)
	return c
}

// blackHole accepts connections and hands them over; it answers nothing.
func blackHole(t testing.TB) (addr string, conns <-chan net.Conn) {
	t.Helper()
	l := listen(t)
	accepted := make(chan net.Conn, 100)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { _ = nc.Close() })
			accepted <- nc
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-done
	})
	return l.Addr().String(), accepted
}

func TestInvokeSync(t *testing.T) {
	addr := serve(t, NewServer(ServerConfig{Processors: testProcessors()}))
	for _, serialize := range []protocol.SerializeType{protocol.JSON, protocol.RocketMQ} {
		t.Run(serialize.String(), func(t *testing.T) {
			c := newTestClient(t, ClientConfig{Serialize: serialize})
			req := &protocol.Command{Code: codeEcho, ExtFields: map[string]string{"a": "1"}, Body: bytes.Repeat([]byte("b"), 200000)}
			got, err := c.InvokeSync(t.Context(), addr, req)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(req.Body, got.Body) || !cmp.Equal(req.ExtFields, got.ExtFields) {
				t.Errorf("answer with %d bytes, fields %v", len(got.Body), got.ExtFields)
			}
			if req.Opaque != 0 {
				t.Error("the request was changed")
			}
		})
	}
}

// Concurrent calls share one connection and get their own answers, whatever the order.
func TestConcurrentCalls(t *testing.T) {
	var connected atomic.Int64
	addr := serve(t, NewServer(ServerConfig{
		Processors: testProcessors(),
		OnEvent: func(kind EventKind, _ *Conn) {
			if kind == Connected {
				connected.Add(1)
			}
		},
	}))
	c := newTestClient(t, ClientConfig{})
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			for j := range 20 {
				code := []protocol.Code{codeEcho, codeInline}[j%2]
				want := fmt.Sprint(i, "/", j)
				got, err := c.InvokeSync(t.Context(), addr, &protocol.Command{Code: code, Body: []byte(want)})
				if err != nil || string(got.Body) != want {
					t.Errorf("got %v, %v, want %s", got, err, want)
				}
			}
		})
	}
	wg.Wait()
	if n := connected.Load(); n != 1 {
		t.Errorf("%d connections were made", n)
	}
}

func TestInvokeAsync(t *testing.T) {
	addr := serve(t, NewServer(ServerConfig{Processors: testProcessors()}))
	c := newTestClient(t, ClientConfig{})
	got := make(chan string, 1)
	err := c.InvokeAsync(t.Context(), addr, &protocol.Command{Code: codeEcho, Body: []byte("x")}, func(resp *protocol.Command, err error) {
		got <- fmt.Sprint(string(resp.Body), err)
	})
	if err != nil {
		t.Fatal(err)
	}
	if s := <-got; s != "x<nil>" {
		t.Errorf("got %s", s)
	}
}

func TestInvokeOneway(t *testing.T) {
	got := make(chan *protocol.Command, 1)
	addr := serve(t, NewServer(ServerConfig{Default: Processor{
		Handle: func(_ context.Context, _ *Conn, req *protocol.Command) *protocol.Command {
			got <- req
			return nil
		},
	}}))
	c := newTestClient(t, ClientConfig{})
	if err := c.InvokeOneway(t.Context(), addr, &protocol.Command{Code: 905}); err != nil {
		t.Fatal(err)
	}
	if req := <-got; req.Code != 905 || !req.OneWay() {
		t.Errorf("got %+v", req)
	}
}

func TestCallsFail(t *testing.T) {
	hole, conns := blackHole(t)
	closed := listen(t)
	_ = closed.Close()
	tests := []struct {
		name string
		addr string
		want []error
		ctx  func(t *testing.T) context.Context
		then func(c *Client)
	}{
		{"nobody listens", closed.Addr().String(), []error{ErrConnect}, nil, nil},
		{"no answer", hole, []error{ErrTimeout}, nil, nil},
		{
			"no answer before the context's deadline", hole, []error{ErrTimeout},
			func(t *testing.T) context.Context {
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
				t.Cleanup(cancel)
				return ctx
			}, nil,
		},
		{
			"the context is cancelled", hole, []error{context.Canceled},
			func(t *testing.T) context.Context {
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(20*time.Millisecond, cancel)
				return ctx
			}, nil,
		},
		{
			"the context is over", hole, []error{context.Canceled},
			func(t *testing.T) context.Context {
				ctx, cancel := context.WithCancel(t.Context())
				cancel()
				return ctx
			}, nil,
		},
		{"the connection breaks", hole, []error{ErrConnClosed}, nil, func(*Client) { _ = (<-conns).Close() }},
		{
			"the peer sends garbage", hole, []error{ErrConnClosed, protocol.ErrFrame}, nil,
			func(*Client) { _, _ = (<-conns).Write([]byte("garbage")) },
		},
		{"the client closes", hole, []error{ErrClientClosed}, nil, func(c *Client) { <-conns; c.Close() }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for len(conns) > 0 {
				<-conns
			}
			c := newTestClient(t, ClientConfig{Timeout: 300 * time.Millisecond, ScanInterval: 10 * time.Millisecond})
			ctx := t.Context()
			if tt.ctx != nil {
				ctx = tt.ctx(t)
			}
			if tt.then != nil {
				go tt.then(c)
			}
			resp, err := c.InvokeSync(ctx, tt.addr, &protocol.Command{Code: 1})
			for _, want := range tt.want {
				if !errors.Is(err, want) {
					t.Errorf("got %v, %v, want %v", resp, err, want)
				}
			}
		})
	}
}

// All calls that wait on a connection fail as soon as it breaks, and the next call makes a new one.
func TestBrokenConnectionFailsAllAndIsReplaced(t *testing.T) {
	addr, conns := blackHole(t)
	c := newTestClient(t, ClientConfig{Timeout: time.Minute})
	errs := make(chan error, 20)
	for range 10 {
		go func() {
			_, err := c.InvokeSync(t.Context(), addr, &protocol.Command{})
			errs <- err
		}()
		err := c.InvokeAsync(t.Context(), addr, &protocol.Command{}, func(_ *protocol.Command, err error) { errs <- err })
		if err != nil {
			t.Fatal(err)
		}
	}
	first := <-conns
	eventually(t, "all calls waiting", func() bool { return waitingCalls(c) == 20 })
	_ = first.Close()
	for range 20 {
		if err := <-errs; !errors.Is(err, ErrConnClosed) {
			t.Errorf("got %v", err)
		}
	}
	if err := c.InvokeOneway(t.Context(), addr, &protocol.Command{}); err != nil {
		t.Errorf("after the break: %v", err)
	}
	<-conns
}

func waitingCalls(c *Client) (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range c.links {
		n += l.table.len()
	}
	return n
}

func TestTooManyRequests(t *testing.T) {
	addr, _ := blackHole(t)
	c := newTestClient(t, ClientConfig{Timeout: time.Minute})
	var failed atomic.Int64
	done := func(_ *protocol.Command, err error) {
		if errors.Is(err, ErrClientClosed) {
			failed.Add(1)
		}
	}
	for range DefaultMaxAsync {
		if err := c.InvokeAsync(t.Context(), addr, &protocol.Command{}, done); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.InvokeAsync(t.Context(), addr, &protocol.Command{}, done); !errors.Is(err, ErrTooManyRequests) {
		t.Errorf("one too many: %v", err)
	}
	for range DefaultMaxOneway {
		c.oneway <- struct{}{}
	}
	if err := c.InvokeOneway(t.Context(), addr, &protocol.Command{}); !errors.Is(err, ErrTooManyRequests) {
		t.Errorf("one-way: %v", err)
	}
	c.Close()
	if n := failed.Load(); n != DefaultMaxAsync {
		t.Errorf("%d callbacks before Close returned, want %d", n, DefaultMaxAsync)
	}
	if err := c.InvokeAsync(t.Context(), addr, &protocol.Command{}, done); !errors.Is(err, ErrClientClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// An answer that comes too late is dropped, and does not disturb later calls.
func TestLateAnswerIsIgnored(t *testing.T) {
	g := newGate()
	p := testProcessors()
	p[1] = Processor{Handle: g.handle}
	addr := serve(t, NewServer(ServerConfig{Processors: p}))
	c := newTestClient(t, ClientConfig{Timeout: 30 * time.Millisecond, ScanInterval: 5 * time.Millisecond})
	if _, err := c.InvokeSync(t.Context(), addr, &protocol.Command{Code: 1}); !errors.Is(err, ErrTimeout) {
		t.Fatalf("got %v", err)
	}
	close(g.open)
	c.cfg.Timeout = time.Minute
	got, err := c.InvokeSync(t.Context(), addr, &protocol.Command{Code: codeEcho, Body: []byte("next")})
	if err != nil || string(got.Body) != "next" {
		t.Errorf("got %v, %v", got, err)
	}
}

// Callers that come while a connection is being made wait for that one; its failure is theirs, and is not remembered.
func TestDialOnce(t *testing.T) {
	var dials atomic.Int64
	release := make(chan struct{})
	refused := errors.New("refused")
	c := newTestClient(t, ClientConfig{Dial: func(ctx context.Context, _ string) (net.Conn, error) {
		dials.Add(1)
		select {
		case <-release:
		case <-ctx.Done():
		}
		return nil, refused
	}})
	errs := make(chan error, 10)
	for range 10 {
		go func() { errs <- c.InvokeOneway(t.Context(), "a:1", &protocol.Command{}) }()
	}
	eventually(t, "all calls under way", func() bool { return len(c.oneway) == 10 && dials.Load() == 1 })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.InvokeOneway(ctx, "a:1", &protocol.Command{}); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled call: %v", err)
	}
	close(release)
	for range 10 {
		if err := <-errs; !errors.Is(err, ErrConnect) || !errors.Is(err, refused) {
			t.Errorf("got %v", err)
		}
	}
	before := dials.Load()
	_ = c.InvokeOneway(t.Context(), "a:1", &protocol.Command{})
	if dials.Load() != before+1 {
		t.Error("a failed attempt was not repeated")
	}
}

func TestCloseInterruptsDial(t *testing.T) {
	dialing := make(chan struct{})
	c := newTestClient(t, ClientConfig{ConnectTimeout: time.Hour, Dial: func(ctx context.Context, _ string) (net.Conn, error) {
		close(dialing)
		<-ctx.Done()
		return nil, ctx.Err()
	}})
	got := make(chan error, 1)
	go func() { got <- c.InvokeOneway(t.Context(), "a:1", &protocol.Command{}) }()
	<-dialing
	c.Close()
	if err := <-got; !errors.Is(err, ErrClientClosed) {
		t.Errorf("got %v", err)
	}
}

func TestIdleClientConnectionIsClosed(t *testing.T) {
	var events recorder
	addr := serve(t, NewServer(ServerConfig{Processors: testProcessors(), OnEvent: events.record}))
	c := newTestClient(t, ClientConfig{IdleTimeout: 50 * time.Millisecond, ScanInterval: 5 * time.Millisecond})
	for range 2 {
		events.reset()
		if _, err := c.InvokeSync(t.Context(), addr, &protocol.Command{Code: codeEcho}); err != nil {
			t.Fatal(err)
		}
		events.await(t, "connected", "closed")
	}
}

func BenchmarkInvokeSync(b *testing.B) {
	addr := serve(b, NewServer(ServerConfig{Processors: testProcessors()}))
	c := newTestClient(b, ClientConfig{})
	req := &protocol.Command{Code: codeInline, ExtFields: map[string]string{"topic": "load-topic-00042"}}
	b.ReportAllocs()
	b.SetParallelism(16)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := c.InvokeSync(b.Context(), addr, req); err != nil {
				b.Error(err)
			}
		}
	})
}
