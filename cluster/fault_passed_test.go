package cluster

import (
	"context"
	"testing"
	"time"
)

// TestLeaderIsReachedThroughAnotherMember promises that a member whose link to the leader is cut, in either direction
// or both, still tells it what it has to tell while a third reaches both, and that the leader knows from whom it is.
func TestLeaderIsReachedThroughAnotherMember(t *testing.T) {
	nodes, rs := relayedThree(t, nil)
	leader, rest := leaderOf(t, nodes...)
	cut, far := rest[0], leader.cfg.NodeID
	near := cut.cfg.NodeID
	tests := []struct {
		name   string
		lost   func(p packet) bool
		passed bool
	}{
		{"nothing is cut", func(packet) bool { return false }, true},
		{"both ways", func(p packet) bool { return p.from == near && p.to == far || p.from == far && p.to == near }, true},
		{"requests are not heard", func(p packet) bool { return p.from == near && p.to == far && !p.answer }, true},
		{"answers are not heard", func(p packet) bool { return p.from == near && p.to == far && p.answer }, true},
		{"cut off from all", func(p packet) bool { return p.from == near || p.to == near }, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			rs.set(func(p packet) fate {
				switch {
				case !tt.lost(p):
					return pass
				case p.raft:
					return hold
				}
				return drop
			})
			defer rs.set(nil)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			began := time.Now()
			out, err := cut.AskLeader(ctx, []byte("hello"))
			if want := cut.MemberID() + " says hello"; tt.passed && (err != nil || string(out) != want) {
				t.Errorf("%q, %v; want %q", out, err, want)
			}
			if !tt.passed && err == nil {
				t.Errorf("it reached a leader: %q", out)
			}
			if took := time.Since(began); took > 1500*time.Millisecond {
				t.Errorf("it took %v", took)
			}
		})
	}
}
