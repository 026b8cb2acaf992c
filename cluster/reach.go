package cluster

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
)

const (
	noLeaderLimit = 2 * time.Second // of running time; after it nobody waits for a leader any more
	reachTick     = 100 * time.Millisecond
	reachSoon     = 5 * time.Millisecond // the first try after a loss; each pause after it is twice as long, up to reachTick
)

// reach knows since when no leader could be reached, in running time: a process
// that was stopped for minutes starts counting anew when it goes on.
type reach struct {
	ctx context.Context
	try func(context.Context) error
	log hclog.Logger

	quiet atomic.Bool   // not failing; spares those who read the lock
	soon  chan struct{} // one place: a leader was lost just now
	told  atomic.Bool   // the log says that none can be reached

	mu      sync.Mutex // guards the fields below
	running time.Duration
	failing bool
	since   time.Duration
	back    chan struct{} // closed when a leader is reached again

	left chan struct{} // closed when this member was removed
}

func newReach(ctx context.Context, log hclog.Logger, try func(context.Context) error) *reach {
	r := &reach{ctx: ctx, log: log, try: try, back: make(chan struct{}), left: make(chan struct{}), soon: make(chan struct{}, 1)}
	r.quiet.Store(true)
	return r
}

// tick counts running time, and asks for the leader while none is reached: at
// first often, since a leader that hands over is replaced within milliseconds.
func (r *reach) tick() {
	pause := reachTick
	t := time.NewTimer(pause)
	defer t.Stop()
	trying := make(chan struct{}, 1)
	last := time.Now()
	for {
		select {
		case <-r.ctx.Done():
			trying <- struct{}{} // waits for a try that is under way
			return
		case <-r.soon:
			pause = reachSoon
			t.Reset(pause)
			continue
		case <-t.C:
			pause = min(2*pause, reachTick)
			t.Reset(pause)
		}
		now := time.Now()
		if r.advance(now.Sub(last)) {
			select {
			case trying <- struct{}{}:
				go func() { defer func() { <-trying }(); r.tryOnce() }()
			default:
			}
		}
		last = now
		r.tell()
	}
}

// tell writes to the log, once each time, that nobody waits for a leader any more, and that one is back.
func (r *reach) tell() {
	gone := r.gone()
	switch {
	case !r.told.CompareAndSwap(!gone, gone):
	case gone:
		r.log.Warn("no leader can be reached: nothing can be changed, and no answer is confirmed", "waited", noLeaderLimit)
	default:
		r.log.Info("a leader can be reached again: answers are confirmed")
	}
}

func (r *reach) tryOnce() {
	ctx, cancel := context.WithTimeout(r.ctx, roundLimit)
	defer cancel()
	if r.try(ctx) == nil {
		r.ok()
	}
}

func (r *reach) advance(gap time.Duration) (failing bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if gap > noLeaderLimit {
		r.since = r.running // stopped meanwhile: what failed before says nothing about now
		gap = 0
	}
	r.running += gap
	return r.failing
}

// ok says that a leader answered.
func (r *reach) ok() {
	if r.quiet.Load() {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failing {
		r.failing = false
		r.quiet.Store(true)
		close(r.back)
		r.back = make(chan struct{})
	}
}

// lost says that a try failed which took so long; it returns the channel that is
// closed when a leader is reached again.
func (r *reach) lost(took time.Duration) <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.failing {
		r.failing, r.since = true, r.running-min(took, roundLimit)
		r.quiet.Store(false)
		select {
		case r.soon <- struct{}{}:
		default:
		}
	}
	return r.back
}

// gone says whether no leader was reached for noLeaderLimit.
func (r *reach) gone() bool {
	if r.quiet.Load() {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failing && r.running-r.since >= noLeaderLimit
}

// await waits for a leader after a try that failed: nil when one is back,
// ErrNoLeader when none was reached for noLeaderLimit, ErrRemoved when none will be
// any more.
func (r *reach) await(ctx context.Context, took time.Duration) error {
	back := r.lost(took)
	t := time.NewTicker(reachTick / 2)
	defer t.Stop()
	for {
		if r.gone() {
			return ErrNoLeader
		}
		select {
		case <-back:
			return nil
		case <-r.left:
			return ErrRemoved
		case <-t.C:
		case <-ctx.Done():
			return ctx.Err()
		case <-r.ctx.Done():
			return ErrStopped
		}
	}
}
