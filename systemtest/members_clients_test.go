package systemtest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"namesrv/internal/rocketmq"
	"namesrv/systemtest"
)

// memberCall is for one question; longer than a peer may take without a leader.
const memberCall = 5 * time.Second

// peerList is the list of peers that clients are given. It changes as an admin would change it: a peer is listed
// once it is a member, marked when it is about to be removed, and taken out afterwards.
type peerList struct {
	mu      sync.Mutex // guards the fields below
	nodes   []*systemtest.Node
	leaving *systemtest.Node
}

func (p *peerList) all() []*systemtest.Node {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.nodes)
}

// stays is whether a peer is listed and not about to be removed.
func (p *peerList) stays(n *systemtest.Node) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.leaving != n && slices.Contains(p.nodes, n)
}

func (p *peerList) add(n *systemtest.Node) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.nodes = append(p.nodes, n)
}

func (p *peerList) leave(n *systemtest.Node) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.leaving = n
}

func (p *peerList) drop(n *systemtest.Node) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.nodes = slices.DeleteFunc(p.nodes, func(o *systemtest.Node) bool { return o == n })
	p.leaving = nil
}

// pauses measures how long no write at all was acknowledged.
type pauses struct {
	mu      sync.Mutex // guards the fields below
	last    time.Time
	longest time.Duration
}

func (p *pauses) acked() {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	p.longest = max(p.longest, now.Sub(p.last))
	p.last = now
}

// reset gives the longest pause since the one before.
func (p *pauses) reset() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	longest := max(p.longest, time.Since(p.last))
	p.last, p.longest = time.Now(), 0
	return longest
}

// wireClient has a connection to each peer that it talked to.
type wireClient struct{ conns map[string]*rocketmq.Conn }

// call gives a peer's answer; an answer that asks to try elsewhere counts as none.
func (c *wireClient) call(addr string, f *rocketmq.Frame) (*rocketmq.Frame, error) {
	ctx, cancel := context.WithTimeout(context.Background(), memberCall)
	defer cancel()
	conn := c.conns[addr]
	if conn == nil {
		var err error
		if conn, err = rocketmq.Dial(ctx, addr); err != nil {
			return nil, err
		}
		c.conns[addr] = conn
	}
	answer, err := conn.Call(ctx, f)
	switch {
	case errors.Is(err, rocketmq.ErrBroken):
		conn.Close()
		delete(c.conns, addr)
		return nil, err
	case err != nil:
		return nil, err
	case answer.Code != rocketmq.Success && answer.Code != rocketmq.QueryNotFound && answer.Code != rocketmq.TopicNotExist:
		return nil, fmt.Errorf("code %d: %s", answer.Code, answer.Remark)
	}
	return answer, nil
}
