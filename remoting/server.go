package remoting

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"namesrv/remoting/protocol"
)

// Handler executes a request and returns its answer, or nil for none. The server sets the answer's opaque, flag,
// language, version and encoding in a copy of its own, so that one answer may be shared between requests. A panic is
// logged and answered with SystemError. The request is the handler's to keep.
//
// ctx ends when the server is closed, or runs out of time to shut down. It does not end with the connection: a one-way
// request counts, also when its sender has gone.
type Handler func(ctx context.Context, c *Conn, req *protocol.Command) *protocol.Command

// Inline answers a request on the goroutine that reads the connection, and must not block: all other requests of the
// connection wait for it. false means "not now" and gives the request to the Handler, through the pool. The request and
// the map in it are only lent: after a true they are used for the next one. The strings may be kept, and so may the body.
// The answer may be shared, as with Handler.
type Inline func(c *Conn, req *protocol.Command) (*protocol.Command, bool)

// Processor says how requests of a code are executed.
type Processor struct {
	Handle Handler
	Inline Inline // optional
	Pool   *Pool  // nil: one that the server makes, of 8 goroutines and a queue of 10,000
	// Ordered makes requests of one connection whose processor is Ordered run one after another, in the order in which
	// they arrived. While one of them is queued or running, Inline is not asked for the next.
	Ordered bool
}

// EventKind says what happened to a connection.
type EventKind int

// What happens to a connection: Connected first, exactly one of the others last.
const (
	Connected EventKind = iota // nothing has been read from it yet
	Closed                     // the peer closed it, or Conn.Close did
	Errored                    // reading or writing failed, or the peer broke the framing rules
	Idle                       // for the idle timeout, no byte was read and none written, or one frame did not get complete
	Stopped                    // this server closed it because it stops
)

// String returns the kind in lower case, for logs and metrics.
func (k EventKind) String() string {
	return [...]string{"connected", "closed", "errored", "idle", "stopped"}[k]
}

// Defaults of ServerConfig.
const (
	DefaultIdleTimeout = 120 * time.Second
	DefaultHighWater   = 4 << 20
)

// ServerConfig says how a Server works. The zero value of a field means its default.
type ServerConfig struct {
	Processors map[protocol.Code]Processor // each needs a Handle
	Default    Processor                   // for all other codes; without a Handle they are answered with RequestCodeNotSupported

	Serialize   protocol.SerializeType // how the headers of answers are encoded, whatever the request's was
	IdleTimeout time.Duration          // 0: 120 s; see Idle
	Idle        func() time.Duration   // when set, asked for each new connection in place of IdleTimeout
	MaxFrame    int                    // largest frame in bytes, in either direction; 0: 16 MiB
	HighWater   int                    // unsent bytes of answers at which reading from a connection pauses; 0: 4 MiB

	// Wrap, when set, replaces an accepted connection, as TLS and the PROXY protocol need. It runs on the connection's
	// own goroutine and may read and write; it has IdleTimeout to return, as the connection's deadline says. An error
	// drops the connection. See package gate.
	Wrap func(net.Conn) (net.Conn, error)

	// OnAccept, when set, is called as soon as a connection is accepted, before Wrap and so before anything can have come
	// over it. What it returns is the connection's first Value.
	OnAccept func() any

	// OnEvent, when set, is told of each connection's beginning and end, on the connection's own goroutine.
	OnEvent func(EventKind, *Conn)

	// OnRequest, when set, is called after each request with what it was answered with (Success when it has no answer)
	// and how long its execution took, without its wait in a queue.
	OnRequest func(code, result protocol.Code, took time.Duration)

	Logger hclog.Logger // nil: nothing is logged
}

// Server answers requests on any number of listeners.
type Server struct {
	cfg        ServerConfig
	processors map[protocol.Code]*Processor
	fallback   *Processor
	pools      []*Pool
	start      time.Time // the zero of the server's clock, see now
	lastID     atomic.Uint64

	ctx    context.Context // what handlers get
	cancel context.CancelFunc

	serving  sync.WaitGroup // connections
	flushers sync.WaitGroup // goroutines that write answers of pools

	mu        sync.Mutex // guards the fields below
	refusing  bool       // no more listeners
	stopping  bool       // no more connections
	listeners map[net.Listener]struct{}
	conns     map[*Conn]struct{}
	refused   chan struct{} // closed with refusing
}

// NewServer returns a server that serves nothing yet. It panics when a processor of cfg.Processors has no Handle.
func NewServer(cfg ServerConfig) *Server {
	if cfg.IdleTimeout <= 0 {
		cfg.IdleTimeout = DefaultIdleTimeout
	}
	if cfg.MaxFrame <= 0 {
		cfg.MaxFrame = protocol.MaxFrame
	}
	if cfg.HighWater <= 0 {
		cfg.HighWater = DefaultHighWater
	}
	if cfg.OnEvent == nil {
		cfg.OnEvent = func(EventKind, *Conn) {}
	}
	if cfg.Logger == nil {
		cfg.Logger = hclog.NewNullLogger()
	}
	s := &Server{
		cfg:        cfg,
		processors: make(map[protocol.Code]*Processor, len(cfg.Processors)),
		start:      time.Now(),
		listeners:  map[net.Listener]struct{}{},
		conns:      map[*Conn]struct{}{},
		refused:    make(chan struct{}),
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.adoptProcessors()
	return s
}

// adoptProcessors fills in what processors left out and collects the pools.
func (s *Server) adoptProcessors() {
	shared := NewPool("shared", 8, 10000)
	seen := map[*Pool]bool{}
	adopt := func(p Processor) *Processor {
		if p.Pool == nil {
			p.Pool = shared
		}
		if !seen[p.Pool] {
			seen[p.Pool] = true
			s.pools = append(s.pools, p.Pool)
		}
		return &p
	}
	for code, p := range s.cfg.Processors {
		if p.Handle == nil {
			panic("remoting: the processor of " + code.String() + " has no Handle")
		}
		s.processors[code] = adopt(p)
	}
	if s.cfg.Default.Handle == nil {
		s.cfg.Default = unsupported()
	}
	s.fallback = adopt(s.cfg.Default)
}

// now is the time since the server was made. It is monotonic, and cheaper than time.Now.
func (s *Server) now() time.Duration { return time.Since(s.start) }

// Conns returns how many connections are open.
func (s *Server) Conns() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}

// CloseListeners stops accepting connections and leaves the open ones alone. Serve returns ErrServerClosed.
func (s *Server) CloseListeners() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closeListenersLocked()
}

func (s *Server) closeListenersLocked() error {
	if !s.refusing {
		s.refusing = true
		close(s.refused)
	}
	var errs []error
	for l := range s.listeners {
		errs = append(errs, l.Close())
		delete(s.listeners, l)
	}
	return errors.Join(errs...)
}

// Close cuts all connections, whatever is under way, ends the handlers' context, and waits for all goroutines of the
// server. It returns what closing the listeners returned. Closing twice is safe.
func (s *Server) Close() error {
	conns, err := s.stop()
	s.cut(conns)
	s.wait()
	return err
}

// Shutdown stops accepting and reading, answers the requests that have arrived, and closes each connection once all its
// answers are sent. When ctx ends first the rest is cut, as by Close, and ctx's error is returned. Either way it returns
// after all goroutines of the server have.
func (s *Server) Shutdown(ctx context.Context) error {
	conns, err := s.stop()
	for _, c := range conns {
		c.drain()
	}
	done := make(chan struct{})
	go func() { // ends with the wait for all others
		s.wait()
		close(done)
	}()
	select {
	case <-done:
		return err
	case <-ctx.Done():
		s.cut(conns)
		<-done
		return errors.Join(ctx.Err(), err)
	}
}

// stop refuses new connections and returns the open ones.
func (s *Server) stop() ([]*Conn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopping = true
	err := s.closeListenersLocked()
	conns := make([]*Conn, 0, len(s.conns))
	for c := range s.conns {
		conns = append(conns, c)
	}
	return conns, err
}

func (s *Server) cut(conns []*Conn) {
	s.cancel()
	for _, c := range conns {
		c.shut(Stopped, nil)
	}
}

// wait returns when no goroutine of the server is left. The order matters: connections wait for requests in pools, and
// whoever executes those may start a flusher.
func (s *Server) wait() {
	s.serving.Wait()
	for _, p := range s.pools {
		p.close()
	}
	s.flushers.Wait()
	s.cancel()
}
