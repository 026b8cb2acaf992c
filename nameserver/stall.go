package nameserver

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

const (
	stallTick  = 100 * time.Millisecond
	stallAfter = time.Second // what is read so soon after a stop was sent before it
)

// stall knows when this process was stopped and went on. What is read right after
// that may have waited for minutes: its sender has given up, and has said newer
// things to other peers since.
type stall struct {
	ticked atomic.Int64 // nanoseconds since start of the last tick; 0: nobody watches

	start time.Time

	mu    sync.Mutex // guards the fields below
	gap   time.Duration
	ended time.Time
}

func newStall() *stall { return &stall{start: time.Now()} }

// watch ticks until ctx ends.
func (s *stall) watch(ctx context.Context) {
	t := time.NewTicker(stallTick)
	defer t.Stop()
	for {
		s.longer(0) // before the tick hides the gap
		s.ticked.Store(int64(time.Since(s.start)))
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
	}
}

// longer says whether this process was stopped for more than limit until just
// now. It notes a stop also when the tick after it has not come yet.
func (s *stall) longer(limit time.Duration) bool {
	ticked := s.ticked.Load()
	if ticked == 0 {
		return false
	}
	gap := time.Since(s.start) - time.Duration(ticked)
	s.mu.Lock()
	defer s.mu.Unlock()
	if gap > 10*stallTick {
		s.gap, s.ended = gap, time.Now()
	}
	return s.gap > limit && time.Since(s.ended) < stallAfter
}
