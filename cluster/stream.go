package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/hashicorp/raft"
)

// stream is Raft's way to its peers over the muxed port. Addresses given to Dial
// are "member@host:port", since the handshake names the member it wants.
type stream struct {
	node   *Node
	addr   raftAddr
	closed chan struct{}
}

// raftAddr is this peer's advertised address, kept as a name.
type raftAddr string

func (a raftAddr) Network() string { return "tcp" }
func (a raftAddr) String() string  { return string(a) }

func (s *stream) Accept() (net.Conn, error) {
	select {
	case c := <-s.node.mux.raft:
		return c, nil
	case <-s.closed:
		return nil, net.ErrClosed
	}
}

// Close ends Accept. The Node closes the port itself.
func (s *stream) Close() error {
	close(s.closed)
	return nil
}

// Addr implements net.Listener.
func (s *stream) Addr() net.Addr { return s.addr }

// Dial tries again every 100 ms until its time is over: Raft's own back-off
// grows to ten seconds, and a peer that came back would wait that long. It follows a
// member whose address is changed meanwhile, and gives up one that is removed.
func (s *stream) Dial(target raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	member, addr, ok := strings.Cut(string(target), "@")
	if !ok {
		return nil, fmt.Errorf("raft address %q is not member@host:port", target)
	}
	ctx, cancel := context.WithTimeout(s.node.ctx, timeout)
	defer cancel()
	told := false
	for {
		c, _, err := s.node.dial(ctx, addr, connRaft, member)
		if err == nil {
			if t := (&trackedConn{Conn: c, mux: s.node.mux}); s.node.mux.track(t) {
				return t, nil
			}
			c.Close()
			return nil, net.ErrClosed
		}
		if !told && isUnresolved(err) {
			told = true
			s.node.log.Warn("a peer's name does not resolve yet; trying again", "peer", addr, "error", err)
		}
		select {
		case <-time.After(dialPause):
		case <-ctx.Done():
			return nil, err
		}
		now, gone := (provider{node: s.node}).ServerAddr(raft.ServerID(member))
		if gone != nil {
			return nil, fmt.Errorf("%w (%w)", gone, err)
		}
		_, addr, _ = strings.Cut(string(now), "@")
	}
}

func isUnresolved(err error) bool {
	var dns *net.DNSError
	return errors.As(err, &dns)
}

// provider turns a member id into what Dial takes, from the newest configuration.
type provider struct{ node *Node }

func (p provider) ServerAddr(id raft.ServerID) (raft.ServerAddress, error) {
	if r := p.node.raft(); r != nil {
		for _, s := range r.GetConfiguration().Configuration().Servers {
			if s.ID == id {
				return raft.ServerAddress(string(id) + "@" + string(s.Address)), nil
			}
		}
	}
	return "", fmt.Errorf("member %s is in no configuration known here", id)
}
