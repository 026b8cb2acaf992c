package systemtest_test

import (
	"context"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"namesrv/internal/rocketmq"
	"namesrv/systemtest"
	"namesrv/systemtest/chaos/lab"
)

// TestBrokerOfOneFollower promises that a broker which reaches one follower only is a broker to all peers for as long as
// it renews, and that its silence is noticed in time, at all of them, and not too early.
func TestBrokerOfOneFollower(t *testing.T) {
	mostlyWaits(t)
	c := startCluster(t)
	_, followers := leaderOf(t, c)
	broker := lab.NewBrokers("one", 1, shortTimeout)[0]
	conn := dial(t, followers[0].Client)
	must(t, conn, broker.Frame())
	for _, n := range c.Nodes {
		shows(t, n, 5*time.Second, broker)
	}
	terms := followTerms(t, c)
	seen := watch(t, []rocketmq.Registration{broker}, c.Clients()...)
	last, answered := renewUntilCalm(t, conn, broker, terms)
	seen()
	gone := goneFrom(t, c, broker, 2*time.Minute)
	began := terms.newest()
	latest := shortTimeout + scanEvery + 2*time.Second
	if graceEnds := began.Add(newLeaderGrace); graceEnds.After(answered) {
		latest += graceEnds.Sub(answered)
		t.Logf("a busy machine: the newest leader gives the broker time until %v after the last renewal", latest.Round(time.Millisecond))
	}
	for i, at := range gone {
		t.Logf("gone from %s %v after the last renewal", c.Nodes[i].ID, at.Sub(last).Round(time.Millisecond))
		if at.Before(last.Add(shortTimeout)) {
			t.Errorf("gone from %s %v after the last renewal, earlier than its timeout", c.Nodes[i].ID, at.Sub(last))
		}
		if at.Sub(answered) > latest {
			t.Errorf("gone from %s only after %v, want within %v", c.Nodes[i].ID, at.Sub(answered), latest)
		}
	}
}

const (
	newLeaderGrace = 30 * time.Second // what a new leader adds to every broker's timeout
	calmTime       = 2 * time.Minute  // for a group on a busy machine to keep a leader for longer than that
)

// renewUntilCalm renews a broker for longer than its timeout, and on until the leader gives nobody more time because it
// is new; after calmTime it leaves it at that. It returns when the last renewal was sent, and when it was answered.
func renewUntilCalm(t *testing.T, conn *rocketmq.Conn, broker rocketmq.Registration, terms *terms) (last, answered time.Time) {
	t.Helper()
	tick := time.NewTicker(3 * time.Second)
	defer tick.Stop()
	end := time.Now().Add(lasting(shortTimeout+scanEvery+5*time.Second, 10*time.Minute))
	for {
		last = time.Now()
		must(t, conn, broker.Frame())
		answered = time.Now()
		calm := time.Since(terms.newest()) > newLeaderGrace || time.Since(end) > calmTime
		if calm && answered.After(end) {
			return last, answered
		}
		<-tick.C
	}
}

// terms follows the elections of a group.
type terms struct {
	mu    sync.Mutex // guards the fields below
	term  float64
	since time.Time // no election was seen since then
}

// followTerms looks at the peers all the time until the test ends. The term that it finds counts as new.
func followTerms(t *testing.T, c *systemtest.Cluster) *terms {
	t.Helper()
	f := &terms{since: time.Now()}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for ctx.Err() == nil {
			for _, n := range c.Nodes {
				if now, err := n.Metric(ctx, systemtest.MetricTerm); err == nil {
					f.see(now)
				}
			}
			<-tick.C
		}
	})
	t.Cleanup(func() { cancel(); wg.Wait() })
	return f
}

// see takes what a peer says: the term grows with every election.
func (f *terms) see(term float64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if term > f.term {
		f.term, f.since = term, time.Now()
	}
}

// newest is when the newest term was first seen.
func (f *terms) newest() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.since
}

// goneFrom waits until a broker is absent at every peer and says since when.
func goneFrom(t *testing.T, c *systemtest.Cluster, b rocketmq.Registration, limit time.Duration) []time.Time {
	t.Helper()
	ctx := within(t, limit)
	gone, errs := make([]time.Time, len(c.Nodes)), make([]error, len(c.Nodes))
	var wg sync.WaitGroup
	for i, n := range c.Nodes {
		wg.Go(func() { gone[i], errs[i] = lab.AwaitGone(ctx, n.Client, b) })
	}
	wg.Wait()
	for i, err := range errs {
		if err != nil {
			t.Fatalf("%s: %v", c.Nodes[i].ID, err)
		}
	}
	return gone
}

// grownUp is longer than the minute in which a peer may hold connections that it does not know of: before, no broker is
// removed at once.
const grownUp = 65 * time.Second

// TestConnectionsCut promises that a broker lives as long as one connection of it does, and is gone at once when the
// last one ended, also when it shared its connections with another.
func TestConnectionsCut(t *testing.T) {
	mostlyWaits(t)
	c := startCluster(t)
	waitFor(t, grownUp)
	for _, shared := range []int{1, 2} {
		t.Run(fmt.Sprintf("%d brokers on a connection", shared), func(t *testing.T) { cutConnections(t, c, shared) })
	}
}

func cutConnections(t *testing.T, c *systemtest.Cluster, shared int) {
	brokers := lab.NewBrokers(fmt.Sprintf("cut%d", shared), shared, 2*time.Minute)
	var conns []*rocketmq.Conn
	for _, n := range c.Nodes {
		conn := dial(t, n.Client)
		for _, b := range brokers {
			if err := refusal(conn.Call(within(t, 5*time.Second), b.Frame())); err != nil {
				t.Fatal(err)
			}
		}
		conns = append(conns, conn)
	}
	seen := watch(t, brokers, c.Clients()...)
	conns[0].Close()
	waitFor(t, lasting(scanEvery+time.Second, time.Minute))
	seen()
	for _, conn := range conns {
		conn.Close()
	}
	limit := lasting(5*time.Second, 1500*time.Millisecond) // in short, other tests run beside it
	began := time.Now()
	for _, b := range brokers {
		for i, at := range goneFrom(t, c, b, 30*time.Second) {
			t.Logf("%s gone from %s after %v", b.Broker, c.Nodes[i].ID, at.Sub(began).Round(time.Millisecond))
			if at.Sub(began) > limit {
				t.Errorf("%s gone from %s only after %v, want %v", b.Broker, c.Nodes[i].ID, at.Sub(began), limit)
			}
		}
	}
}

// TestPeersRestartedOneByOne promises that restarts of all peers, quicker than brokers renew, remove none of them: the
// end of a peer is not the end of a broker's connection.
func TestPeersRestartedOneByOne(t *testing.T) {
	mostlyWaits(t)
	c := startCluster(t)
	brokers := lab.NewBrokers("restarts", 12, 2*time.Minute)
	fleet(t, c, brokers, 30*time.Second, c.Clients()...)
	seen := watch(t, brokers, c.Clients()...)
	waitFor(t, grownUp)
	began := time.Now()
	for i, n := range c.Nodes {
		if i%2 == 0 {
			n.Kill()
		} else if !n.Stop() {
			t.Errorf("%s had to be killed", n.ID)
		}
		if err := n.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		ready(t, c)
	}
	t.Logf("three restarts in %v", time.Since(began).Round(time.Millisecond))
	waitFor(t, lasting(10*time.Second, 70*time.Second))
	seen()
}

// TestMovedConnectionKeepsTheBroker promises that a broker which opens a new connection and registers over it does not
// go when its old one ends, whichever peers they lead to.
func TestMovedConnectionKeepsTheBroker(t *testing.T) {
	mostlyWaits(t)
	c := startCluster(t)
	waitFor(t, grownUp)
	brokers := lab.NewBrokers("moved", 1, 2*time.Minute)
	conn := dial(t, c.Nodes[0].Client)
	if err := refusal(conn.Call(within(t, 5*time.Second), brokers[0].Frame())); err != nil {
		t.Fatal(err)
	}
	for _, n := range c.Nodes {
		shows(t, n, 5*time.Second, brokers...)
	}
	seen := watch(t, brokers, c.Clients()...)
	for turn := range 12 {
		next := dial(t, c.Nodes[turn%len(c.Nodes)].Client)
		if err := refusal(next.Call(within(t, 5*time.Second), brokers[0].Frame())); err != nil {
			t.Error(err)
		}
		conn.Close()
		conn = next
		waitFor(t, 300*time.Millisecond)
	}
	waitFor(t, 6*time.Second) // a scan
	seen()
}

// TestConnectionReset promises the same of a connection that is reset, not closed.
func TestConnectionReset(t *testing.T) {
	mostlyWaits(t)
	c := startCluster(t)
	brokers := lab.NewBrokers("reset", 1, 2*time.Minute)
	fleet(t, c, brokers, time.Second, c.Nodes[1].Client, c.Nodes[2].Client)
	seen := watch(t, brokers, c.Clients()...)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for range 10 {
		var d net.Dialer
		nc, err := d.DialContext(ctx, "tcp", c.Nodes[0].Client)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := exchange(nc, brokers[0].Frame()); err != nil {
			t.Error(err)
		}
		_ = nc.(*net.TCPConn).SetLinger(0) // the next line sends a reset
		nc.Close()
	}
	waitFor(t, 6*time.Second)
	seen()
}
