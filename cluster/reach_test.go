package cluster

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// lose makes a reach whose leader is away for some time after the first loss, and waits for it.
func lose(t *testing.T, away time.Duration) (took time.Duration, tries int64, err error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	began := time.Now()
	var tried atomic.Int64
	r := newReach(ctx, func(context.Context) error {
		tried.Add(1)
		if time.Since(began) < away {
			return ErrNoLeader
		}
		return nil
	})
	done := make(chan struct{})
	go func() { defer close(done); r.tick() }()
	err = r.await(ctx, 0)
	took, tries = time.Since(began), tried.Load()
	cancel()
	<-done
	return took, tries, err
}

// TestLeaderThatIsReplacedAtOnceIsFoundAtOnce promises that nobody waits for long after a leader has handed over, and
// that one who does not come back is not asked for all the time.
func TestLeaderThatIsReplacedAtOnceIsFoundAtOnce(t *testing.T) {
	tests := []struct {
		name       string
		away       time.Duration
		within     time.Duration
		triesUpTo  int64
		wantFailed bool
	}{
		{"handed over", 20 * time.Millisecond, 40 * time.Millisecond, 3, false},
		{"killed", 700 * time.Millisecond, 810 * time.Millisecond, 12, false},
		{"no quorum", time.Hour, noLeaderLimit + 2*reachTick, 25, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				took, tries, err := lose(t, tt.away)
				if took > tt.within || tries > tt.triesUpTo || errors.Is(err, ErrNoLeader) != tt.wantFailed {
					t.Errorf("%v after %v and %d tries; want within %v and %d tries", err, took, tries, tt.within, tt.triesUpTo)
				}
			})
		})
	}
}
