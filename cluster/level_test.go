package cluster

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/raft"
	"google.golang.org/protobuf/proto"

	"namesrv/cluster/clusterpb"
)

// reopenKnowing starts a node on its directory with a binary that knows a feature level.
func reopenKnowing(t *testing.T, old *testNode, knows uint32) *testNode {
	t.Helper()
	cfg, tn := knowing(t, old, knows)
	return open(t, cfg, tn)
}

func knowing(t *testing.T, old *testNode, knows uint32) (Config, *testNode) {
	t.Helper()
	l, err := net.Listen("tcp", old.cfg.Advertise)
	if err != nil {
		t.Fatal(err)
	}
	cfg, tn := testConfig(t, old.cfg.NodeID, l)
	cfg.DataDir, cfg.Single, cfg.Expect, cfg.Join = old.cfg.DataDir, old.cfg.Single, old.cfg.Expect, old.cfg.Join
	tn.machine.knows = knows
	return cfg, tn
}

func awaitLevel(t *testing.T, want uint32, nodes ...*testNode) {
	t.Helper()
	for _, n := range nodes {
		eventually(t, fmt.Sprintf("%s is at level %d", n.cfg.NodeID, want), func() bool { return n.Status().FeatureLevel == want })
	}
}

// TestRollingUpgrade promises that peers can be upgraded one after another while
// the group works: what only the newer binary knows is refused until all voters run
// it, names who holds it back, and is taken then.
func TestRollingUpgrade(t *testing.T) {
	nodes := three(t)
	for i := range nodes {
		leaderOf(t, nodes...)
		for _, n := range nodes {
			_, err := n.Propose(soon(t), []byte("level 2: x"))
			if !errors.Is(err, ErrTooNew) {
				t.Fatalf("with %d of 3 upgraded, at %s: %v, want ErrTooNew", i, n.cfg.NodeID, err)
			}
			if last := nodes[2].cfg.NodeID; !strings.Contains(err.Error(), last) {
				t.Errorf("%q does not say that %s holds it back", err, last)
			}
		}
		propose(t, nodes[i], fmt.Sprint("old ", i)) // the others go on as before
		nodes[i].Close()
		nodes[i] = reopenKnowing(t, nodes[i], 2)
		if _, err := nodes[i].Confirm(soon(t)); err != nil {
			t.Fatal(err)
		}
	}
	awaitLevel(t, 2, nodes...)
	for _, n := range nodes {
		propose(t, n, "level 2: from "+n.cfg.NodeID)
	}
	for _, n := range nodes {
		if _, err := n.Confirm(soon(t)); err != nil {
			t.Error(err)
		}
		if !slices.Contains(n.machine.all(), "level 2: from n3") {
			t.Errorf("%s applied %q", n.cfg.NodeID, n.machine.all())
		}
	}
}

// TestLevelOutlivesItsPeers promises that the level is part of the log and of its
// snapshots, and that a binary which is too old for it loses nothing: it ends, says
// why, and the next newer one goes on where the last one was.
func TestLevelOutlivesItsPeers(t *testing.T) {
	for name, snapshot := range map[string]bool{"log": false, "snapshot": true} {
		t.Run(name, func(t *testing.T) {
			n := single(t)
			n.Close()
			n = reopenKnowing(t, n, 3)
			awaitLevel(t, 3, n)
			propose(t, n, "level 3: kept")
			if snapshot {
				if err := n.raft().Snapshot().Error(); err != nil {
					t.Fatal(err)
				}
			}
			n.Close()

			cfg, tn := knowing(t, n, 2)
			old, err := Open(cfg)
			if err == nil {
				err = <-tn.fatal
				old.Close()
			}
			for _, want := range []string{"level is 3", "knows 2", "install a newer namesrv"} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the older binary ended with %q, which does not say %q", err, want)
				}
			}

			n = reopenKnowing(t, n, 4)
			awaitLevel(t, 4, n)
			if all := n.machine.all(); !slices.Contains(all, "level 3: kept") {
				t.Errorf("the newer binary shows %q", all)
			}
		})
	}
}

// TestLevelWaitsForAllFounders promises that the peer which begins a cluster does not raise the level before the others
// are in it.
func TestLevelWaitsForAllFounders(t *testing.T) {
	cfgs, nodes := founders(t)
	first := slices.Index(cfgs[0].Join, slices.Min(cfgs[0].Join)) // it begins the cluster
	for i, n := range nodes {
		n.machine.knows = []uint32{4, 2, 3}[(i-first+3)%3]
	}
	for i := range cfgs {
		open(t, cfgs[i], nodes[i])
	}
	waitFormed(t, nodes...)
	awaitLevel(t, 2, nodes...)
}

func founders(t *testing.T) (cfgs []Config, nodes []*testNode) {
	t.Helper()
	var join []string
	for i := range 3 {
		cfg, tn := testConfig(t, fmt.Sprintf("n%d", i+1), listen(t))
		cfgs, nodes, join = append(cfgs, cfg), append(nodes, tn), append(join, cfg.Advertise)
	}
	for i := range cfgs {
		cfgs[i].Expect, cfgs[i].Join = 3, join
	}
	return cfgs, nodes
}

func TestTooOldBinaryIsRefused(t *testing.T) {
	n := single(t)
	n.Close()
	n = reopenKnowing(t, n, 2)
	awaitLevel(t, 2, n)
	st := n.Status()

	t.Run("at the handshake", func(t *testing.T) {
		for knows, want := range map[uint32]string{0: "knows 1", 1: "knows 1", 2: ""} {
			reply, _, err := greetWith(t, n, connCommands, &clusterpb.Hello{Version: peerProtocol, Uuid: st.UUID, To: st.Member, From: "n9-1", Knows: knows})
			if err != nil || !strings.Contains(reply.Error, want) || (want == "") != (reply.Error == "") {
				t.Errorf("a binary that knows %d: %q, %v; want %q", knows, reply.GetError(), err, want)
			}
		}
	})
	t.Run("where it is the one that is asked", func(t *testing.T) {
		reply, _, err := greetWith(t, n, connRaft, &clusterpb.Hello{Version: peerProtocol, Uuid: st.UUID, To: st.Member, From: "n9-1", Knows: 5, Level: 3})
		if err != nil || !strings.Contains(reply.Error, "level is 3, this binary knows 2") {
			t.Errorf("%q, %v", reply.GetError(), err)
		}
	})
	t.Run("when it wants to join", func(t *testing.T) {
		cfg, tn := testConfig(t, "n2", listen(t))
		open(t, cfg, tn)
		_, err := n.Join(soon(t), JoinRequest{Node: "n2", Address: cfg.Advertise})
		if !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "install a newer namesrv") {
			t.Errorf("%v, want a refusal that says what to do", err)
		}
		if strings.Contains(err.Error(), "\n") {
			t.Errorf("more than one line: %q", err)
		}
	})
}

// TestDowngradedPeerIsKeptOut promises that a member which comes back with a binary that is too old for what was decided
// while it was away is let in by nobody, says why, disturbs nobody, and goes on with a newer one.
func TestDowngradedPeerIsKeptOut(t *testing.T) {
	nodes := three(t)
	for i := range nodes {
		nodes[i].Close()
		nodes[i] = reopenKnowing(t, nodes[i], 3-uint32(i/2)) // the last one knows 2
	}
	awaitLevel(t, 2, nodes...)
	last := nodes[2]
	last.Close()
	leader, rest := leaderOf(t, nodes[:2]...)
	st := leader.Status()
	if reply, _, err := greetWith(t, leader, connCommands, &clusterpb.Hello{Version: peerProtocol, Uuid: st.UUID, To: st.Member, From: last.MemberID(), Knows: 3, Level: 2}); err != nil || reply.Error != "" {
		t.Fatalf("%q, %v", reply.GetError(), err) // it ran a newer binary for a moment
	}
	awaitLevel(t, 3, leader, rest[0])

	last = reopenKnowing(t, last, 2)
	eventually(t, "it says why it is not ready", func() bool {
		why := last.NotReady(soon(t))
		return len(why) == 1 && strings.Contains(why[0], "install a newer namesrv")
	})
	propose(t, leader, "level 3: without it")
	if now, _ := leaderOf(t, nodes[:2]...); now != leader || now.Status().Term != st.Term {
		t.Errorf("%s leads in term %d, before it was %s in term %d", now.cfg.NodeID, now.Status().Term, leader.cfg.NodeID, st.Term)
	}
	last.Close()
	last = reopenKnowing(t, last, 3)
	if _, err := last.Confirm(soon(t)); err != nil || !slices.Contains(last.machine.all(), "level 3: without it") {
		t.Errorf("%v, %q", err, last.machine.all())
	}
}

// TestEntriesOfANewerBinary promises that an entry nobody here knows stops this
// member, unless the entry says that it may be skipped.
func TestEntriesOfANewerBinary(t *testing.T) {
	tests := []struct {
		name  string
		entry *clusterpb.Envelope
		says  string // "": it is skipped
	}{
		{"kind", &clusterpb.Envelope{Version: 1, Kind: 99}, "kind 99"},
		{"kind that may be skipped", &clusterpb.Envelope{Version: 1, Kind: 99, Ignorable: true}, ""},
		{"version", &clusterpb.Envelope{Version: 9, Kind: 1}, "version 9"},
		{"version that may be skipped", &clusterpb.Envelope{Version: 9, Kind: 1, Ignorable: true}, ""},
		{"level", &clusterpb.Envelope{Version: 1, Kind: clusterpb.Envelope_KIND_LEVEL, Payload: []byte{8, 7}}, "level is 7"},
		{"command", &clusterpb.Envelope{Version: 1, Kind: clusterpb.Envelope_KIND_APP, Payload: []byte("unknown")}, "unknown command"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var failed error
			app := new(listMachine)
			m := newMachine(app, identity{MemberID: "n1-1"}, new(applied), func(err error) { failed = err })
			apply := func(index uint64, e *clusterpb.Envelope) {
				m.Apply(&raft.Log{Index: index, Term: 1, Data: mustMarshal(t, e)})
			}
			apply(1, &clusterpb.Envelope{Version: 1, Kind: clusterpb.Envelope_KIND_APP, Payload: []byte("before")})
			apply(2, tt.entry)
			apply(3, &clusterpb.Envelope{Version: 1, Kind: clusterpb.Envelope_KIND_APP, Payload: []byte("after")})
			if tt.says == "" {
				if diff := cmp.Diff([]string{"before", "after"}, app.all()); failed != nil || diff != "" {
					t.Errorf("%v %s", failed, diff)
				}
				return
			}
			if failed == nil || !strings.Contains(failed.Error(), "log entry 2: ") || !strings.Contains(failed.Error(), tt.says) {
				t.Errorf("ended with %v, want something about entry 2 and %q", failed, tt.says)
			}
			if diff := cmp.Diff([]string{"before"}, app.all()); diff != "" || m.applied.get() != 1 {
				t.Errorf("applied up to %d: %s", m.applied.get(), diff)
			}
		})
	}
}

func mustMarshal(t *testing.T, m proto.Message) []byte {
	t.Helper()
	raw, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}
