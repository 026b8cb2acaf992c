package cluster

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
	"github.com/prometheus/client_golang/prometheus"
)

const metricsNamespace = "namesrv"

// Buckets of the histograms, in seconds. A round of questions and a write to the
// log take a fraction of a millisecond on a good day and are given up after a
// second and ten; applying an entry takes microseconds.
var (
	waitBuckets  = prometheus.ExponentialBuckets(100e-6, 2.5, 13) // 0.1 ms to 6 s
	applyBuckets = prometheus.ExponentialBuckets(2e-6, 4, 10)     // 2 µs to 0.5 s
)

// counters are what a Node counts and measures. They belong to the Node: Raft's
// own telemetry goes to one registry of the whole process, which several nodes
// would share, so what is of use in it is taken from Raft's observations and
// statistics instead.
type counters struct {
	leadership prometheus.Counter // this node began or ceased to lead
	leaders    prometheus.Counter // another leader than before was heard of
	lastLeader atomic.Value       // raft.ServerID, the one that was heard of last
	elections  prometheus.Counter // this node stood for election
	heartbeats prometheus.Counter // a member did not answer this leader
	forwarded  prometheus.Counter

	proposals *prometheus.CounterVec
	proposed  prometheus.Observer

	lead, follow roundCounters
	awaited      prometheus.Observer
	applied      prometheus.Observer
	written      map[string]prometheus.Observer // by what is written; not changed after newCounters

	collectors []prometheus.Collector
}

// roundCounters are those of the confirmations given as leader, or fetched from it.
type roundCounters struct {
	questions prometheus.Counter
	failures  prometheus.Counter
	took      prometheus.Observer
}

func (c roundCounters) round(r *round, took time.Duration) {
	c.questions.Add(float64(r.asked))
	c.took.Observe(took.Seconds())
	if r.err != nil {
		c.failures.Inc()
	}
}

func newCounters() *counters {
	c := &counters{written: make(map[string]prometheus.Observer)}
	c.leadership = c.counter("raft_leadership_changes_total", "Times this peer began or ceased to lead.")
	c.leaders = c.counter("raft_leader_changes_total", "Times this peer heard of another leader than before, itself included.")
	c.elections = c.counter("raft_elections_total", "Times this peer stood for election.")
	c.heartbeats = c.counter("raft_heartbeat_failures_total", "Heartbeats of this peer, as the leader, that a member did not answer.")
	c.forwarded = c.counter("forwarded_commands_total", "Commands that this peer handed to the leader.")

	c.proposals = c.counters("proposals_total", "Changes asked for at this peer, by what came of them.", "result")
	for _, result := range []string{proposalDone, proposalNoLeader, proposalUnknown, proposalTooLarge, proposalTooNew, proposalOther} {
		c.proposals.WithLabelValues(result)
	}
	c.proposed = c.histogram("proposal_seconds", "Time from a change asked for at this peer until its tables showed it.", waitBuckets)

	questions := c.counters("confirm_questions_total", "Questions whether this peer's tables are the newest, by who settled them.", "by")
	failures := c.counters("confirm_round_failures_total", "Rounds of confirmation that did not succeed.", "by")
	took := c.histograms("confirm_round_seconds", "Time of a round of confirmation, which all who asked meanwhile share.", "by", waitBuckets)
	c.lead = roundCounters{questions.WithLabelValues("leader"), failures.WithLabelValues("leader"), took.WithLabelValues("leader")}
	c.follow = roundCounters{questions.WithLabelValues("follower"), failures.WithLabelValues("follower"), took.WithLabelValues("follower")}
	c.awaited = c.histogram("apply_wait_seconds", "Time that confirmed reads waited for this peer's tables, where they had to.", waitBuckets)

	c.applied = c.histogram("apply_seconds", "Time to apply one log entry to the tables.", applyBuckets)
	written := c.histograms("log_write_seconds", "Time of one write to the Raft log file, fsync included.", "op", waitBuckets)
	for what, op := range map[string]string{writeLog: "append", writeTruncate: "truncate", writeState: "state", writeTerm: "term"} {
		c.written[what] = written.WithLabelValues(op)
	}
	return c
}

func (c *counters) counter(name, help string) prometheus.Counter {
	m := prometheus.NewCounter(prometheus.CounterOpts{Namespace: metricsNamespace, Name: name, Help: help})
	c.collectors = append(c.collectors, m)
	return m
}

func (c *counters) counters(name, help, label string) *prometheus.CounterVec {
	m := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: metricsNamespace, Name: name, Help: help}, []string{label})
	c.collectors = append(c.collectors, m)
	return m
}

func (c *counters) histogram(name, help string, buckets []float64) prometheus.Observer {
	m := prometheus.NewHistogram(prometheus.HistogramOpts{Namespace: metricsNamespace, Name: name, Help: help, Buckets: buckets})
	c.collectors = append(c.collectors, m)
	return m
}

func (c *counters) histograms(name, help, label string, buckets []float64) *prometheus.HistogramVec {
	m := prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: metricsNamespace, Name: name, Help: help, Buckets: buckets}, []string{label})
	c.collectors = append(c.collectors, m)
	return m
}

// observe counts what Raft tells of itself. It is the filter of an observer
// without a channel, runs on Raft's goroutines and never waits.
func (c *counters) observe(o *raft.Observation) bool {
	switch news := o.Data.(type) {
	case raft.LeaderObservation:
		if id := news.LeaderID; id != "" && c.lastLeader.Swap(id) != id {
			c.leaders.Inc()
		}
	case raft.RaftState:
		if news == raft.Candidate {
			c.elections.Inc()
		}
	case raft.FailedHeartbeatObservation:
		c.heartbeats.Inc()
	}
	return false
}

// What came of a proposal, as its metric tells.
const (
	proposalDone     = "done"
	proposalNoLeader = "no_leader"
	proposalUnknown  = "unknown"
	proposalTooLarge = "too_large"
	proposalTooNew   = "too_new"
	proposalOther    = "other"
)

func (c *counters) proposal(began time.Time, err error) {
	result := proposalOther
	switch {
	case err == nil:
		result = proposalDone
		c.proposed.Observe(time.Since(began).Seconds())
	case errors.Is(err, ErrUnknownOutcome):
		result = proposalUnknown
	case errors.Is(err, ErrNoLeader):
		result = proposalNoLeader
	case errors.Is(err, ErrTooLarge):
		result = proposalTooLarge
	case errors.Is(err, ErrTooNew):
		result = proposalTooNew
	}
	c.proposals.WithLabelValues(result).Inc()
}

// wrote takes the time of one write through the guard.
func (c *counters) wrote(what string, took time.Duration) {
	if m := c.written[what]; m != nil {
		m.Observe(took.Seconds())
	}
}

// Collectors returns this node's metrics, for the caller's own registry.
func (n *Node) Collectors() []prometheus.Collector {
	return append([]prometheus.Collector{newGauges(n.look)}, n.stats.collectors...)
}
