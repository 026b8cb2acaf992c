package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// peers holds the outgoing C connections, one a member, dialled when needed.
type peers struct {
	node *Node
	wg   sync.WaitGroup

	mu    sync.Mutex // guards the fields below
	slots map[string]*slot
	shut  bool
}

// slot is the place of one connection. Its semaphore lets one caller dial while
// the others wait for it with their own deadlines.
type slot struct {
	sem  chan struct{}
	link *link
}

func newPeers(n *Node) *peers { return &peers{node: n, slots: make(map[string]*slot)} }

// call asks a member of this cluster. addr is where it is dialled.
func (p *peers) call(ctx context.Context, member, addr string, kind byte, payload []byte) (answer, error) {
	l, err := p.get(ctx, member, addr)
	if err != nil {
		return answer{}, fmt.Errorf("%w: %w", errNotSent, err)
	}
	return l.call(ctx, kind, payload)
}

// ask speaks to an address whose member is not known yet: form and admit only.
func (p *peers) ask(ctx context.Context, addr string, kind byte, payload []byte) (answer, error) {
	c, hello, err := p.node.dial(ctx, addr, connCommands, "")
	if err != nil {
		return answer{}, err
	}
	l := newLink(c, hello.clock)
	var reader sync.WaitGroup
	reader.Go(l.read)
	defer reader.Wait()
	defer l.breakWith(errors.New("done"))
	return l.call(ctx, kind, payload)
}

func (p *peers) get(ctx context.Context, member, addr string) (*link, error) {
	s, err := p.slot(member + "@" + addr)
	if err != nil {
		return nil, err
	}
	select {
	case s.sem <- struct{}{}:
		defer func() { <-s.sem }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if s.link != nil && !s.link.isBroken() {
		return s.link, nil
	}
	c, hello, err := p.node.dial(ctx, addr, connCommands, member)
	if err != nil {
		return nil, err
	}
	l := newLink(c, hello.clock)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shut {
		c.Close()
		return nil, ErrStopped
	}
	s.link = l
	p.wg.Go(l.read)
	return l, nil
}

func (p *peers) slot(key string) (*slot, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shut {
		return nil, ErrStopped
	}
	s := p.slots[key]
	if s == nil {
		s = &slot{sem: make(chan struct{}, 1)}
		p.slots[key] = s
	}
	return s, nil
}

// close cuts every connection and waits for its reader.
func (p *peers) close() {
	p.mu.Lock()
	p.shut = true
	for _, s := range p.slots {
		if s.link != nil {
			s.link.breakWith(ErrStopped)
		}
	}
	p.mu.Unlock()
	p.wg.Wait()
}
