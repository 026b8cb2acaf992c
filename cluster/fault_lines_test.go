package cluster

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/raft"
)

// TestSparseWritesReachFollowersAtOnce promises that a follower shows a write soon after the leader has acknowledged it,
// also when no other write follows: Raft tells of a commit with the next entries, or at its next tick, and its default
// tick makes every reader at a follower wait for 50 to 100 ms.
func TestSparseWritesReachFollowersAtOnce(t *testing.T) {
	nodes := three(t)
	leader, rest := leaderOf(t, nodes...)
	const enough = 40 * time.Millisecond
	var all []time.Duration
	for range 3 { // a busy machine has calmer moments
		all = nil
		for i := range 21 {
			propose(t, leader, fmt.Sprint("sparse ", i))
			index, began := leader.Applied(), time.Now()
			if err := rest[i%2].applied.wait(soon(t), index); err != nil {
				t.Fatal(err)
			}
			all = append(all, time.Since(began))
			idle(t, 120*time.Millisecond) // longer than any tick
		}
		slices.Sort(all)
		if all[len(all)/2] < enough {
			break
		}
	}
	t.Logf("a follower trails an acknowledged write by %v (median), %v (worst)", all[len(all)/2], all[len(all)-1])
	if all[len(all)/2] >= enough {
		t.Errorf("median %v, want below %v", all[len(all)/2], enough)
	}
}

// idle lets time pass in which nothing is written: that is what the test is about.
func idle(t *testing.T, d time.Duration) {
	t.Helper()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.Context().Done():
	}
}

// TestConfirmAfterEntriesThatAreNoCommands promises that a confirmation does not wait for ever for an index that the
// tables never reach: entries of Raft's own, after which no command follows.
func TestConfirmAfterEntriesThatAreNoCommands(t *testing.T) {
	nodes := three(t)
	confirmed := func(t *testing.T) {
		t.Helper()
		for _, n := range nodes {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			if _, err := n.Confirm(ctx); err != nil {
				t.Errorf("%s: %v", n.cfg.NodeID, err)
			}
			cancel()
		}
	}
	t.Run("election", func(t *testing.T) {
		leader, rest := leaderOf(t, nodes...)
		_ = leader.HandOver(soon(t))
		leaderOf(t, append(rest, leader)...)
		confirmed(t)
	})
	t.Run("configuration", func(t *testing.T) {
		leader, _ := leaderOf(t, nodes...)
		r := leader.raft()
		if err := r.AddNonvoter("ghost-0", "127.0.0.1:1", 0, 5*time.Second).Error(); err != nil {
			t.Fatal(err)
		}
		confirmed(t)
		if err := r.RemoveServer("ghost-0", 0, 5*time.Second).Error(); err != nil {
			t.Fatal(err)
		}
		confirmed(t)
	})
}

// TestNonVotersConfirmNothing promises that a leader which reaches no other voter is not confirmed by members that have
// no vote, however many they are. Raft's own VerifyLeader counts them.
func TestNonVotersConfirmNothing(t *testing.T) {
	nodes, rs := relayedThree(t, func(cfgs []Config) { cfgs[0].Profile = stubborn })
	old := nodes[0]
	rest := makeLeader(t, old, nodes)
	propose(t, old, "before")
	unvoted, voter := rest[0], rest[1].cfg.NodeID
	if err := old.raft().DemoteVoter(raft.ServerID(unvoted.MemberID()), 0, 5*time.Second).Error(); err != nil {
		t.Fatal(err)
	}
	if _, err := old.Confirm(soon(t)); err != nil {
		t.Fatal(err)
	}
	// Two voters are left, and the other one of them is not reached.
	rs.set(func(p packet) fate {
		switch {
		case p.from != voter && p.to != voter:
			return pass
		case p.raft:
			return hold
		}
		return drop
	})
	if _, err := old.confirmOnce(soon(t)); err == nil {
		t.Error("confirmed by a member without a vote")
	}
}

// TestDelaysAndReordering promises that confirmations are right whatever order messages come in: what was acknowledged
// anywhere before a confirmation began is in the tables of the peer that confirmed.
func TestDelaysAndReordering(t *testing.T) {
	nodes, rs := relayedThree(t, nil)
	rs.mu.Lock()
	rs.delay = 15 * time.Millisecond
	rs.mu.Unlock()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
	defer cancel()
	var wg sync.WaitGroup
	var acked, checked atomic.Int64
	for w, n := range nodes {
		other := nodes[(w+1)%3]
		wg.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				command := fmt.Sprintf("w%d-%d", w, i)
				if _, err := n.Propose(soon(t), []byte(command)); err != nil {
					continue
				}
				acked.Add(1)
				if _, err := other.Confirm(soon(t)); err != nil {
					continue
				}
				checked.Add(1)
				if !slices.Contains(other.machine.all(), command) {
					t.Errorf("%s confirmed without %s, which %s had acknowledged", other.cfg.NodeID, command, n.cfg.NodeID)
				}
			}
		})
	}
	for ctx.Err() == nil { // the leader changes now and then
		idle(t, 700*time.Millisecond)
		if leader, _ := leaderOf(t, nodes...); leader != nil {
			_ = leader.HandOver(soon(t))
		}
	}
	wg.Wait()
	t.Logf("%d commands acknowledged, %d looked for at another peer", acked.Load(), checked.Load())
	if checked.Load() == 0 {
		t.Error("nothing was checked")
	}
}

// TestCloseDoesNotWaitForAPeerThatIsSilent promises that a member ends at once although a message of Raft's to another is
// on its way and stays unanswered, as after a link was cut: whoever stops it kills it after some seconds.
func TestCloseDoesNotWaitForAPeerThatIsSilent(t *testing.T) {
	nodes, rs := relayedThree(t, nil)
	leader, rest := leaderOf(t, nodes...)
	silent := rest[0].cfg.NodeID
	rs.set(func(p packet) fate {
		if p.raft && (p.from == silent || p.to == silent) {
			return hold
		}
		return pass
	})
	propose(t, leader, "not heard by one")
	eventually(t, "something is on its way", func() bool {
		return rs.count(hold, packet{from: leader.cfg.NodeID, to: silent, raft: true}) > 1
	})
	began := time.Now()
	if err := leader.Close(); err != nil {
		t.Error(err)
	}
	took := time.Since(began)
	t.Logf("closed in %v", took.Round(time.Millisecond))
	if took > 5*time.Second {
		t.Errorf("closed only after %v", took)
	}
}
