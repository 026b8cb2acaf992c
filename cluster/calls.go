package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/hashicorp/raft"
)

// calls stands between Raft's replication and the network.
//
// Raft v1.8.0 changes the address of a member that it replicates to under a lock
// which some of its own looks at that member do not take: those that follow an answer,
// or a pipeline that broke. Both in one moment are a data race. So before an address is
// changed, the requests to the old one are made to fail and the looks that earlier ones
// led to are waited for. A request to the new address shows that Raft has taken note.
type calls struct {
	mu sync.Mutex // guards the fields below, and those of each callee
	to map[raft.ServerID]*callee
}

// callee is one member. Raft replicates to it from one goroutine at a time.
type callee struct {
	barred    raft.ServerAddress // where it is not called any more; "" = nowhere
	changes   int                // times that barred was set; a call must not reach over one
	answered  bool               // a call was answered, and Raft may be looking at it still
	pipelines map[*pipeline]struct{}
	quiet     chan struct{} // closed when answered and pipelines are empty; nil: nobody waits
}

var errAddressChanges = errors.New("its address is being changed")

func (c *calls) callee(id raft.ServerID) *callee {
	if c.to == nil {
		c.to = make(map[raft.ServerID]*callee)
	}
	m := c.to[id]
	if m == nil {
		m = &callee{pipelines: make(map[*pipeline]struct{})}
		c.to[id] = m
	}
	return m
}

func (m *callee) settle() {
	if m.quiet != nil && !m.answered && len(m.pipelines) == 0 {
		close(m.quiet)
		m.quiet = nil
	}
}

// do makes one call. That Raft makes it says that it looks at no earlier answer.
func (c *calls) do(id raft.ServerID, addr raft.ServerAddress, call func() error) error {
	changes, err := c.begin(id, addr)
	if err != nil {
		return err
	}
	return c.end(id, changes, call())
}

func (c *calls) begin(id raft.ServerID, addr raft.ServerAddress) (changes int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := c.callee(id)
	m.answered = false
	m.settle()
	if addr == m.barred {
		return 0, errAddressChanges
	}
	return m.changes, nil
}

// end says what became of a call. An answer to one that was made before the address
// changed is not handed on: Raft would look at the member without its lock.
func (c *calls) end(id raft.ServerID, changes int, err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := c.callee(id)
	if err == nil && changes != m.changes {
		return errAddressChanges
	}
	m.answered = err == nil
	return err
}

// bar makes all calls to a member's address fail, and returns when Raft looks at no
// answer to an earlier one. lift ends it.
func (c *calls) bar(ctx context.Context, id raft.ServerID, addr raft.ServerAddress) (lift func(), err error) {
	c.mu.Lock()
	m := c.callee(id)
	m.barred = addr
	m.changes++
	if m.quiet == nil {
		m.quiet = make(chan struct{})
	}
	quiet := m.quiet
	var open []*pipeline
	for p := range m.pipelines {
		open = append(open, p)
	}
	m.settle()
	c.mu.Unlock()
	for _, p := range open {
		_ = p.AppendPipeline.Close() // Raft finds it broken with its next message and gives it up
	}
	lift = func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		m.barred = ""
	}
	select {
	case <-quiet:
		return lift, nil
	case <-ctx.Done():
		lift()
		return nil, fmt.Errorf("what was sent to %s is still under way: %w", id, ctx.Err())
	}
}

// opened takes note of a pipeline, unless the address has changed since it was begun.
func (c *calls) opened(p *pipeline, changes int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := c.callee(p.to)
	if changes != m.changes {
		return false
	}
	m.pipelines[p] = struct{}{}
	return true
}

// pipeline is one over which Raft replicates.
type pipeline struct {
	raft.AppendPipeline
	calls *calls
	to    raft.ServerID
}

// AppendEntries implements raft.AppendPipeline.
func (p *pipeline) AppendEntries(req *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse) (raft.AppendFuture, error) {
	bound(req)
	return p.AppendPipeline.AppendEntries(req, resp)
}

// Close implements raft.AppendPipeline. Raft calls it when it looks at no answer of it
// any more.
func (p *pipeline) Close() error {
	err := p.AppendPipeline.Close()
	p.calls.mu.Lock()
	defer p.calls.mu.Unlock()
	m := p.calls.callee(p.to)
	delete(m.pipelines, p)
	m.settle()
	return err
}

// AppendEntries implements raft.Transport. Heartbeats, which look at no answer in that
// way and come from a goroutine of their own, pass.
func (t *transport) AppendEntries(id raft.ServerID, addr raft.ServerAddress, req *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse) error {
	send := func() error { return t.NetworkTransport.AppendEntries(id, addr, req, resp) }
	if req.PrevLogEntry == 0 && req.PrevLogTerm == 0 && len(req.Entries) == 0 && req.LeaderCommitIndex == 0 {
		return send()
	}
	bound(req)
	return t.calls.do(id, addr, send)
}

// maxAppendBytes bounds what one request replicates: Raft counts entries only, gives each
// request the same time, and repeats one that did not arrive in it for ever.
const maxAppendBytes = MaxCommand

// bound takes entries off the end of a request that is too large, and leaves one at least.
// Raft goes on after the last one that it finds in the request afterwards.
func bound(req *raft.AppendEntriesRequest) {
	size := 0
	for i, l := range req.Entries {
		if size += len(l.Data); size > maxAppendBytes && i > 0 {
			req.Entries = req.Entries[:i]
			return
		}
	}
}

// InstallSnapshot implements raft.Transport.
func (t *transport) InstallSnapshot(id raft.ServerID, addr raft.ServerAddress, req *raft.InstallSnapshotRequest, resp *raft.InstallSnapshotResponse, data io.Reader) error {
	return t.calls.do(id, addr, func() error { return t.NetworkTransport.InstallSnapshot(id, addr, req, resp, data) })
}

// AppendEntriesPipeline implements raft.Transport.
func (t *transport) AppendEntriesPipeline(id raft.ServerID, addr raft.ServerAddress) (raft.AppendPipeline, error) {
	changes, err := t.calls.begin(id, addr)
	if err != nil {
		return nil, err
	}
	inner, err := t.NetworkTransport.AppendEntriesPipeline(id, addr)
	if err != nil {
		return nil, err
	}
	p := &pipeline{AppendPipeline: inner, calls: &t.calls, to: id}
	if !t.calls.opened(p, changes) {
		return nil, errors.Join(errAddressChanges, inner.Close())
	}
	return p, nil
}
