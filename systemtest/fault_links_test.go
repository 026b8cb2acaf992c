package systemtest_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"namesrv/internal/rocketmq"
	"namesrv/systemtest"
	"namesrv/systemtest/chaos/lab"
)

// TestLinksCut promises that a peer cut off from the others, both ways or one way, as leader or not, gives no stale
// answer that it calls linearizable, commits nothing, and costs no broker.
func TestLinksCut(t *testing.T) {
	mostlyWaits(t)
	c, network := networkCluster(t, "--on-no-leader", "refuse")
	brokers := lab.NewBrokers("links", 12, shortTimeout)
	fleet(t, c, brokers, 2*time.Second, c.Clients()...)
	index := func(n *systemtest.Node) int { return slices.Index(c.Nodes, n) }
	tests := []struct {
		name   string
		leader bool
		cut    func(victim int, others []int) error
	}{
		{"leader cut off", true, func(victim int, _ []int) error { return network.Isolate(victim) }},
		{"follower cut off", false, func(victim int, _ []int) error { return network.Isolate(victim) }},
		{"leader does not hear", true, func(victim int, others []int) error { return cutAll(network, others, []int{victim}) }},
		{"leader is not heard", true, func(victim int, others []int) error { return cutAll(network, []int{victim}, others) }},
		{"follower does not hear", false, func(victim int, others []int) error { return cutAll(network, others, []int{victim}) }},
		{"follower is not heard", false, func(victim int, others []int) error { return cutAll(network, []int{victim}, others) }},
		{"one link of the leader", true, func(victim int, others []int) error { return cutAll(network, []int{victim}, others[:1]) }},
	}
	for i, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ready(t, c)
			victim, others := leaderOf(t, c)
			if !tt.leader {
				victim, others[0] = others[0], victim
			}
			seen := watch(t, brokers, c.Clients()...)
			cuts := &cutTest{c: c, victim: victim, others: others, round: i}
			cuts.run(t, func() error { return tt.cut(index(victim), []int{index(others[0]), index(others[1])}) })
			if err := network.Heal(); err != nil {
				t.Fatal(err)
			}
			ready(t, c)
			cuts.check(t)
			waitFor(t, lasting(time.Second, 15*time.Second))
			seen()
		})
	}
}

func cutAll(network *lab.Network, from, to []int) error {
	for _, f := range from {
		for _, t := range to {
			if err := network.Cut(f, t); err != nil {
				return err
			}
		}
	}
	return nil
}

// cutTest writes growing numbers at the peers that still have a quorum and reads them at the one that may not.
type cutTest struct {
	c      *systemtest.Cluster
	victim *systemtest.Node
	others []*systemtest.Node
	round  int

	mu     sync.Mutex // guards the fields below
	acked  int        // the highest number acknowledged by one of the others
	mine   []string   // values acknowledged by the victim
	reads  int
	stale  []string
	closed int // refusals of the victim
}

func (ct *cutTest) key() string { return fmt.Sprintf("cut-%d", ct.round) }

// run cuts and keeps writing and reading for a while.
func (ct *cutTest) run(t *testing.T, cut func() error) {
	t.Helper()
	put(t, ct.others[0].Client, ct.key(), "0")
	ctx, cancel := context.WithTimeout(t.Context(), lasting(3*time.Second, 20*time.Second))
	defer cancel()
	var wg sync.WaitGroup
	wg.Go(func() { ct.write(ctx) })
	for range 4 {
		wg.Go(func() { ct.read(ctx) })
	}
	wg.Go(func() { ct.writeAtVictim(ctx) })
	if err := cut(); err != nil {
		t.Error(err)
	}
	wg.Wait()
	t.Logf("%s: %d numbers written at the others; %d reads at the cut one, %d refused; %d writes acknowledged by it",
		ct.victim.ID, ct.acked, ct.reads, ct.closed, len(ct.mine))
	for _, s := range ct.stale {
		t.Error(s)
	}
	if ct.acked < 1 {
		t.Errorf("only %d numbers could be written at the others", ct.acked)
	}
}

// write goes on at one of the others after a refusal of the other: only one may have a leader.
func (ct *cutTest) write(ctx context.Context) {
	p := &pool{conns: map[string]*rocketmq.Conn{}}
	defer p.close()
	for i, turn := 1, 0; paced(ctx); turn++ {
		answer, err := p.call(ctx, ct.others[turn%2].Client, rocketmq.PutKV("fault", ct.key(), fmt.Sprint(i)))
		if refusal(answer, err) != nil {
			continue
		}
		ct.mu.Lock()
		ct.acked = i
		ct.mu.Unlock()
		i++
	}
}

// read compares what the victim answers with what was acknowledged before the question.
func (ct *cutTest) read(ctx context.Context) {
	p := &pool{conns: map[string]*rocketmq.Conn{}}
	defer p.close()
	for paced(ctx) {
		ct.mu.Lock()
		before := ct.acked
		ct.mu.Unlock()
		answer, err := p.call(ctx, ct.victim.Client, rocketmq.GetKV("fault", ct.key()))
		ct.mu.Lock()
		switch {
		case err != nil || answer.Code == rocketmq.SystemError:
			ct.closed++
		case answer.Code == rocketmq.Success && numberIn(answer.Fields["value"]) >= before:
			ct.reads++
		default:
			ct.stale = append(ct.stale, fmt.Sprintf("%s answers code %d %q, %d was acknowledged before", ct.victim.ID, answer.Code, answer.Fields["value"], before))
		}
		ct.mu.Unlock()
	}
}

func (ct *cutTest) writeAtVictim(ctx context.Context) {
	p := &pool{conns: map[string]*rocketmq.Conn{}}
	defer p.close()
	for i := 0; paced(ctx); i++ {
		value := fmt.Sprint(i)
		if refusal(p.call(ctx, ct.victim.Client, rocketmq.PutKV("fault", ct.key()+"-"+value, value))) == nil {
			ct.mu.Lock()
			ct.mine = append(ct.mine, value)
			ct.mu.Unlock()
		}
	}
}

// paced is true after a pause, until ctx ends: other tests run beside this one.
func paced(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(2 * time.Millisecond):
		return true
	}
}

// check looks for everything acknowledged, at all peers.
func (ct *cutTest) check(t *testing.T) {
	t.Helper()
	for _, n := range ct.c.Nodes {
		if answer := ask(t, n.Client, rocketmq.GetKV("fault", ct.key())); numberIn(answer.Fields["value"]) < ct.acked {
			t.Errorf("%s says %q (code %d), %d was acknowledged", n.ID, answer.Fields["value"], answer.Code, ct.acked)
		}
		for _, value := range ct.mine {
			if answer := ask(t, n.Client, rocketmq.GetKV("fault", ct.key()+"-"+value)); answer.Fields["value"] != value {
				t.Errorf("%s lacks what the cut peer acknowledged (%s): %+v", n.ID, value, answer)
				return
			}
		}
	}
}

func numberIn(text string) int {
	n := -1
	_, _ = fmt.Sscan(text, &n) // what is no number is no answer either
	return n
}

// TestEachBrokerAtOnePeer promises that brokers which reach one peer each are in the answers of all, byte for byte the
// same, also while two of the peers do not reach each other.
func TestEachBrokerAtOnePeer(t *testing.T) {
	mostlyWaits(t)
	c, network := networkCluster(t)
	all := lab.NewBrokers("each", 6, shortTimeout)
	for i, n := range c.Nodes {
		f := lab.StartFleet(t.Context(), all[2*i:2*i+2], 2*time.Second, n.Client)
		t.Cleanup(f.Stop)
	}
	for _, n := range c.Nodes {
		shows(t, n, 10*time.Second, all...)
	}
	sameBodies(t, c.Clients(), []string{all[0].Topics[0], all[5].Topics[0]})
	leader, others := leaderOf(t, c)
	pairs := [][2]*systemtest.Node{{leader, others[0]}}
	if long() {
		pairs = append(pairs, [2]*systemtest.Node{others[0], others[1]})
	}
	for _, pair := range pairs {
		a, b := slices.Index(c.Nodes, pair[0]), slices.Index(c.Nodes, pair[1])
		for _, way := range [][2]int{{a, b}, {b, a}} {
			if err := network.Cut(way[0], way[1]); err != nil {
				t.Fatal(err)
			}
		}
		eventually(t, 10*time.Second, "a put at a peer with a quorum", func() error {
			answer, err := tryCall(t.Context(), others[1].Client, rocketmq.PutKV("fault", "each", "1"), 3*time.Second)
			return refusal(answer, err)
		})
		seen := watch(t, all, c.Clients()...)
		waitFor(t, lasting(shortTimeout+3*time.Second, time.Minute))
		if err := network.Heal(); err != nil {
			t.Fatal(err)
		}
		ready(t, c)
		seen()
	}
	sameBodies(t, c.Clients(), []string{all[0].Topics[0], all[5].Topics[0]})
}
