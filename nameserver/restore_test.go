package nameserver

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"namesrv/cluster"
)

func TestWhatIsSaidOfARestoreThatDidNotEnd(t *testing.T) {
	tests := []struct {
		name     string
		failFrom int   // entry of the log before which proposals begin to fail: a restore here has three steps
		failure  error // of proposals
		applied  bool  // whether they are applied all the same
		want     error
		says     string
	}{
		{"no leader from the beginning", 0, cluster.ErrNoLeader, false, cluster.ErrNoLeader, "step 1 of 3: no leader: given up, nothing was changed"},
		{"part unknown", 1, cluster.ErrUnknownOutcome, false, cluster.ErrNoLeader, "nothing was changed"},
		{"last step surely not sent", 2, cluster.ErrNoLeader, false, cluster.ErrNoLeader, "nothing was changed"},
		{"last step unknown and lost", 2, cluster.ErrUnknownOutcome, false, cluster.ErrUnknownOutcome, "may have taken effect"},
		{"last step unknown and applied", 2, cluster.ErrUnknownOutcome, true, cluster.ErrUnknownOutcome, "may have taken effect"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			snapshot := saved(t, filled(t))
			r := newRig(t)
			r.service.group = &failingGroup{fakeGroup: r.group, from: tc.failFrom, to: math.MaxInt, failure: tc.failure, applied: tc.applied}
			ctx, cancel := context.WithTimeout(t.Context(), 2*restorePause)
			defer cancel()
			_, err := r.service.Restore(ctx, "r1", snapshot)
			if !errors.Is(err, tc.want) || !strings.Contains(err.Error(), tc.says) {
				t.Fatalf("%v, want %q", err, tc.says)
			}
			state, err := r.service.RestoreState(t.Context())
			if err != nil || (state.Restored == "r1") != tc.applied {
				t.Errorf("%+v, %v", state, err)
			}
			if unknown := errors.Is(tc.want, cluster.ErrUnknownOutcome); !unknown && r.tables.State().Broker("b") != nil {
				t.Error("it was said that nothing was changed")
			}
		})
	}
}

// failingGroup fails the proposals from one to another, counted from 0.
type failingGroup struct {
	*fakeGroup
	from, to int
	failure  error
	applied  bool // whether they are applied all the same

	asked int // used by one goroutine, which restores
}

func (g *failingGroup) Propose(ctx context.Context, command []byte) ([]byte, error) {
	g.asked++
	if n := g.asked - 1; n < g.from || n >= g.to {
		return g.fakeGroup.Propose(ctx, command)
	}
	if g.applied {
		if _, err := g.fakeGroup.Propose(ctx, command); err != nil {
			return nil, err
		}
	}
	return nil, g.failure
}

func TestRestoreGoesOnAfterALostLeader(t *testing.T) {
	for step, name := range []string{"beginning", "part", "last step"} {
		for outcome, applied := range map[string]bool{"applied": true, "lost": false} {
			t.Run(name+" was "+outcome, func(t *testing.T) {
				snapshot := saved(t, filled(t))
				r := newRig(t)
				r.service.group = &failingGroup{fakeGroup: r.group, from: step, to: step + 2, failure: cluster.ErrUnknownOutcome, applied: applied}
				if n, err := r.service.Restore(t.Context(), "r1", snapshot); err != nil || n != 1 || r.tables.State().Broker("b") == nil {
					t.Errorf("%d addresses, %v", n, err)
				}
			})
		}
	}
}

// TestRestoreWithoutALeader gives up where nothing was begun, and waits where it was.
func TestRestoreWithoutALeader(t *testing.T) {
	for from, want := range map[int]time.Duration{0: firstWait, 1: time.Minute} {
		t.Run(fmt.Sprint("from step ", from), func(t *testing.T) {
			snapshot := saved(t, filled(t))
			r := newRig(t)
			r.service.group = &failingGroup{fakeGroup: r.group, from: from, to: math.MaxInt, failure: cluster.ErrNoLeader}
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				began := time.Now()
				if _, err := r.service.Restore(ctx, "r1", snapshot); !errors.Is(err, cluster.ErrNoLeader) {
					t.Errorf("%v, want no leader", err)
				}
				if took := time.Since(began); took < want || took > want+time.Second {
					t.Errorf("it took %v, want %v", took, want)
				}
			})
		})
	}
}

func TestRestoreThatIsGivenUpIsTakenBack(t *testing.T) {
	snapshot := saved(t, filled(t))
	r := newRig(t)
	ctx, cancel := context.WithCancel(t.Context())
	r.group.set(func(g *fakeGroup) {
		g.hold = func(n int) {
			if n == 1 { // the client goes away while the part is logged
				cancel()
			}
		}
	})
	if _, err := r.service.Restore(ctx, "r1", snapshot); !errors.Is(err, cluster.ErrNoLeader) {
		t.Errorf("%v", err)
	}
	state, err := r.service.RestoreState(t.Context())
	if err != nil || state != (RestoreState{}) {
		t.Errorf("%+v, %v: its parts stay at every peer", state, err)
	}
}

func TestRestoreStateNeedsALeader(t *testing.T) {
	r := newRig(t)
	r.group.set(func(g *fakeGroup) { g.confirm = cluster.ErrNoLeader })
	if _, err := r.service.RestoreState(t.Context()); !errors.Is(err, cluster.ErrNoLeader) {
		t.Errorf("%v: what may be old", err)
	}
}
