package cluster

import (
	"context"
	"sync"
	"time"
)

const roundLimit = time.Second // one round of questions to the voters, or one hop to the leader

// heardKey is a key that was heard from, and the member it spoke to.
type heardKey struct{ from, key string }

// outcome is what a round of confirmation found.
type outcome struct {
	index   uint64   // what was committed before the round; the tables must have it
	refused []string // keys that were heard but not renewed
}

// rounds lets all that wait share one confirmation. A question that arrives
// while a round runs waits for the next: the running one may have asked before
// the question was there.
type rounds struct {
	ctx   context.Context
	do    func(ctx context.Context, heard []heardKey) (outcome, error)
	stats roundCounters

	mu      sync.Mutex // guards the fields below
	next    *round
	running bool
}

type round struct {
	heard []heardKey
	asked int           // how many wait for it
	done  chan struct{} // closed when out and err are set
	out   outcome
	err   error
}

// join waits for the next round.
func (r *rounds) join(ctx context.Context, heard ...heardKey) (outcome, error) {
	r.mu.Lock()
	if r.next == nil {
		r.next = &round{done: make(chan struct{})}
	}
	mine := r.next
	mine.heard = append(mine.heard, heard...)
	mine.asked++
	if !r.running {
		r.running = true
		go r.run()
	}
	r.mu.Unlock()
	select {
	case <-mine.done:
		return mine.out, mine.err
	case <-ctx.Done():
		return outcome{}, ctx.Err()
	}
}

func (r *rounds) run() {
	for {
		r.mu.Lock()
		cur := r.next
		r.next = nil
		if cur == nil {
			r.running = false
			r.mu.Unlock()
			return
		}
		r.mu.Unlock()
		ctx, cancel := context.WithTimeout(r.ctx, roundLimit)
		began := time.Now()
		cur.out, cur.err = r.do(ctx, cur.heard)
		cancel()
		r.stats.round(cur, time.Since(began)) // first: who was answered may look at the counters
		close(cur.done)
	}
}
