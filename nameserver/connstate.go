package nameserver

import (
	"iter"
	"maps"
	"slices"
	"sync"

	"namesrv/remoting"
)

// connState is what this peer remembers of one connection: which brokers
// registered over it, and which birth of each it last saw. A late
// unregistration removes no birth that is newer than that.
type connState struct {
	appliedAtAccept uint64

	mu     sync.Mutex        // guards the fields below
	births map[string]uint64 // 0: registers here, no birth seen yet
	memos  map[string]memo

	complaint string // what the log said of it last
}

func newConnState(applied uint64) *connState { return &connState{appliedAtAccept: applied} }

func stateOf(c *remoting.Conn) *connState { return c.Value().(*connState) }

// joined says that key registers over this connection, whose end counts for it
// from now on. It is false when that was so before.
func (cs *connState) joined(key string) bool {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if cs.births == nil {
		cs.births = make(map[string]uint64)
	}
	if _, ok := cs.births[key]; ok {
		return false
	}
	cs.births[key] = 0
	return true
}

// born says whether a registration of key over this connection was answered.
func (cs *connState) born(key string) bool {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	return cs.births[key] != 0
}

func (cs *connState) saw(key string, birth uint64) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if cs.births == nil {
		cs.births = make(map[string]uint64)
	}
	cs.births[key] = birth
}

// birthLimit is the newest birth that an unregistration over this connection may
// remove.
func (cs *connState) birthLimit(key string) uint64 {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if b := cs.births[key]; b != 0 {
		return b
	}
	return cs.appliedAtAccept
}

func (cs *connState) forget(key string) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	delete(cs.births, key)
	delete(cs.memos, key)
}

// remember keeps what a registration that changed nothing was compared with.
func (cs *connState) remember(key string, m memo) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if cs.memos == nil {
		cs.memos = make(map[string]memo)
	}
	cs.memos[key] = m
}

func (cs *connState) memo(key string) (memo, bool) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	m, ok := cs.memos[key]
	return m, ok
}

func (cs *connState) keys() iter.Seq[string] {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	return slices.Values(slices.Collect(maps.Keys(cs.births)))
}

// complains takes note of a complaint about this connection, and says whether it is another than the last.
func (cs *connState) complains(text string) bool {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	another := cs.complaint != text
	cs.complaint = text
	return another
}
