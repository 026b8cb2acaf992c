package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/hashicorp/raft"
)

// stubborn is a profile with which a leader that is cut off goes on to believe in itself, as one does that stood still.
var stubborn = Profile{Heartbeat: 20 * time.Second, Election: 20 * time.Second, Lease: 20 * time.Second}

// TestAnswersHeldBackConfirmNothing promises that a leader which was replaced without noticing does not call itself
// confirmed by answers that the voters gave before: neither by those to its own question for their terms, nor by those
// to Raft's heartbeats, which Raft's own VerifyLeader counts. It also commits nothing.
func TestAnswersHeldBackConfirmNothing(t *testing.T) {
	nodes, rs := relayedThree(t, func(cfgs []Config) { cfgs[0].Profile = stubborn })
	old := nodes[0]
	rest := makeLeader(t, old, nodes)
	propose(t, old, "before")
	if _, err := old.Confirm(soon(t)); err != nil {
		t.Fatal(err)
	}

	// The voters still hear the old leader, but it does not hear their answers.
	rs.set(func(p packet) fate {
		if p.from == "n1" && p.answer && (p.raft || p.msg == msgTerm) {
			return hold
		}
		return pass
	})
	first := make(chan error, 1)
	go func() { _, err := old.confirmOnce(context.Background()); first <- err }()
	for _, n := range rest {
		eventually(t, "answers of "+n.cfg.NodeID+" held", func() bool {
			id := n.cfg.NodeID
			return rs.count(hold, packet{from: "n1", to: id, answer: true, msg: msgTerm}) > 0 &&
				rs.count(hold, packet{from: "n1", to: id, answer: true, raft: true}) > 0
		})
	}

	// Then nothing gets through to or from it, and the others go on without it.
	rs.set(func(p packet) fate {
		switch {
		case p.from != "n1" && p.to != "n1":
			return pass
		case p.raft || p.answer && p.msg == msgTerm:
			return hold
		}
		return drop
	})
	leaderOf(t, rest...)
	propose(t, rest[0], "new")
	if err := <-first; err == nil {
		t.Fatal("confirmed without an answer")
	}
	if old.raft().State() != raft.Leader {
		t.Fatal("the old leader noticed: this is not the schedule that was meant")
	}
	refused := make(chan error, 1)
	go func() {
		_, err := old.Propose(soon(t), []byte("never"))
		refused <- err
	}()

	// A new question is under way when the old answers come.
	asked := rs.count(drop, packet{from: "n1", to: "n2", msg: msgTerm})
	second := make(chan error, 1)
	go func() { _, err := old.confirmOnce(context.Background()); second <- err }()
	eventually(t, "the question is under way", func() bool {
		return rs.count(drop, packet{from: "n1", to: "n2", msg: msgTerm}) > asked
	})
	rs.set(func(p packet) fate {
		switch {
		case p.from != "n1" && p.to != "n1", p.from == "n1" && p.answer:
			return pass
		case p.raft:
			return hold
		}
		return drop
	})
	rs.release()
	if err := <-second; err == nil {
		t.Error("confirmed by old answers, without what the others have committed since")
	}

	rs.set(nil)
	eventually(t, "the old leader has what it missed", func() bool {
		_, err := old.Confirm(soon(t))
		return err == nil && slices.Contains(old.machine.all(), "new")
	})
	if err := <-refused; err == nil {
		t.Error("the replaced leader acknowledged a command")
	}
	for _, n := range nodes {
		if slices.Contains(n.machine.all(), "never") {
			t.Errorf("%s applied what the replaced leader took", n.cfg.NodeID)
		}
	}
}

// TestForwardedCommandWithoutAnAnswer promises that a command whose way to the leader, or whose answer, was lost or is
// late is neither sent again nor called surely not applied.
func TestForwardedCommandWithoutAnAnswer(t *testing.T) {
	nodes, rs := relayedThree(t, nil)
	tests := []struct {
		name    string
		answer  bool
		fate    fate
		applied bool // in the end
	}{
		{"request held past its time", false, hold, false},
		{"request lost", false, drop, false},
		{"answer held", true, hold, true},
		{"answer lost", true, drop, true},
	}
	for i, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			leader, rest := leaderOf(t, nodes...)
			asker, command := rest[i%2], fmt.Sprint("command ", i)
			rs.set(func(p packet) fate {
				if p.from == asker.cfg.NodeID && p.msg == msgPropose && p.answer == tt.answer {
					return tt.fate
				}
				return pass
			})
			ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
			defer cancel()
			_, err := asker.Propose(ctx, []byte(command))
			if err == nil || errors.Is(err, ErrNoLeader) {
				t.Errorf("%v, want an unknown outcome", err)
			}
			rs.set(nil)
			rs.release()
			propose(t, asker, fmt.Sprint("after ", i)) // goes the same way
			want := 0
			if tt.applied {
				want = 1
			}
			if n := countOf(leader.machine.all(), command); n != want {
				t.Errorf("applied %d times, want %d", n, want)
			}
		})
	}
}

func countOf(all []string, want string) (n int) {
	for _, s := range all {
		if s == want {
			n++
		}
	}
	return n
}
