package cluster

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// counters are what a Node counts for its metrics.
type counters struct {
	forwarded     atomic.Uint64
	leaderChanges atomic.Uint64
}

// Collectors returns this node's metrics, for the caller's own registry.
func (n *Node) Collectors() []prometheus.Collector {
	gauge := func(name, help string, value func() float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: "namesrv", Name: name, Help: help}, value)
	}
	counter := func(name, help string, value func() float64) prometheus.Collector {
		return prometheus.NewCounterFunc(prometheus.CounterOpts{Namespace: "namesrv", Name: name, Help: help}, value)
	}
	return []prometheus.Collector{
		gauge("raft_term", "Current Raft term.", func() float64 { return float64(n.Status().Term) }),
		gauge("raft_last_log_index", "Index of the last entry in this peer's log.", func() float64 { return float64(n.Status().LastIndex) }),
		gauge("raft_commit_index", "Index of the last entry known to be committed.", func() float64 { return float64(n.Status().Commit) }),
		gauge("raft_applied_index", "Index of the last entry this peer's tables show.", func() float64 { return float64(n.applied.get()) }),
		gauge("raft_is_leader", "1 while this peer leads, else 0.", func() float64 { return asFloat(n.Leads()) }),
		gauge("raft_voters", "Voting members of the newest configuration.", func() float64 { return float64(n.Status().Voters) }),
		gauge("linearizable", "1 while a leader can be reached, else 0: answers then come from the last known state.", func() float64 { return asFloat(n.Status().Linearizable) }),
		counter("raft_leadership_changes_total", "Times this peer gained or lost leadership.", func() float64 { return float64(n.stats.leaderChanges.Load()) }),
		counter("forwarded_commands_total", "Commands that this peer handed to the leader.", func() float64 { return float64(n.stats.forwarded.Load()) }),
	}
}

func asFloat(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
