package systemtest_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"namesrv/internal/rocketmq"
	"namesrv/systemtest"
	"namesrv/systemtest/chaos/lab"
)

const (
	stopsServing = 5 * time.Second // how long a peer may go on answering after it was removed
	lastRefusals = 5               // how many questions it may refuse meanwhile: it should end connections instead
)

// TestAllPeersReplacedUnderLoad promises that every peer of a group can be replaced by one with another id, other addresses
// and an empty disk, one after another, while brokers renew, clients ask and writers write at names that stay: nobody is
// told anything wrong, nothing acknowledged is lost, a newcomer has everything before any broker came to it, and a peer
// that was removed stops serving instead of answering from what it last knew.
func TestAllPeersReplacedUnderLoad(t *testing.T) {
	c := startCluster(t)
	nodes := slices.Clone(c.Nodes)
	var relays []*relay
	var names []string
	for _, n := range nodes {
		r := newRelay(t, n.Client)
		relays, names = append(relays, r), append(names, r.addr)
	}
	brokers := lab.NewBrokers("replaced", 12, 2*time.Minute)
	fleet(t, c, brokers, time.Second, names...)
	seen := watch(t, brokers, names...)
	routes := startPoller(t, brokers[0].Topics[0], brokers[0].Addr, true, names...)
	ctx, cancel := context.WithCancel(t.Context())
	w := startWriters(ctx, 2, names...)
	defer func() { cancel(); w.close() }()

	for i, r := range relays {
		at, gone := nodes[(i+1)%len(nodes)], nodes[i]
		fresh := newNode(t, "n"+strconv.Itoa(i+4), "--bootstrap-expect", "0")
		if err := fresh.Launch(); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		join(t, at, fresh)
		hasAll(t, fresh, brokers)
		joined := time.Since(began)
		r.point(fresh.Client) // whoever comes to this name from now on
		took := removedStopsServing(t, at, gone, brokers[0])
		t.Logf("%s voted and had everything after %v; %s ended its clients' connections %v after it was removed",
			fresh.ID, joined.Round(time.Millisecond), gone.ID, took.Round(time.Millisecond))
		nodes[i] = fresh
	}
	cancel()
	w.wg.Wait()
	t.Logf("%d acknowledged writes, %d of them read at another peer, %d stale", len(w.acks), w.reads, len(w.stale))
	for _, s := range w.stale {
		t.Errorf("a stale read: %s", s)
	}
	for _, n := range nodes {
		w.check(t, n)
		hasAll(t, n, brokers)
	}
	routes.noneFailed(t, "while all peers were replaced")
	seen()
}

// hasAll asks a peer once for the route of each topic.
func hasAll(t *testing.T, n *systemtest.Node, brokers []rocketmq.Registration) {
	t.Helper()
	for _, b := range brokers {
		for _, topic := range b.Topics {
			answer := ask(t, n.Client, rocketmq.RouteOf(topic, 513))
			if err := has(answer.Body, `"`+b.Addr+`"`); err != nil {
				t.Errorf("route of %s at %s: code %d: %v", topic, n.ID, answer.Code, err)
			}
		}
	}
}

// removedStopsServing removes a peer that a client is connected to and asks it all the time. It returns how long after the
// removal the connection ended.
func removedStopsServing(t *testing.T, at, gone *systemtest.Node, b rocketmq.Registration) time.Duration {
	t.Helper()
	conn := dial(t, gone.Client)
	asked := make(chan error, 1)
	var answers, refused atomic.Int64
	go func() {
		tick := time.NewTicker(lookEvery)
		defer tick.Stop()
		for {
			answer, err := conn.Call(t.Context(), rocketmq.RouteOf(b.Topics[0], 513))
			if err != nil { // the connection ended
				asked <- nil
				return
			}
			answers.Add(1)
			if answer.Code == rocketmq.SystemError || answer.Code == goAway {
				refused.Add(1)
			} else if has(answer.Body, `"`+b.Addr+`"`) != nil {
				asked <- fmt.Errorf("code %d %s: %.200s", answer.Code, answer.Remark, answer.Body)
				return
			}
			<-tick.C
		}
	}()
	mustCommand(t, at, "cluster", "remove", gone.ID)
	removed := time.Now()
	select {
	case err := <-asked:
		if err != nil {
			t.Errorf("%s, which was removed, answered: %v", gone.ID, err)
		}
	case <-time.After(stopsServing):
		t.Errorf("%s goes on serving %v after it was removed", gone.ID, stopsServing)
	}
	took := time.Since(removed)
	if answers.Load() == 0 || refused.Load() > lastRefusals {
		t.Errorf("of %d questions %s refused %d", answers.Load(), gone.ID, refused.Load())
	}
	endsRemoved(t, gone)
	return took
}
