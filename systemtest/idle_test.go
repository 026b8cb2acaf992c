package systemtest_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"namesrv/internal/rocketmq"
	"namesrv/systemtest"
)

const (
	idleBrokers = 10
	idleTopics  = 50 // of each broker
	perElection = 2  // entries with which a new leader begins: Raft's, and one that shows it what it has applied
)

// TestIdleClusterLogsNothing promises that brokers that only renew what they registered cost the log nothing. By
// default they renew often for a short time; NAMESRV_LONG=1 lets them renew as real ones do, for five minutes.
func TestIdleClusterLogsNothing(t *testing.T) {
	mostlyWaits(t)
	every, lasts := 2*time.Second, 20*time.Second
	if long() {
		every, lasts = 30*time.Second, 5*time.Minute
	}
	c := startCluster(t)
	brokers := newIdleBrokers(t, c)
	brokers.renew(t) // the first time on each connection may be logged
	brokers.renew(t)

	before := logState(t, c)
	ctx, cancel := context.WithTimeout(t.Context(), lasts)
	defer cancel()
	tick := time.NewTicker(every)
	defer tick.Stop()
	rounds := 0
	for ctx.Err() == nil {
		select {
		case <-tick.C:
			brokers.renew(t)
			rounds++
		case <-ctx.Done():
		}
	}
	after := logState(t, c)
	for i, n := range c.Nodes {
		entries, elections := after[i].index-before[i].index, after[i].term-before[i].term
		t.Logf("%s: %v entries and %v elections in %d rounds", n.ID, entries, elections, rounds)
		if entries > perElection*elections {
			t.Errorf("%s: %v entries were added to the log with %v elections", n.ID, entries, elections)
		}
	}
}

// idleGroup is a number of brokers, each with a connection to each peer, as real ones have.
type idleGroup struct {
	brokers []rocketmq.Registration
	conns   [][]*rocketmq.Conn // by broker, then by peer
}

func newIdleBrokers(t *testing.T, c *systemtest.Cluster) *idleGroup {
	g := &idleGroup{}
	for i := range idleBrokers {
		r := rocketmq.Registration{Cluster: "idle", Broker: fmt.Sprintf("idle-%d", i), Addr: fmt.Sprintf("10.3.3.%d:10911", i), Counter: 7}
		for j := range idleTopics {
			r.Topics = append(r.Topics, fmt.Sprintf("idle-%d-topic-%d", i, j))
		}
		var conns []*rocketmq.Conn
		for _, n := range c.Nodes {
			conns = append(conns, dial(t, n.Client))
		}
		g.brokers, g.conns = append(g.brokers, r), append(g.conns, conns)
	}
	return g
}

// renew registers every broker at every peer at the same time.
func (g *idleGroup) renew(t *testing.T) {
	t.Helper()
	ctx := within(t, 20*time.Second)
	var wg sync.WaitGroup
	for i, r := range g.brokers {
		for _, conn := range g.conns[i] {
			wg.Go(func() {
				if answer, err := conn.Call(ctx, r.Frame()); err != nil || answer.Code != rocketmq.Success {
					t.Errorf("renewal of %s: %+v, %v", r.Broker, answer, err)
				}
			})
		}
	}
	wg.Wait()
}

type raftState struct{ index, term float64 }

func logState(t *testing.T, c *systemtest.Cluster) []raftState {
	t.Helper()
	var states []raftState
	for _, n := range c.Nodes {
		index, err := n.Metric(t.Context(), systemtest.MetricLogIndex)
		if err != nil {
			t.Fatal(err)
		}
		term, err := n.Metric(t.Context(), systemtest.MetricTerm)
		if err != nil {
			t.Fatal(err)
		}
		states = append(states, raftState{index, term})
	}
	return states
}
