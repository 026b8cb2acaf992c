package systemtest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"namesrv/internal/rocketmq"
	"namesrv/systemtest"
	"namesrv/systemtest/chaos/lab"
)

// must sends a request over a connection and fails the test when it does not succeed.
func must(t *testing.T, conn *rocketmq.Conn, f *rocketmq.Frame) {
	t.Helper()
	if err := refusal(conn.Call(within(t, 10*time.Second), f)); err != nil {
		t.Fatalf("request %d: %v", f.Code, err)
	}
}

// dialEach opens a connection to every peer.
func dialEach(t *testing.T, c *systemtest.Cluster) (conns []*rocketmq.Conn) {
	t.Helper()
	for _, n := range c.Nodes {
		conns = append(conns, dial(t, n.Client))
	}
	return conns
}

// TestHeldUnregistration promises that an unregistration which comes late, after the broker has registered again, does
// nothing, at whatever peer and over whatever connection it comes, with an absence in between or without. Brokers send
// it to all servers, one after the other, with seconds in between where one does not answer.
func TestHeldUnregistration(t *testing.T) {
	c := startCluster(t)
	for i, absence := range []bool{true, false} {
		t.Run(fmt.Sprintf("absence %v", absence), func(t *testing.T) {
			b := lab.NewBrokers(fmt.Sprintf("held%d", i), 1, 2*time.Minute)[0]
			old := dialEach(t, c)
			for range 2 { // the first time at each peer is a birth; once more, and all have seen the last
				for _, conn := range old {
					must(t, conn, b.Frame())
				}
			}
			if absence {
				must(t, old[0], b.Unregister())
				goneFrom(t, c, b, 5*time.Second)
			}
			fresh := dial(t, c.Nodes[0].Client)
			must(t, fresh, b.Frame()) // the broker is back
			for _, n := range c.Nodes {
				shows(t, n, 5*time.Second, b)
			}
			seen := watch(t, []rocketmq.Registration{b}, c.Clients()...)
			must(t, old[1], b.Unregister()) // the copies that were held
			must(t, old[2], b.Unregister())
			waitFor(t, time.Second)
			seen()
			must(t, fresh, b.Unregister()) // that one is meant
			goneFrom(t, c, b, 5*time.Second)
		})
	}
}

// TestHeldUnregistrationOverANewConnection promises the same of an unregistration that is the first request of its
// connection: it means nothing that was born after the connection was accepted, however late it comes.
func TestHeldUnregistrationOverANewConnection(t *testing.T) {
	c := startCluster(t)
	b := lab.NewBrokers("heldnew", 1, 2*time.Minute)[0]
	must(t, dial(t, c.Nodes[0].Client), b.Frame())
	var opened []*rocketmq.Conn
	for _, n := range c.Nodes {
		shows(t, n, 5*time.Second, b)
		opened = append(opened, dial(t, n.Client)) // by the broker that stops
	}
	waitFor(t, 200*time.Millisecond)               // they are accepted
	must(t, dial(t, c.Nodes[1].Client), b.Frame()) // by the broker that is back
	for _, n := range c.Nodes {
		shows(t, n, 5*time.Second, b)
	}
	seen := watch(t, []rocketmq.Registration{b}, c.Clients()...)
	for _, conn := range opened {
		must(t, conn, b.Unregister())
	}
	waitFor(t, time.Second)
	seen()
}

// TestUnregistrationNamesItsBroker promises that an unregistration removes a broker only under the id and the address
// that it has now: one that was master before does not take its successor with it.
func TestUnregistrationNamesItsBroker(t *testing.T) {
	c := startCluster(t)
	conn := dial(t, c.Nodes[0].Client)
	first := lab.NewBrokers("demoted", 1, 2*time.Minute)[0]
	second := first
	second.Addr, second.Counter = "10.9.200.2:10911", 2
	must(t, conn, first.Frame())
	must(t, conn, second.Frame()) // takes over
	must(t, conn, first.Unregister())
	slave := second
	slave.ID = 1
	must(t, conn, slave.Unregister())
	waitFor(t, 500*time.Millisecond)
	for _, n := range c.Nodes {
		if err := has(ask(t, n.Client, rocketmq.RouteOf(first.Topics[0], 513)).Body, `"`+second.Addr+`"`); err != nil {
			t.Errorf("%s: %v", n.ID, err)
		}
	}
}

// TestBrokerAtANewAddress promises that a broker which comes back under another address is there at once, and that the
// end of its old address later takes nothing with it.
func TestBrokerAtANewAddress(t *testing.T) {
	mostlyWaits(t)
	c := startCluster(t)
	before := lab.NewBrokers("readdressed", 1, shortTimeout)[0]
	after := before
	after.Addr, after.Counter = "10.9.201.77:10911", 2
	old := dial(t, c.Nodes[0].Client) // silent from now on, and open
	must(t, old, before.Frame())
	conn := dial(t, c.Nodes[1].Client)
	must(t, conn, after.Frame())
	for _, n := range c.Nodes {
		shows(t, n, time.Second, after)
	}
	seen := watch(t, []rocketmq.Registration{after}, c.Clients()...)
	tick := time.NewTicker(2 * time.Second)
	defer tick.Stop()
	for end := time.Now().Add(shortTimeout + scanEvery + 2*time.Second); time.Now().Before(end); <-tick.C {
		must(t, conn, after.Frame())
	}
	seen()
	for _, n := range c.Nodes {
		body := ask(t, n.Client, rocketmq.RouteOf(after.Topics[0], 513)).Body
		if err := has(body, `"perm":6`); err != nil {
			t.Errorf("%s: %v", n.ID, err)
		}
		if err := lacks(body, before.Addr); err != nil {
			t.Errorf("%s: %v", n.ID, err)
		}
	}
}

// TestRestartedPeerDeniesNothing promises that a peer which comes back says of no topic that it does not exist: its
// port opens when it has caught up, and until it can be sure every answer is an error.
func TestRestartedPeerDeniesNothing(t *testing.T) {
	c := startCluster(t)
	brokers := lab.NewBrokers("warm", 6, 2*time.Minute)
	fleet(t, c, brokers, time.Second, c.Clients()...)
	tests := []struct {
		name string
		end  func(victims ...*systemtest.Node)
		all  bool
	}{
		{"one killed", func(v ...*systemtest.Node) { v[1].Kill() }, false},
		{"one stopped", func(v ...*systemtest.Node) { v[1].Stop() }, false},
		{"all killed", func(v ...*systemtest.Node) { c.Kill() }, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			seen := watch(t, brokers, c.Clients()...)
			tt.end(c.Nodes...)
			for i, n := range c.Nodes {
				if tt.all || i == 1 {
					if err := n.Launch(); err != nil {
						t.Fatal(err)
					}
				}
			}
			ready(t, c)
			waitFor(t, time.Second)
			seen()
		})
	}
	t.Run("alone", func(t *testing.T) {
		c.Kill()
		n := c.Nodes[0]
		if err := n.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		for range 50 {
			if answer := ask(t, n.Client, rocketmq.RouteOf(brokers[0].Topics[0], 513)); answer.Code != rocketmq.SystemError {
				t.Fatalf("a peer that has reached nobody since its start answers %+v", answer)
			}
		}
	})
}

// TestRollingRestartUnderQuestions promises that no client is told that a topic does not exist, or left without an answer
// for a question that was taken, while all peers are stopped and started one after another.
func TestRollingRestartUnderQuestions(t *testing.T) {
	c := startCluster(t)
	brokers := lab.NewBrokers("rolling", 6, 2*time.Minute)
	fleet(t, c, brokers, time.Second, c.Clients()...)
	seen := watch(t, brokers, c.Clients()...)
	for _, n := range c.Nodes {
		if !n.Stop() {
			t.Errorf("%s had to be killed", n.ID)
		}
		if err := n.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		ready(t, c)
	}
	seen()
}

// TestListsWhileBrokersComeAndGo promises that every answer to 106 is whole, however many brokers come and go meanwhile:
// a broker named under a cluster has an entry with an address, and the other way round.
func TestListsWhileBrokersComeAndGo(t *testing.T) {
	c := startCluster(t)
	ctx, cancel := context.WithTimeout(t.Context(), lasting(6*time.Second, time.Minute))
	defer cancel()
	var wg sync.WaitGroup
	var changes, lists atomic.Int64
	for i, b := range lab.NewBrokers("churn", 24, 2*time.Minute) {
		conn := dial(t, c.Nodes[i%3].Client)
		wg.Go(func() {
			for turn := 0; ctx.Err() == nil; turn++ {
				f := b.Frame()
				if turn%2 == 1 {
					f = b.Unregister()
				}
				if _, err := conn.Call(ctx, f); err == nil {
					changes.Add(1)
				}
			}
		})
	}
	for _, n := range c.Nodes {
		conn := dial(t, n.Client)
		wg.Go(func() {
			for ctx.Err() == nil {
				answer, err := conn.Call(ctx, &rocketmq.Frame{Code: rocketmq.CodeClusterInfo})
				if err != nil {
					continue
				}
				lists.Add(1)
				if err := whole(answer); err != nil {
					t.Errorf("%s: %v", n.ID, err)
					return
				}
			}
		})
	}
	wg.Wait()
	t.Logf("%d lists looked at during %d changes", lists.Load(), changes.Load())
	if lists.Load() == 0 || changes.Load() == 0 {
		t.Error("nothing happened")
	}
}

// whole checks a list of brokers. Its ids are bare numbers, which package json does not take, so each entry is looked at
// as text.
func whole(answer *rocketmq.Frame) error {
	if answer.Code != rocketmq.Success {
		return fmt.Errorf("code %d: %s", answer.Code, answer.Remark)
	}
	var list struct {
		BrokerAddrTable map[string]struct {
			BrokerName  string            `json:"brokerName"`
			BrokerAddrs map[string]string `json:"brokerAddrs"`
		} `json:"brokerAddrTable"`
		ClusterAddrTable map[string][]string `json:"clusterAddrTable"`
	}
	if err := json.Unmarshal(quoteIDs(answer.Body), &list); err != nil {
		return fmt.Errorf("%w: %s", err, answer.Body)
	}
	named := map[string]bool{}
	for _, names := range list.ClusterAddrTable {
		for _, name := range names {
			named[name] = true
			if len(list.BrokerAddrTable[name].BrokerAddrs) == 0 {
				return fmt.Errorf("%s is named under a cluster and has no address: %s", name, answer.Body)
			}
		}
	}
	for name := range list.BrokerAddrTable {
		if !named[name] {
			return fmt.Errorf("%s is in no cluster: %s", name, answer.Body)
		}
	}
	return nil
}

// quoteIDs puts the bare ids of addresses into quotes: {0:"a"} becomes {"0":"a"}.
func quoteIDs(body []byte) []byte {
	var out []byte
	for i := 0; i < len(body); i++ {
		if digit(body[i]) && i > 0 && (body[i-1] == '{' || body[i-1] == ',') {
			end := i
			for digit(body[end]) {
				end++
			}
			out = append(append(append(out, '"'), body[i:end]...), '"')
			i = end
		}
		out = append(out, body[i])
	}
	return out
}

func digit(b byte) bool { return b >= '0' && b <= '9' }

// TestPeerThatStandsStill promises that a peer which is stopped holds nobody up but those connected to it: the others
// answer and take changes as before, once it is replaced if it led.
func TestPeerThatStandsStill(t *testing.T) {
	c := startCluster(t)
	brokers := lab.NewBrokers("still", 6, 2*time.Minute)
	fleet(t, c, brokers, time.Second, c.Clients()...)
	_, others := leaderOf(t, c)
	still := others[0]
	signal(t, still, syscall.SIGSTOP)
	put(t, others[1].Client, "still", "1") // the connections to it are filled and given up from here on
	seen := watch(t, brokers, clientsBut(c, still)...)
	began := time.Now()
	for i := range 50 {
		if answer, err := tryCall(t.Context(), others[1].Client, rocketmq.PutKV("fault", "still", fmt.Sprint(i)), 3*time.Second); refusal(answer, err) != nil {
			t.Errorf("put %d: %v", i, refusal(answer, err))
		}
	}
	t.Logf("50 changes in %v beside a follower that stands still", time.Since(began).Round(time.Millisecond))
	waitFor(t, lasting(2*time.Second, 30*time.Second))
	if s := seen(); s.Refused > 0 || s.Silent > 0 {
		t.Errorf("%d questions refused, %d without an answer", s.Refused, s.Silent)
	}
	signal(t, still, syscall.SIGCONT)
	ready(t, c)
	eventually(t, 5*time.Second, "the newest value at the peer that stood still", func() error {
		answer, err := tryCall(t.Context(), still.Client, rocketmq.GetKV("fault", "still"), 3*time.Second)
		if err := refusal(answer, err); err != nil {
			return err // what it reads just after its stop, it does not work on
		}
		if value := answer.Fields["value"]; value != "49" {
			t.Fatalf("the peer that stood still answers %q", value)
		}
		return nil
	})
}

// clientsBut are the client addresses of all other nodes.
func clientsBut(c *systemtest.Cluster, but *systemtest.Node) (addrs []string) {
	for _, n := range c.Nodes {
		if n != but {
			addrs = append(addrs, n.Client)
		}
	}
	return addrs
}
