package cluster

import (
	"context"
	"sync"
	"sync/atomic"
)

// applied is the index of the last log entry that this peer's state machine has
// taken, and those who wait for one. Raft's own AppliedIndex counts entries that
// are only queued, and its commit index counts entries that never get here.
type applied struct {
	index atomic.Uint64

	mu      sync.Mutex // guards waiters; index is raised with it held
	waiters map[chan struct{}]uint64
}

func (a *applied) get() uint64 { return a.index.Load() }

// set raises the index and wakes those who waited for it.
func (a *applied) set(index uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.index.Store(index)
	for ch, want := range a.waiters {
		if want <= index {
			close(ch)
			delete(a.waiters, ch)
		}
	}
}

// wait returns once index is applied, or with the context's error.
func (a *applied) wait(ctx context.Context, index uint64) error {
	if a.get() >= index {
		return nil
	}
	ch := make(chan struct{})
	a.mu.Lock()
	if a.index.Load() >= index {
		a.mu.Unlock()
		return nil
	}
	if a.waiters == nil {
		a.waiters = make(map[chan struct{}]uint64)
	}
	a.waiters[ch] = index
	a.mu.Unlock()
	select {
	case <-ch:
		return nil
	case <-ctx.Done():
		a.mu.Lock()
		delete(a.waiters, ch)
		a.mu.Unlock()
		return ctx.Err()
	}
}
