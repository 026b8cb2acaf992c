package cluster

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
	"google.golang.org/protobuf/proto"

	"namesrv/cluster/clusterpb"
)

// cut removes a member by Raft's own means: nobody tells it.
func cut(t *testing.T, member *testNode, nodes ...*testNode) {
	t.Helper()
	eventually(t, "a leader removes it", func() bool {
		for _, n := range nodes {
			if n != member && n.Leads() && n.raft().RemoveServer(raft.ServerID(member.MemberID()), 0, 5*time.Second).Error() == nil {
				return true
			}
		}
		return false
	})
}

func wantRemoved(t *testing.T, n *testNode) {
	t.Helper()
	select {
	case err := <-n.fatal:
		if !errors.Is(err, ErrRemoved) || !strings.Contains(err.Error(), "namesrv cluster join "+n.cfg.NodeID) {
			t.Errorf("ended with %v, want ErrRemoved and the way out", err)
		}
	case <-time.After(15 * time.Second):
		t.Fatal("it did not notice that it was removed")
	}
	if _, err := n.Confirm(soon(t)); !errors.Is(err, ErrRemoved) {
		t.Errorf("Confirm: %v, want ErrRemoved", err)
	}
	if _, err := n.Propose(soon(t), []byte("x")); !errors.Is(err, ErrRemoved) {
		t.Errorf("Propose: %v, want ErrRemoved", err)
	}
	if n.EverConfirmed() || n.Confirmed() {
		t.Error("a removed member would still show its tables")
	}
	n.Close()
	cfg, _ := testConfig(t, n.cfg.NodeID, listen(t))
	cfg.DataDir, cfg.Expect, cfg.Join = n.cfg.DataDir, n.cfg.Expect, n.cfg.Join
	cfg.Join = append(cfg.Join[:0:0], cfg.Join...)
	cfg.Advertise = n.cfg.Advertise
	if _, err := Open(cfg); !errors.Is(err, ErrRemoved) || !strings.Contains(err.Error(), "empty the directory") {
		t.Errorf("started again: %v, want ErrRemoved and the way out", err)
	}
}

func TestRemovedWhileRunning(t *testing.T) {
	nodes := three(t)
	leader, rest := leaderOf(t, nodes...)
	propose(t, leader, "a")
	if _, err := rest[0].Confirm(soon(t)); err != nil {
		t.Fatal(err)
	}
	cut(t, rest[0], nodes...)
	wantRemoved(t, rest[0])
	propose(t, rest[1], "b")
	if diff := cmp.Diff([]string{"init", "a"}, rest[0].machine.all()); diff != "" {
		t.Errorf("the removed one: %s", diff)
	}
}

func TestRemovedWhileStopped(t *testing.T) {
	nodes := three(t)
	_, rest := leaderOf(t, nodes...)
	eventually(t, "it was written down that it is a member", func() bool { return peek(rest[0].cfg.DataDir).Since > 0 })
	rest[0].Close()
	cut(t, rest[0], nodes...)
	wantRemoved(t, reopen(t, rest[0]))
}

// TestRemovedIsTold promises that a member believes another one that shows it a newer configuration without it, while
// it still hears its leader, and nothing else.
func TestRemovedIsTold(t *testing.T) {
	nodes := three(t)
	leader, rest := leaderOf(t, nodes...)
	eventually(t, "it knows that it is a member", func() bool { return rest[0].Node.machine.view().group.since > 0 })
	g := rest[0].Node.machine.view().group
	tell := func(index uint64, members ...string) {
		t.Helper()
		raw, err := proto.Marshal(&clusterpb.StatusReply{ConfigurationIndex: index, Members: members})
		if err != nil {
			t.Fatal(err)
		}
		if a, err := leader.peers.call(soon(t), rest[0].MemberID(), rest[0].cfg.Advertise, msgRemoved, raw); err != nil || a.status != statusOK {
			t.Fatalf("told: %d %q, %v", a.status, a.payload, err)
		}
	}
	tell(g.since, leader.MemberID())
	tell(g.index+1, leader.MemberID(), rest[0].MemberID())
	if len(rest[0].toldRemoved) > 0 || rest[0].removed.Load() {
		t.Error("it believes an older configuration, or one that has it")
	}
	tell(g.index+1, leader.MemberID())
	wantRemoved(t, rest[0])
}

// TestWaitingEndsWithRemoval promises that nobody who waits for a leader waits on at a removed member.
func TestWaitingEndsWithRemoval(t *testing.T) {
	r := newReach(t.Context(), hclog.NewNullLogger(), func(context.Context) error { return ErrNoLeader })
	close(r.left)
	if err := r.await(soon(t), 0); !errors.Is(err, ErrRemoved) {
		t.Errorf("%v, want ErrRemoved", err)
	}
}

func TestUnreachableIsNotRemoved(t *testing.T) {
	nodes := three(t)
	eventually(t, "it was written down that it is a member", func() bool { return peek(nodes[2].cfg.DataDir).Since > 0 })
	nodes[0].Close()
	nodes[1].Close()
	eventually(t, "nobody answers", func() bool { _, err := nodes[2].Confirm(soon(t)); return errors.Is(err, ErrNoLeader) })
	if n := nodes[2].askWhetherRemoved(nodes[2].Node.machine.view().group); n != 0 {
		t.Errorf("takes silence for entry %d", n)
	}
	reopen(t, nodes[0])
	eventually(t, "it serves again", func() bool { _, err := nodes[2].Confirm(soon(t)); return err == nil })
	select {
	case err := <-nodes[2].fatal:
		t.Errorf("ended: %v", err)
	default:
	}
}

func TestMembershipTellsRemovedFromNew(t *testing.T) {
	conf := func(ids ...string) (c raft.Configuration) {
		for _, id := range ids {
			c.Servers = append(c.Servers, raft.Server{ID: raft.ServerID(id), Address: raft.ServerAddress(id + ":1")})
		}
		return c
	}
	var g membership
	for _, step := range []struct {
		index uint64
		conf  raft.Configuration
		gone  bool
	}{
		{1, conf("a"), false}, // a newcomer replays what was before it
		{5, conf("a", "b"), false},
		{9, conf("a", "b", "self"), false},
		{12, conf("a", "self"), false},
		{20, conf("a"), true},
	} {
		g.follow(step.index, step.conf, "self")
		if g.without("self") != step.gone {
			t.Errorf("after entry %d: removed is %v", step.index, g.without("self"))
		}
	}
	if g.since != 9 {
		t.Errorf("a member since entry %d, want 9", g.since)
	}
}

func TestMembershipInSnapshots(t *testing.T) {
	g := membership{index: 7, since: 3}
	g.conf.Servers = []raft.Server{{ID: "a-1", Address: "a:1"}, {Suffrage: raft.Nonvoter, ID: "b-2", Address: "b:1"}}
	g.replace("b-2", "a-1")
	st := new(clusterpb.State)
	g.store(st)
	again := membership{since: 3}
	again.restore(st, "a-1")
	if diff := cmp.Diff(g, again, cmp.AllowUnexported(membership{})); diff != "" {
		t.Error(diff)
	}
	var other membership
	other.restore(st, "b-2")
	if other.since != 7 {
		t.Errorf("since %d, want 7: the snapshot's configuration holds it", other.since)
	}
}
