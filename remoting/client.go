package remoting

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"namesrv/remoting/protocol"
)

// Defaults of ClientConfig.
const (
	DefaultTimeout        = 3 * time.Second
	DefaultConnectTimeout = 3 * time.Second
	DefaultMaxAsync       = 64
	DefaultMaxOneway      = 256
	DefaultScanInterval   = 100 * time.Millisecond
)

// ClientConfig says how a Client works. The zero value of a field means its default.
type ClientConfig struct {
	// Dial makes a connection; it must honour ctx. nil: TCP.
	Dial func(ctx context.Context, addr string) (net.Conn, error)

	Serialize      protocol.SerializeType // how the headers of requests are encoded
	Timeout        time.Duration          // how long a call may take whose context has no deadline; 0: 3 s
	ConnectTimeout time.Duration          // how long making a connection may take; 0: 3 s
	IdleTimeout    time.Duration          // after which a connection that nothing goes over is closed; 0: 120 s
	ScanInterval   time.Duration          // between two looks for late answers and idle connections; 0: 100 ms
	MaxFrame       int                    // largest answer in bytes; 0: 16 MiB
	MaxAsync       int                    // InvokeAsync calls under way; 0: 64
	MaxOneway      int                    // InvokeOneway calls under way; 0: 256
	Logger         hclog.Logger           // nil: nothing is logged
}

// Client makes requests, over one connection to each address. A connection is made by the first call that needs it, and
// made anew by the first call after it broke.
type Client struct {
	cfg        ClientConfig
	lastOpaque atomic.Int32
	async      chan struct{} // holds an element for each InvokeAsync under way
	oneway     chan struct{} // likewise for InvokeOneway

	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	wg     sync.WaitGroup // all goroutines of the client

	mu       sync.Mutex // guards the fields below
	closed   bool
	scanning bool
	links    map[string]*link
}

// NewClient returns a client that has no connection yet.
func NewClient(cfg ClientConfig) *Client {
	setDefault(&cfg.Timeout, DefaultTimeout)
	setDefault(&cfg.ConnectTimeout, DefaultConnectTimeout)
	setDefault(&cfg.IdleTimeout, DefaultIdleTimeout)
	setDefault(&cfg.ScanInterval, DefaultScanInterval)
	setDefault(&cfg.MaxFrame, protocol.MaxFrame)
	setDefault(&cfg.MaxAsync, DefaultMaxAsync)
	setDefault(&cfg.MaxOneway, DefaultMaxOneway)
	if cfg.Dial == nil {
		cfg.Dial = func(ctx context.Context, addr string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "tcp", addr)
		}
	}
	if cfg.Logger == nil {
		cfg.Logger = hclog.NewNullLogger()
	}
	c := &Client{
		cfg:    cfg,
		async:  make(chan struct{}, cfg.MaxAsync),
		oneway: make(chan struct{}, cfg.MaxOneway),
		links:  map[string]*link{},
	}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c
}

func setDefault[T int | time.Duration](field *T, value T) {
	if *field <= 0 {
		*field = value
	}
}

// InvokeSync sends a request and waits for its answer, until ctx ends or the client's Timeout has passed, whichever is
// first. Opaque and Serialize are set in a copy of cmd. Errors are ErrConnect, ErrConnClosed, ErrTimeout,
// ErrClientClosed, or ctx's when it was cancelled; an answer with an error code is no error.
func (c *Client) InvokeSync(ctx context.Context, addr string, cmd *protocol.Command) (*protocol.Command, error) {
	done := make(chan result, 1)
	l, opaque, err := c.start(ctx, addr, cmd, func(r result) { done <- r })
	if err != nil {
		return nil, err
	}
	select {
	case r := <-done:
		if r.err != nil {
			return nil, fmt.Errorf("%s to %s: %w", cmd.Code, addr, r.err)
		}
		return r.answer, nil
	case <-ctx.Done():
		l.table.drop(opaque)
		return nil, fmt.Errorf("%s from %s: %w", cmd.Code, addr, contextError(ctx))
	}
}

// InvokeAsync sends a request and calls done with its answer, or with an error as InvokeSync returns it, exactly once
// and on a goroutine of its own. When InvokeAsync returns an error, done is not called. ctx bounds the sending and
// gives the deadline of the answer; cancelling it afterwards has no effect. When MaxAsync calls are under way the error
// is ErrTooManyRequests. Close waits for done.
func (c *Client) InvokeAsync(ctx context.Context, addr string, cmd *protocol.Command, done func(*protocol.Command, error)) error {
	select {
	case c.async <- struct{}{}:
	default:
		return fmt.Errorf("%s to %s: %w", cmd.Code, addr, ErrTooManyRequests)
	}
	if !c.enter() {
		<-c.async
		return ErrClientClosed
	}
	_, _, err := c.start(ctx, addr, cmd, func(r result) {
		go func() { // counted by enter
			defer c.wg.Done()
			<-c.async
			done(r.answer, r.err)
		}()
	})
	if err != nil {
		<-c.async
		c.wg.Done()
	}
	return err
}

// enter makes Close wait for a callback that is going to be started, unless it is too late for that.
func (c *Client) enter() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.wg.Add(1)
	return true
}

// InvokeOneway sends a request that is not answered, and returns when it has been given to the network. When MaxOneway
// calls are under way the error is ErrTooManyRequests.
func (c *Client) InvokeOneway(ctx context.Context, addr string, cmd *protocol.Command) error {
	select {
	case c.oneway <- struct{}{}:
	default:
		return fmt.Errorf("%s to %s: %w", cmd.Code, addr, ErrTooManyRequests)
	}
	defer func() { <-c.oneway }()
	l, err := c.link(ctx, addr)
	if err != nil {
		return err
	}
	request := c.request(cmd)
	request.Flag |= protocol.FlagOneWay
	return l.send(ctx, request)
}

// start sends a request whose outcome is given to finish, exactly once unless start returns an error or the caller drops
// the call. finish must not block.
func (c *Client) start(ctx context.Context, addr string, cmd *protocol.Command, finish func(result)) (*link, int32, error) {
	l, err := c.link(ctx, addr)
	if err != nil {
		return nil, 0, err
	}
	request := c.request(cmd)
	late := c.deadline(ctx)
	// Registered before it is sent: the answer may be there before send returns.
	if err := l.table.add(request.Opaque, late, finish); err != nil {
		return nil, 0, fmt.Errorf("%s to %s: %w", cmd.Code, addr, err)
	}
	if err := l.send(ctx, request); err != nil && l.table.drop(request.Opaque) {
		return nil, 0, fmt.Errorf("%s to %s: %w", cmd.Code, addr, err)
	}
	// An error that comes after the call has been finished is the same news twice.
	return l, request.Opaque, nil
}

func (c *Client) request(cmd *protocol.Command) *protocol.Command {
	request := *cmd
	request.Opaque, request.Serialize = c.lastOpaque.Add(1), c.cfg.Serialize
	return &request
}

func (c *Client) deadline(ctx context.Context) time.Time {
	late := time.Now().Add(c.cfg.Timeout)
	if d, ok := ctx.Deadline(); ok && d.Before(late) {
		return d
	}
	return late
}

// contextError is why ctx ended, in the words of this package: whether a deadline is noticed here or by the scan is
// chance.
func contextError(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return ErrTimeout
	}
	return ctx.Err()
}

// Close fails all calls with ErrClientClosed, closes all connections, and waits for the client's goroutines and for the
// callbacks of InvokeAsync, from which it must therefore not be called. Closing twice is safe.
func (c *Client) Close() {
	c.mu.Lock()
	c.closed = true
	links := c.links
	c.links = map[string]*link{}
	c.mu.Unlock()
	c.cancel()
	for _, l := range links {
		l.shut(ErrClientClosed)
	}
	c.wg.Wait()
}
