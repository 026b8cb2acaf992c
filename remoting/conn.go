package remoting

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"namesrv/remoting/protocol"
)

// maxInFlight is how many requests of one connection may be unanswered before reading from it pauses.
const maxInFlight = 1024

// lingerTimeout is how long a peer may take to close a connection that the server has shut down.
const lingerTimeout = 250 * time.Millisecond

// longAgo is a deadline that interrupts whoever waits.
var longAgo = time.Unix(1, 0)

// Conn is one accepted connection.
type Conn struct {
	id     uint64
	srv    *Server
	raw    net.Conn // as accepted
	nc     net.Conn // as wrapped; set before Connected
	in     *frameReader
	remote string
	idle   time.Duration
	value  atomic.Pointer[any]
	active atomic.Int64 // when a byte was last read or written, by Server.now

	scratch  *protocol.Command // for the goroutine that reads: one that was answered inline, for the next request
	partial  time.Duration     // likewise: since when, by Server.now, a frame is incomplete; 0 when none is
	writable time.Duration     // for whoever writes: how far the write deadline reaches, by Server.now

	mu       sync.Mutex // guards the fields below
	room     sync.Cond  // on mu: something was sent or answered, or the connection's state has changed
	closed   bool
	draining bool
	kind     EventKind // why it is closed
	err      error     // and what went wrong, if anything did

	pending  *buffer // answers that nobody has begun to write
	sending  int     // bytes that are being written
	flushing bool    // someone writes, or is about to
	parked   []job   // requests set aside until some of that is sent

	inFlight      int // requests that are queued, parked or running
	inFlightBytes int // the size of their bodies

	ordered        []job // Ordered requests that wait for the one that runs
	orderedRunning bool  // an Ordered request is queued in a pool, parked or running
}

func newConn(s *Server, nc net.Conn) *Conn {
	c := &Conn{id: s.lastID.Add(1), srv: s, raw: nc, nc: nc, remote: nc.RemoteAddr().String(), idle: s.cfg.IdleTimeout}
	if s.cfg.Idle != nil {
		c.idle = s.cfg.Idle()
	}
	c.room.L = &c.mu
	if s.cfg.OnAccept != nil {
		c.SetValue(s.cfg.OnAccept())
	}
	return c
}

// ID returns a number that no other connection of this server has had.
func (c *Conn) ID() uint64 { return c.id }

// RemoteAddr returns the peer's address, as Wrap's connection reports it.
func (c *Conn) RemoteAddr() string { return c.remote }

// Value returns what SetValue was last called with, nil before that.
func (c *Conn) Value() any {
	if v := c.value.Load(); v != nil {
		return *v
	}
	return nil
}

// SetValue keeps v with the connection. Set by OnAccept or in OnEvent(Connected), it is there for every request.
func (c *Conn) SetValue(v any) { c.value.Store(&v) }

// Close closes the connection. Its event is Closed, unless it has ended for another reason before. Requests that have
// arrived are still executed.
func (c *Conn) Close() error {
	c.shut(Closed, nil)
	return nil
}

// serve is the connection's goroutine.
func (c *Conn) serve() {
	defer c.srv.forget(c)
	if !c.open() {
		c.shut(Errored, nil)
		return
	}
	c.srv.cfg.OnEvent(Connected, c)
	kind, err := c.read()
	_ = c.nc.Close()
	c.shut(kind, err)
	kind, err = c.awaitOrdered()
	c.srv.cfg.Logger.Debug("connection ended", "remote", c.remote, "kind", kind, "error", err)
	c.srv.cfg.OnEvent(kind, c)
}

// open wraps the accepted connection.
func (c *Conn) open() bool {
	c.touch()
	if c.srv.cfg.Wrap != nil && !c.wrap() {
		return false
	}
	c.in = newFrameReader(c.nc, c.srv.cfg.MaxFrame)
	return c.extend()
}

func (c *Conn) wrap() bool {
	if !c.extend() {
		return false
	}
	_ = c.raw.SetWriteDeadline(time.Now().Add(c.idle))
	nc, err := c.srv.cfg.Wrap(c.raw)
	if err != nil {
		c.srv.cfg.Logger.Debug("connection refused", "remote", c.remote, "error", err)
		return false
	}
	c.touch()
	c.nc, c.remote = nc, nc.RemoteAddr().String()
	_ = c.raw.SetWriteDeadline(time.Time{})
	return true
}

// read executes requests until the connection ends, and returns why it did.
func (c *Conn) read() (EventKind, error) {
	for {
		if err := c.execute(); err != nil {
			return Errored, err
		}
		if c.isTrickling() {
			return Idle, nil
		}
		c.flush()
		if !c.awaitRoom() {
			return c.finish()
		}
		n, err := c.in.fill()
		if n > 0 {
			c.touch()
		}
		switch {
		case err == nil:
		case errors.Is(err, os.ErrDeadlineExceeded):
			if c.isIdle() {
				return Idle, nil
			}
			if !c.extend() {
				return c.finish()
			}
		case errors.Is(err, io.EOF):
			return Closed, nil
		default:
			return Errored, err
		}
	}
}

// execute takes on every request that has arrived completely.
func (c *Conn) execute() error {
	for {
		frame, owned, err := c.in.next()
		if err != nil || frame == nil {
			return err
		}
		c.partial = 0
		if err := c.request(frame, owned); err != nil {
			return err
		}
	}
}

// isTrickling reports whether a frame has been arriving for longer than the idle timeout. A byte now and then would
// otherwise hold a connection for ever. The answers of what came before that frame have been sent by then.
func (c *Conn) isTrickling() bool {
	if !c.in.partial() {
		return false
	}
	now := c.srv.now()
	if c.partial == 0 {
		c.partial = now
	}
	return now-c.partial >= c.idle
}

// touch notes that a byte went over the connection.
func (c *Conn) touch() { c.active.Store(int64(c.srv.now())) }

func (c *Conn) idleFor() time.Duration { return c.srv.now() - time.Duration(c.active.Load()) }

func (c *Conn) isIdle() bool { return c.idleFor() >= c.idle }

// extend sets the read deadline to when the connection will have been idle for too long. Bytes move only the time that
// is compared with it, not the deadline: that would cost each request more than its decoding does. It returns false
// when there is to be no more reading.
func (c *Conn) extend() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.draining || c.closed {
		return false
	}
	_ = c.nc.SetReadDeadline(time.Now().Add(c.idle - c.idleFor()))
	return true
}

// awaitRoom pauses while the connection has too much under way. It returns false when there is to be no more reading.
func (c *Conn) awaitRoom() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	high, paused := c.srv.cfg.HighWater, false
	for !c.closed && !c.draining &&
		(c.unsentLocked() > high || c.inFlightBytes > high || c.inFlight >= maxInFlight) {
		paused = true
		c.room.Wait()
	}
	if paused {
		c.touch() // it was not the peer that took its time
		c.partial = 0
	}
	return !c.closed && !c.draining
}

// drain makes the connection end once all requests that have arrived are answered.
func (c *Conn) drain() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.draining = true
	_ = c.raw.SetReadDeadline(longAgo)
	c.room.Broadcast()
}

// finish waits until everything is answered and sent, when the server shuts down, and takes leave.
func (c *Conn) finish() (EventKind, error) {
	c.mu.Lock()
	for !c.closed && (c.inFlight > 0 || c.unsentLocked() > 0) {
		c.room.Wait()
	}
	closed := c.closed
	c.mu.Unlock()
	if !closed {
		c.linger()
	}
	return Stopped, nil
}

// linger ends the stream and gives the peer a moment to do the same. Closing at once while bytes of the peer are unread
// would reset the connection, and answers that the peer has not read yet would be lost.
func (c *Conn) linger() {
	half, ok := c.nc.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil {
		return
	}
	_ = c.nc.SetReadDeadline(time.Now().Add(lingerTimeout))
	_, _ = io.Copy(io.Discard, c.nc)
}

// shut closes the connection, once; the first reason stands. Requests that were parked run now: there is nothing left
// to wait for.
func (c *Conn) shut(kind EventKind, err error) {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return
	}
	c.closed, c.kind, c.err = true, kind, err
	c.dropPendingLocked()
	parked := c.parked
	c.parked = nil
	c.room.Broadcast()
	c.mu.Unlock()
	_ = c.raw.Close()
	c.unpark(parked)
}

// awaitOrdered waits for the Ordered requests and returns why the connection ended.
func (c *Conn) awaitOrdered() (EventKind, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.orderedRunning {
		c.room.Wait()
	}
	return c.kind, c.err
}
