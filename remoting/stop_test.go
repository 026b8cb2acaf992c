package remoting

import (
	"context"
	"errors"
	"net"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"namesrv/remoting/protocol"
)

// gate is a handler that waits until it is opened, or its context ends.
type gate struct {
	entered chan struct{}
	open    chan struct{}
}

func newGate() gate { return gate{entered: make(chan struct{}, 100), open: make(chan struct{})} }

func (g gate) handle(ctx context.Context, _ *Conn, _ *protocol.Command) *protocol.Command {
	g.entered <- struct{}{}
	select {
	case <-g.open:
		return protocol.NewResponse(protocol.Success, "done")
	case <-ctx.Done():
		return protocol.NewResponse(protocol.SystemError, "too late")
	}
}

func TestShutdownAnswersWhatIsInFlight(t *testing.T) {
	g := newGate()
	s := NewServer(ServerConfig{Default: Processor{Handle: g.handle, Pool: NewPool("p", 1, 10)}})
	addr := serve(t, s)
	p := dial(t, addr)
	p.send(&protocol.Command{Opaque: 1}, &protocol.Command{Opaque: 2}) // the second waits in the queue
	<-g.entered
	done := make(chan error, 1)
	go func() { done <- s.Shutdown(t.Context()) }()
	eventually(t, "new connections refused", func() bool {
		nc, err := net.Dial("tcp", addr)
		if err == nil {
			_ = nc.Close()
		}
		return err != nil
	})
	close(g.open)
	for i := range int32(2) {
		if got := p.mustReceive(); got.Opaque != i+1 || got.Remark != "done" {
			t.Errorf("got %+v", got)
		}
	}
	p.mustEnd()
	_ = p.nc.Close()
	if err := <-done; err != nil {
		t.Errorf("Shutdown: %v", err)
	}
	if err := s.Serve(listen(t)); !errors.Is(err, ErrServerClosed) {
		t.Errorf("Serve after Shutdown: %v", err)
	}
}

func TestShutdownCutsWhenItsContextEnds(t *testing.T) {
	g := newGate()
	var events recorder
	s := NewServer(ServerConfig{Default: Processor{Handle: g.handle}, OnEvent: events.record})
	p := dial(t, serve(t, s))
	p.send(&protocol.Command{})
	<-g.entered
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Shutdown(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Shutdown: %v", err)
	}
	p.mustEnd()
	events.await(t, "connected", "stopped")
}

func TestCloseWaitsForHandlers(t *testing.T) {
	g := newGate()
	s := NewServer(ServerConfig{Default: Processor{Handle: g.handle}})
	p := dial(t, serve(t, s))
	p.send(&protocol.Command{}, &protocol.Command{})
	<-g.entered
	<-g.entered
	if err := s.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	if busy := s.fallback.Pool.Busy(); busy != 0 {
		t.Errorf("%d handlers are running after Close", busy)
	}
	if err := s.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
}

func TestCloseListenersLeavesConnections(t *testing.T) {
	s := NewServer(ServerConfig{Processors: testProcessors()})
	addr := serve(t, s)
	p := dial(t, addr)
	p.send(&protocol.Command{Code: codeInline, Opaque: 1})
	p.mustReceive()
	if err := s.CloseListeners(); err != nil {
		t.Fatal(err)
	}
	if nc, err := net.Dial("tcp", addr); err == nil {
		_ = nc.Close()
		t.Error("a connection was made after CloseListeners")
	}
	p.send(&protocol.Command{Code: codeInline, Opaque: 2})
	if got := p.mustReceive(); got.Opaque != 2 {
		t.Errorf("got %+v", got)
	}
	if n := s.Conns(); n != 1 {
		t.Errorf("%d connections", n)
	}
}

// failingListener fails with its errors, one after another, and notes when it was asked.
type failingListener struct {
	net.Listener
	errs  []error
	asked []time.Time
}

func (l *failingListener) Accept() (net.Conn, error) {
	err := l.errs[0]
	l.errs = l.errs[1:]
	l.asked = append(l.asked, time.Now())
	return nil, err
}

func (l *failingListener) Close() error { return nil }

func TestAcceptBacksOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("broken")
		l := &failingListener{}
		for range 12 {
			l.errs = append(l.errs, &net.OpError{Op: "accept", Err: syscall.EMFILE})
		}
		l.errs = append(l.errs, broken)
		s := NewServer(ServerConfig{})
		if err := s.Serve(l); !errors.Is(err, broken) {
			t.Errorf("Serve: %v", err)
		}
		want := 5 * time.Millisecond
		for i := 1; i < len(l.asked); i++ {
			if got := l.asked[i].Sub(l.asked[i-1]); got != want {
				t.Errorf("pause %d is %v, want %v", i, got, want)
			}
			want = min(2*want, time.Second)
		}
		_ = s.Close()
	})
}

func TestCloseInterruptsBackOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &failingListener{}
		for range 100 {
			l.errs = append(l.errs, syscall.EMFILE)
		}
		s := NewServer(ServerConfig{})
		done := make(chan error, 1)
		go func() { done <- s.Serve(l) }()
		time.Sleep(3300 * time.Millisecond)
		stopped := time.Now()
		_ = s.Close()
		if err := <-done; !errors.Is(err, ErrServerClosed) || time.Since(stopped) > 0 {
			t.Errorf("Serve: %v after %v", err, time.Since(stopped))
		}
	})
}
