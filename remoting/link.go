package remoting

import (
	"context"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"namesrv/remoting/protocol"
)

// link is a client's connection to one address, from the first attempt to make it until it breaks. It is then replaced
// by another.
type link struct {
	client *Client
	addr   string
	ready  chan struct{} // closed when nc or dialErr is set
	table  responseTable
	active atomic.Int64 // when a byte was last read or written, in Unix nanoseconds

	nc      net.Conn // set before ready, never changed
	dialErr error
	writing chan struct{} // holds an element while someone writes; a channel, so that waiting for it can be given up
}

// link returns a connection to addr, and waits until it is made. Callers that come while it is being made wait for the
// same one.
func (c *Client) link(ctx context.Context, addr string) (*link, error) {
	l, err := c.linkFor(addr)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", addr, err)
	}
	select {
	case <-l.ready:
	case <-ctx.Done():
		return nil, fmt.Errorf("%w to %s: %w", ErrConnect, addr, contextError(ctx))
	}
	if l.dialErr != nil {
		return nil, l.dialErr
	}
	return l, nil
}

func (c *Client) linkFor(addr string) (*link, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, ErrClientClosed
	}
	if l := c.links[addr]; l != nil {
		return l, nil
	}
	l := &link{client: c, addr: addr, ready: make(chan struct{}), writing: make(chan struct{}, 1)}
	c.links[addr] = l
	c.wg.Go(l.run)
	if !c.scanning {
		c.scanning = true
		c.wg.Go(c.scan)
	}
	return l, nil
}

// run is the link's goroutine: it makes the connection and reads from it until it breaks.
func (l *link) run() {
	ctx, cancel := context.WithTimeout(l.client.ctx, l.client.cfg.ConnectTimeout)
	nc, err := l.client.cfg.Dial(ctx, l.addr)
	cancel()
	if err != nil {
		l.forget()
		if l.dialErr = fmt.Errorf("%w to %s: %w", ErrConnect, l.addr, err); l.client.ctx.Err() != nil {
			l.dialErr = ErrClientClosed
		}
		close(l.ready)
		return
	}
	l.nc = nc
	l.touch()
	close(l.ready)
	stop := context.AfterFunc(l.client.ctx, func() { _ = nc.Close() })
	defer stop()
	err = l.broken(l.read())
	l.client.cfg.Logger.Debug("connection ended", "remote", l.addr, "error", err)
	l.shut(err)
}

// broken is what calls are told of an error of the network.
func (l *link) broken(err error) error {
	if l.client.ctx.Err() != nil {
		return ErrClientClosed
	}
	return fmt.Errorf("%w: %s: %w", ErrConnClosed, l.addr, err)
}

// read finishes calls with the answers that come, and returns why none will come any more. Requests of the peer are
// ignored.
func (l *link) read() error {
	in := newFrameReader(l.nc, l.client.cfg.MaxFrame)
	for {
		frame, owned, err := in.next()
		if err != nil {
			return err
		}
		if frame == nil {
			if _, err := in.fill(); err != nil {
				return err
			}
			l.touch()
			continue
		}
		resp := new(protocol.Command)
		if err := decode(resp, frame, owned); err != nil {
			return err
		}
		if resp.IsResponse() {
			l.table.answer(resp)
		}
	}
}

// send writes a request. A write that fails, or is not done when ctx ends, leaves half a frame behind, so it ends the
// connection.
func (l *link) send(ctx context.Context, request *protocol.Command) error {
	select {
	case l.writing <- struct{}{}:
	case <-ctx.Done():
		return contextError(ctx)
	}
	defer func() { <-l.writing }()
	if ctx.Err() != nil { // a write would fail half way, and cost the others their connection
		return contextError(ctx)
	}
	frame := buffers.Get().(*buffer)
	defer frame.release()
	frame.b = protocol.AppendFrame(frame.b, request)
	_ = l.nc.SetWriteDeadline(l.client.deadline(ctx))
	if _, err := l.nc.Write(frame.b); err != nil {
		err = l.broken(err)
		l.shut(err)
		return err
	}
	l.touch()
	return nil
}

// shut takes the link out of use and fails its calls with err. It closes the connection last, so that nobody learns of
// that before the reason.
func (l *link) shut(err error) {
	l.forget()
	l.table.fail(err)
	select {
	case <-l.ready:
		if l.nc != nil {
			_ = l.nc.Close()
		}
	default: // its goroutine closes what it may still get
	}
}

// forget makes the next call to the address make a new connection.
func (l *link) forget() {
	l.client.mu.Lock()
	defer l.client.mu.Unlock()
	if l.client.links[l.addr] == l {
		delete(l.client.links, l.addr)
	}
}

func (l *link) touch() { l.active.Store(time.Now().UnixNano()) }

// scan is the goroutine that fails late calls and closes idle connections. The first link starts it.
func (c *Client) scan() {
	tick := time.NewTicker(c.cfg.ScanInterval)
	defer tick.Stop()
	for {
		select {
		case <-c.ctx.Done():
			return
		case now := <-tick.C:
			c.scanOnce(now)
		}
	}
}

func (c *Client) scanOnce(now time.Time) {
	c.mu.Lock()
	links := make([]*link, 0, len(c.links))
	for _, l := range c.links {
		links = append(links, l)
	}
	c.mu.Unlock()
	for _, l := range links {
		l.table.expire(now)
		idle := now.UnixNano() - l.active.Load()
		if l.isReady() && l.table.len() == 0 && idle >= int64(c.cfg.IdleTimeout) {
			l.shut(fmt.Errorf("%w: %s: idle", ErrConnClosed, l.addr))
		}
	}
}

func (l *link) isReady() bool {
	select {
	case <-l.ready:
		return true
	default:
		return false
	}
}
