package cluster

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
)

// mux accepts the peer port's connections, shakes hands and hands each to Raft
// or to the command server. Connections are tracked until they are closed, so
// that Close ends them all.
type mux struct {
	listener net.Listener
	tls      *tls.Config
	welcome  func(net.Conn) (welcomed, error)
	raft     chan net.Conn
	commands func(net.Conn, welcomed)
	log      hclog.Logger

	wg   sync.WaitGroup
	done chan struct{}

	mu    sync.Mutex // guards conns and shut
	conns map[net.Conn]struct{}
	shut  bool
}

func (m *mux) serve() {
	defer m.wg.Done()
	pause := 5 * time.Millisecond
	for {
		c, err := m.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			m.log.Warn("accept on the peer port", "error", err, "again_in", pause)
			select {
			case <-time.After(pause):
			case <-m.done:
				return
			}
			pause = min(2*pause, time.Second)
			continue
		}
		pause = 5 * time.Millisecond
		t := &trackedConn{Conn: c, mux: m}
		if !m.track(t) {
			c.Close()
			return
		}
		m.wg.Go(func() { m.open(t) })
	}
}

func (m *mux) open(t *trackedConn) {
	var c net.Conn = t
	if m.tls != nil {
		c = tls.Server(t, m.tls)
	}
	w, err := m.welcome(c)
	if err != nil {
		m.log.Debug("peer connection refused", "remote", t.RemoteAddr(), "error", err)
		c.Close()
		return
	}
	m.know(t, w)
	if w.kind == connCommands {
		m.commands(c, w)
		c.Close()
		return
	}
	select {
	case m.raft <- c:
	case <-m.done:
		c.Close()
	}
}

func (m *mux) track(c *trackedConn) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.shut {
		return false
	}
	m.conns[c] = struct{}{}
	return true
}

// know notes whose connection one is.
func (m *mux) know(t *trackedConn, w welcomed) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if w.trusted {
		t.who = w
	}
}

// others are the open connections of a member's processes but the given one.
func (m *mux) others(member string, instance uint64) (conns []net.Conn) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for c := range m.conns {
		if t, ok := c.(*trackedConn); ok && t.who.from == member && t.who.instance != instance {
			conns = append(conns, c)
		}
	}
	return conns
}

// close stops accepting and cuts every connection.
func (m *mux) close() {
	m.mu.Lock()
	if m.shut {
		m.mu.Unlock()
		return
	}
	m.shut = true
	open := make([]net.Conn, 0, len(m.conns))
	for c := range m.conns {
		open = append(open, c)
	}
	m.mu.Unlock()
	close(m.done)
	m.listener.Close()
	for _, c := range open {
		c.Close()
	}
}

type trackedConn struct {
	net.Conn
	mux *mux
	who welcomed // guarded by mux.mu; zero before the handshake, and for who is not trusted
}

func (t *trackedConn) Close() error {
	t.mux.mu.Lock()
	delete(t.mux.conns, t)
	t.mux.mu.Unlock()
	return t.Conn.Close()
}

const (
	dialTry   = time.Second            // one attempt; a host that drops packets must not hold the next one up
	dialPause = 100 * time.Millisecond // between attempts of a Raft stream
)

// dial connects to a peer and shakes hands. Names are resolved here, each time.
func (n *Node) dial(ctx context.Context, addr string, kind byte, to string) (net.Conn, greeting, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTry)
	defer cancel()
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, greeting{}, err
	}
	if n.cfg.TLS != nil {
		conf := n.cfg.TLS.Clone()
		if host, _, err := net.SplitHostPort(addr); err == nil && conf.ServerName == "" {
			conf.ServerName = host
		}
		c = tls.Client(c, conf)
	}
	for _, done := range []context.Context{n.ctx, ctx} {
		stop := context.AfterFunc(done, func() { c.Close() })
		defer stop()
	}
	hello, err := n.greet(c, kind, to)
	if err != nil {
		c.Close()
		return nil, greeting{}, err
	}
	return c, hello, nil
}
