package cluster

import (
	"testing"

	"github.com/hashicorp/raft"
	"github.com/prometheus/client_golang/prometheus"
)

// gathered returns the values of one node's metrics; those of a histogram are the
// numbers of what was measured, and labelled ones are named NAME LABEL.
func gathered(t *testing.T, n *testNode) map[string]float64 {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(n.Collectors()...)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	values := make(map[string]float64)
	for _, family := range families {
		for _, m := range family.Metric {
			name := family.GetName()
			for _, label := range m.Label {
				name += " " + label.GetValue()
			}
			values[name] = m.GetGauge().GetValue() + m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	return values
}

func TestMetricsBelongToTheirNode(t *testing.T) {
	nodes := three(t)
	leader, followers := leaderOf(t, nodes...)
	follower := followers[0]
	before, beforeAtLeader := gathered(t, follower), gathered(t, leader)
	propose(t, follower, "a")
	if _, err := follower.Confirm(soon(t)); err != nil {
		t.Fatal(err)
	}
	after, afterAtLeader := gathered(t, follower), gathered(t, leader)
	moved := func(name string) (float64, float64) {
		return after[name] - before[name], afterAtLeader[name] - beforeAtLeader[name]
	}
	for name, want := range map[string][2]float64{ // at the follower, at the leader
		"namesrv_forwarded_commands_total": {1, 0},
		"namesrv_proposals_total done":     {1, 0},
		"namesrv_proposal_seconds":         {1, 0},
		"namesrv_raft_elections_total":     {0, 0},
	} {
		if here, there := moved(name); here != want[0] || there != want[1] {
			t.Errorf("%s moved by %v at the follower and %v at the leader, want %v", name, here, there, want)
		}
	}
	for _, name := range []string{"namesrv_confirm_questions_total follower", "namesrv_confirm_round_seconds follower", "namesrv_log_write_seconds append", "namesrv_apply_seconds"} {
		if here, _ := moved(name); here < 1 {
			t.Errorf("%s did not move at the follower", name)
		}
	}
	for name, want := range map[string]float64{
		"namesrv_raft_is_leader": 0, "namesrv_raft_has_leader": 1, "namesrv_raft_voters": 3, "namesrv_raft_members": 3, "namesrv_raft_apply_lag": 0, "namesrv_linearizable": 1,
	} {
		if after[name] != want {
			t.Errorf("%s is %v at the follower, want %v", name, after[name], want)
		}
	}
	if afterAtLeader["namesrv_raft_leader_changes_total"] < 1 || afterAtLeader["namesrv_raft_elections_total"] < 1 || after["namesrv_raft_log_file_bytes"] == 0 {
		t.Errorf("at the leader: %v", afterAtLeader)
	}
}

func TestMetricsOfAFailedProposal(t *testing.T) {
	n := single(t)
	if _, err := n.Propose(soon(t), make([]byte, MaxCommand+1)); err == nil {
		t.Fatal("a command that is too large was taken")
	}
	got := gathered(t, n)
	if got["namesrv_proposals_total too_large"] != 1 || got["namesrv_proposals_total done"] != 0 {
		t.Errorf("%v", got)
	}
}

// TestLeaderChangesAreThoseOfAnotherLeader: a leader that is heard again is the same one.
func TestLeaderChangesAreThoseOfAnotherLeader(t *testing.T) {
	c := newCounters()
	for _, id := range []raft.ServerID{"n1", "", "n1", "n2", "", "n1", ""} {
		c.observe(&raft.Observation{Data: raft.LeaderObservation{LeaderID: id}})
	}
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(c.leaders)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	if got := families[0].Metric[0].GetCounter().GetValue(); got != 3 {
		t.Errorf("%v leaders counted, want 3", got)
	}
}
