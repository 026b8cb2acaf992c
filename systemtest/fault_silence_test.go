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
	onlyLong(t)  // a leader must stay for longer than a broker's time
	t.Parallel() // most of it is waiting
	c := startCluster(t)
	_, followers := leaderOf(t, c)
	brokers := lab.NewBrokers("one", 1, shortTimeout)
	conn := dial(t, followers[0].Client)
	renew := func() {
		if err := refusal(conn.Call(within(t, 5*time.Second), brokers[0].Frame())); err != nil {
			t.Error(err)
		}
	}
	renew()
	for _, n := range c.Nodes {
		shows(t, n, 5*time.Second, brokers...)
	}
	seen := watch(t, brokers, c.Clients()...)
	var last time.Time
	tick := time.NewTicker(3 * time.Second)
	defer tick.Stop()
	end, calm, term := time.Now().Add(lasting(40*time.Second, 10*time.Minute)), time.Now(), termOf(t, c)
	for ; time.Now().Before(end) || time.Since(calm) < newLeaderGrace; <-tick.C {
		last = time.Now()
		renew()
		if now := termOf(t, c); now != term { // a new leader gives everybody more time
			term, calm = now, time.Now()
		}
		if time.Since(end) > 5*time.Minute {
			t.Skip("this machine is too busy for a group to keep its leader for half a minute")
		}
	}
	answered := time.Now()
	seen()
	gone := goneFrom(t, c, brokers[0], shortTimeout+scanEvery+newLeaderGrace+20*time.Second)
	if now := termOf(t, c); now != term {
		t.Skipf("the leader changed while the broker was silent (term %v, then %v), which gives it more time", term, now)
	}
	for i, at := range gone {
		t.Logf("gone from %s %v after the last renewal", c.Nodes[i].ID, at.Sub(last).Round(time.Millisecond))
		if at.Before(last.Add(shortTimeout)) {
			t.Errorf("gone from %s %v after the last renewal, earlier than its timeout", c.Nodes[i].ID, at.Sub(last))
		}
		if limit := shortTimeout + scanEvery + 2*time.Second; at.Sub(answered) > limit {
			t.Errorf("gone from %s only after %v, want within %v", c.Nodes[i].ID, at.Sub(answered), limit)
		}
	}
}

// newLeaderGrace is what a new leader adds to every broker's timeout.
const newLeaderGrace = 30 * time.Second

// termOf is the newest term that a peer knows: it grows with every election.
func termOf(t *testing.T, c *systemtest.Cluster) (term float64) {
	t.Helper()
	for _, n := range c.Nodes {
		now, err := n.Metric(t.Context(), systemtest.MetricTerm)
		if err != nil {
			t.Fatal(err)
		}
		term = max(term, now)
	}
	return term
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

// TestConnectionsCut promises that a broker lives as long as one connection of it does, and is gone at once when the
// last one ended, also when it shared its connections with another.
func TestConnectionsCut(t *testing.T) {
	t.Parallel() // most of it is waiting
	c := startCluster(t)
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
	waitFor(t, lasting(5*time.Second, time.Minute)) // the peers are old enough then to know all that they could know
	seen()
	if !long() {
		return // young peers may have connections that they do not know of; nothing is removed at once
	}
	for _, conn := range conns {
		conn.Close()
	}
	began := time.Now()
	for _, b := range brokers {
		for i, at := range goneFrom(t, c, b, 30*time.Second) {
			t.Logf("%s gone from %s after %v", b.Broker, c.Nodes[i].ID, at.Sub(began).Round(time.Millisecond))
			if at.Sub(began) > 1500*time.Millisecond {
				t.Errorf("%s gone from %s only after %v, want 1.5 s", b.Broker, c.Nodes[i].ID, at.Sub(began))
			}
		}
	}
}

// TestPeersRestartedOneByOne promises that restarts of all peers, quicker than brokers renew, remove none of them: the
// end of a peer is not the end of a broker's connection.
func TestPeersRestartedOneByOne(t *testing.T) {
	t.Parallel() // most of it is waiting
	c := startCluster(t)
	brokers := lab.NewBrokers("restarts", 12, 2*time.Minute)
	fleet(t, c, brokers, 30*time.Second, c.Clients()...)
	seen := watch(t, brokers, c.Clients()...)
	waitFor(t, lasting(0, 65*time.Second)) // old enough to remove at once what they know to be closed
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
	t.Parallel() // most of it is waiting
	c := startCluster(t)
	waitFor(t, lasting(0, 65*time.Second))
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
	t.Parallel() // most of it is waiting
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
