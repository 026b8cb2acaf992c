package cluster

import (
	"math"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
)

// look is what the gauges of one scrape are read from.
type look struct {
	Status
	leads   bool
	pending float64 // batches of entries
}

func (n *Node) look() look {
	l := look{Status: n.Status(), leads: n.Leads()}
	if r := n.raft(); r != nil {
		l.pending, _ = strconv.ParseFloat(r.Stats()["fsm_pending"], 64) // always a number; only Stats tells it
	}
	return l
}

// contact is in seconds; NaN, which no alert takes for a number, before the first time.
func (l *look) contact() float64 {
	if l.LastContact < 0 {
		return math.NaN()
	}
	return l.LastContact.Seconds()
}

// gauges are collected together, so that all of a scrape tell of the same moment.
type gauges struct {
	look func() look
	list []gauge
}

type gauge struct {
	desc  *prometheus.Desc
	value func(l *look) float64
}

func newGauges(take func() look) *gauges {
	g := &gauges{look: take}
	add := func(name, help string, value func(l *look) float64) {
		desc := prometheus.NewDesc(prometheus.BuildFQName(metricsNamespace, "", name), help, nil, nil)
		g.list = append(g.list, gauge{desc: desc, value: value})
	}
	add("raft_term", "Current Raft term.", func(l *look) float64 { return float64(l.Term) })
	add("raft_last_log_index", "Index of the last entry in this peer's log.", func(l *look) float64 { return float64(l.LastIndex) })
	add("raft_commit_index", "Index of the last entry known to be committed.", func(l *look) float64 { return float64(l.Commit) })
	add("raft_applied_index", "Index of the last entry this peer's tables show.", func(l *look) float64 { return float64(l.Applied) })
	add("raft_apply_lag", "Committed entries that this peer's tables do not show yet.", func(l *look) float64 { return float64(l.Commit - min(l.Applied, l.Commit)) })
	add("raft_apply_queue", "Batches of committed entries that wait to be applied.", func(l *look) float64 { return l.pending })
	add("raft_snapshot_index", "Index of the last entry in this peer's newest snapshot.", func(l *look) float64 { return float64(l.Snapshot) })
	add("raft_log_file_bytes", "Size of the Raft log file.", func(l *look) float64 { return float64(l.LogBytes) })
	add("raft_last_contact_seconds", "Time since this peer last heard from the leader; 0 at the leader, NaN before the first time.", func(l *look) float64 { return l.contact() })
	add("raft_is_leader", "1 while this peer leads, else 0.", func(l *look) float64 { return asFloat(l.leads) })
	add("raft_has_leader", "1 while this peer knows a leader, else 0.", func(l *look) float64 { return asFloat(l.Leader != "") })
	add("raft_members", "Members of the newest configuration, with and without a vote.", func(l *look) float64 { return float64(l.Members) })
	add("raft_voters", "Voting members of the newest configuration.", func(l *look) float64 { return float64(l.Voters) })
	add("feature_level", "Feature level of the group: log entries that need a higher one are refused.", func(l *look) float64 { return float64(l.FeatureLevel) })
	add("linearizable", "1 while a leader can be reached, else 0: answers then come from the last known state.", func(l *look) float64 { return asFloat(l.Linearizable) })
	return g
}

// Describe implements prometheus.Collector.
func (g *gauges) Describe(out chan<- *prometheus.Desc) {
	for _, m := range g.list {
		out <- m.desc
	}
}

// Collect implements prometheus.Collector.
func (g *gauges) Collect(out chan<- prometheus.Metric) {
	l := g.look()
	for _, m := range g.list {
		out <- prometheus.MustNewConstMetric(m.desc, prometheus.GaugeValue, m.value(&l))
	}
}

func asFloat(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
