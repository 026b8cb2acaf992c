package cluster

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
)

// changes writes one line when the leader that this member knows changes, and, while
// it leads, when another member falls silent or is back. Raft itself repeats the
// latter with every try; see calmLogger.
type changes struct {
	log  hclog.Logger
	last func() (term, index uint64)

	any atomic.Bool // is silent not empty? Spares those who read the lock

	mu     sync.Mutex // guards silent
	silent []raft.ServerID
}

// observe is a raft.FilterFn that keeps nothing. Raft calls it where the change
// happens, so it may only do what writing a line takes.
func (c *changes) observe(o *raft.Observation) bool {
	switch data := o.Data.(type) {
	case raft.LeaderObservation:
		c.leader(data)
	case raft.FailedHeartbeatObservation:
		c.lost(data.PeerID)
	case raft.ResumedHeartbeatObservation:
		c.back(data.PeerID)
	}
	return false
}

func (c *changes) leader(o raft.LeaderObservation) {
	c.mu.Lock()
	c.silent = nil // they are the next leader's to judge
	c.any.Store(false)
	c.mu.Unlock()
	term, index := c.last()
	if o.LeaderID == "" {
		c.log.Info("no leader is known", "term", term, "index", index)
		return
	}
	c.log.Info("leader is known", "leader", nodeOf(string(o.LeaderID)), "member", o.LeaderID, "peer", o.LeaderAddr, "term", term, "index", index)
}

func (c *changes) lost(id raft.ServerID) {
	c.mu.Lock()
	known := slices.Contains(c.silent, id)
	if !known {
		c.silent = append(c.silent, id)
		c.any.Store(true)
	}
	c.mu.Unlock()
	if !known {
		_, index := c.last()
		c.log.Warn("a member is silent", "node", nodeOf(string(id)), "member", id, "index", index)
	}
}

// heard takes a message of a member: each member reports twice a second.
func (c *changes) heard(member string) {
	if c.any.Load() {
		c.back(raft.ServerID(member))
	}
}

func (c *changes) back(id raft.ServerID) {
	c.mu.Lock()
	at := slices.Index(c.silent, id)
	if at >= 0 {
		c.silent = slices.Delete(c.silent, at, at+1)
		c.any.Store(len(c.silent) > 0)
	}
	c.mu.Unlock()
	if at >= 0 {
		_, index := c.last()
		c.log.Info("a member is heard again", "node", nodeOf(string(id)), "member", id, "index", index)
	}
}
