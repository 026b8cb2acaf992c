package cluster

import (
	"bytes"
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"
)

// lose makes a reach whose leader is away for some time after the first loss, and waits for it, then for as long again as
// it may be away.
func lose(t *testing.T, log hclog.Logger, away time.Duration) (took time.Duration, tries int64, err error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	began := time.Now()
	var tried atomic.Int64
	r := newReach(ctx, log, func(context.Context) error {
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
	time.Sleep(2 * away)
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
		log        []string
	}{
		{"handed over", 20 * time.Millisecond, 40 * time.Millisecond, 3, false, nil},
		{"killed", 700 * time.Millisecond, 810 * time.Millisecond, 12, false, nil},
		{"no quorum", time.Hour, noLeaderLimit + 2*reachTick, 25, true, []string{
			"[WARN]  no leader can be reached: nothing can be changed, and no answer is confirmed: waited=2s",
			"[INFO]  a leader can be reached again: answers are confirmed",
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var text bytes.Buffer
				took, tries, err := lose(t, hclog.New(&hclog.LoggerOptions{Output: &text}), tt.away)
				if took > tt.within || tries > tt.triesUpTo || errors.Is(err, ErrNoLeader) != tt.wantFailed {
					t.Errorf("%v after %v and %d tries; want within %v and %d tries", err, took, tries, tt.within, tt.triesUpTo)
				}
				if diff := cmp.Diff(tt.log, logLines(&text)); diff != "" {
					t.Errorf("log (-want +got):\n%s", diff)
				}
			})
		})
	}
}
