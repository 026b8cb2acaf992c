package cluster

import (
	"os"
	"slices"
	"testing"
	"time"

	"namesrv/cluster/clusterpb"
)

// TestWipedVoterDoesNotVote promises that a voter which lost its directory elects nobody, under its old id and its old
// command line: together with a peer that lacks what was acknowledged it would make that one the leader.
func TestWipedVoterDoesNotVote(t *testing.T) {
	nodes := three(t)
	leader, rest := leaderOf(t, nodes...)
	behind, wiped := rest[0], rest[1]
	propose(t, leader, "seen by all")
	behind.Close()
	propose(t, leader, "not seen by the one that is behind")
	leader.Close()
	wiped.Close()
	if err := os.RemoveAll(wiped.cfg.DataDir); err != nil {
		t.Fatal(err)
	}
	wiped, behind = reopen(t, wiped), reopen(t, behind)

	// Long enough for several elections of a majority, if the two were one.
	for end := time.Now().Add(6 * LAN.Election); time.Now().Before(end); idle(t, 20*time.Millisecond) {
		for _, n := range []*testNode{wiped, behind} {
			if st := n.Status(); st.State == "Leader" {
				t.Fatalf("%s leads in term %d with the vote of a peer that has lost everything", st.ID, st.Term)
			}
		}
	}
	if term := behind.Status().Term; term == 0 {
		t.Fatal("the peer that is behind did not even start")
	}
	leader = reopen(t, leader)
	for _, n := range []*testNode{leader, behind} {
		if _, err := n.Confirm(soon(t)); err != nil {
			t.Fatal(err)
		}
		if all := n.machine.all(); !slices.Contains(all, "not seen by the one that is behind") {
			t.Errorf("%s lost an acknowledged command: %q", n.cfg.NodeID, all)
		}
	}
}

// TestUnadmittedDirectoryTakesNoRaftConnection is the same at the door: whoever greets an empty directory as the member
// that it replaced, or as the one that it is, is not let in to Raft.
func TestUnadmittedDirectoryTakesNoRaftConnection(t *testing.T) {
	cfg, tn := testConfig(t, "n1", listen(t))
	open(t, cfg, tn)
	for name, to := range map[string]string{"the member before": "n1-00000000", "itself": tn.MemberID(), "nobody": ""} {
		reply, _, err := greetWith(t, tn, connRaft, &clusterpb.Hello{Version: peerProtocol, Uuid: "some-cluster", To: to, From: "n2-1"})
		if err != nil || reply.Error == "" {
			t.Errorf("greeted as %s it let Raft in (%v)", name, err)
		}
	}
}
