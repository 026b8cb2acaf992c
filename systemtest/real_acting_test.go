package systemtest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"namesrv/internal/rocketmq"
	"namesrv/systemtest"
)

const (
	actingCluster = "acting"
	actingBroker  = "group"
	actingTopic   = "acting-topic"
	actingEvery   = 50 * time.Millisecond // between two looks at a server
	actingTime    = time.Minute           // for a change to be seen

	actingMessages = 50
)

// groupView is what a server says of one group of brokers: the routes of a topic in both forms of JSON, the topology
// and the members, each in a form that can be compared.
type groupView struct{ Route, LegacyRoute, Topology, Members string }

func look(ctx context.Context, addr string) (groupView, error) {
	var v groupView
	for _, q := range []struct {
		to      *string
		request *rocketmq.Frame
	}{
		{&v.Route, rocketmq.RouteOf(actingTopic, 513)},
		{&v.LegacyRoute, rocketmq.RouteOf(actingTopic, 317)},
		{&v.Topology, &rocketmq.Frame{Code: rocketmq.CodeClusterInfo}},
		{&v.Members, rocketmq.MemberGroupOf(actingCluster, actingBroker)},
	} {
		answer, err := rocketmq.Ask(ctx, addr, q.request)
		if err != nil {
			return v, err
		}
		if *q.to, err = comparable(answer); err != nil {
			return v, err
		}
	}
	return v, nil
}

// bareKey is a number as the key of a map, as the legacy form has it.
var bareKey = regexp.MustCompile(`([{,])(-?[0-9]+):`)

// comparable brings an answer into a form in which neither the order of a list nor the kind of JSON matters.
func comparable(answer *rocketmq.Frame) (string, error) {
	if answer.Code != rocketmq.Success {
		return fmt.Sprintf("code %d: %s", answer.Code, answer.Remark), nil
	}
	var v any
	if err := json.Unmarshal(bareKey.ReplaceAll(answer.Body, []byte(`$1"$2":`)), &v); err != nil {
		return "", fmt.Errorf("%w: %s", err, answer.Body)
	}
	b, err := json.Marshal(sorted(v))
	return string(b), err
}

// sorted orders every list below v.
func sorted(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			v[key] = sorted(value)
		}
	case []any:
		for i, value := range v {
			v[i] = sorted(value)
		}
		slices.SortFunc(v, func(a, b any) int { return slices.Compare([]byte(fmt.Sprint(a)), []byte(fmt.Sprint(b))) })
	}
	return v
}

// watcher looks at a server all the time and keeps the views that followed one another.
type watcher struct {
	addr string

	mu    sync.Mutex // guards the fields below
	views []groupView
	errs  []error
}

func watchGroup(t *testing.T, addr string) *watcher {
	w := &watcher{addr: addr}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(actingEvery)
		defer tick.Stop()
		for {
			v, err := look(ctx, addr)
			if ctx.Err() != nil {
				return
			}
			w.add(v, err)
			select {
			case <-ctx.Done():
			case <-tick.C:
			}
		}
	})
	t.Cleanup(func() {
		cancel()
		wg.Wait()
	})
	return w
}

func (w *watcher) add(v groupView, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case err != nil:
		w.errs = append(w.errs, err)
	case len(w.views) == 0 || w.views[len(w.views)-1] != v:
		w.views = append(w.views, v)
	}
}

// last is the newest view.
func (w *watcher) last() groupView {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.views) == 0 {
		return groupView{}
	}
	return w.views[len(w.views)-1]
}

// memberships are the different members that were seen, in their order.
func (w *watcher) memberships() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []string
	for _, v := range w.views {
		all = append(all, v.Members)
	}
	return slices.Compact(all)
}

// actingMaster promises that a group of brokers in which a slave stands in for a dead master looks at every peer as it
// does at a stock server, at each stage, that no look ever shows an empty group, and that consumers read from the slave.
func actingMaster(t *testing.T, s *rocketmq.Stock, c *systemtest.Cluster) {
	all := append(c.Clients(), s.Addr)
	for _, addr := range []string{c.Nodes[1].Client, s.Addr} { // at one peer only: the setting is the group's
		if a := ask(t, addr, rocketmq.UpdateConfig("supportActingMaster=true")); a.Code != rocketmq.Success {
			t.Fatalf("code %d: %s", a.Code, a.Remark)
		}
	}
	master, slave, restart := startActingGroup(t, all)
	sent := sendThrough(t, c.Clients())
	var watchers []*watcher
	for _, addr := range all {
		watchers = append(watchers, watchGroup(t, addr))
	}
	awaitReplicated(t, slave.Addr, len(sent))
	both := fmt.Sprintf(`{"0":%q,"1":%q}`, master.Addr, slave.Addr)
	stageAlike(t, "both", watchers, both, both)
	master.Kill()
	stageAlike(t, "master killed", watchers, fmt.Sprintf(`{"1":%q}`, slave.Addr), fmt.Sprintf(`{"0":%q}`, slave.Addr))
	newMessages(t, actingTopic, c.Clients()...).awaitConsumed(t, time.Minute, sent)
	restart()
	stageAlike(t, "master back", watchers, both, both)
	stock := watchers[len(watchers)-1]
	for _, w := range watchers {
		w.neverEmpty(t)
		if diff := cmp.Diff(stock.memberships(), w.memberships()); diff != "" {
			t.Errorf("members one after the other at %s (-stock +ours):\n%s", w.addr, diff)
		}
	}
	t.Logf("members at each server, one after the other: %q", stock.memberships())
}

// startActingGroup starts a master and a slave with a topic. The function that it returns starts the master again.
func startActingGroup(t *testing.T, nameServers []string) (master, slave *rocketmq.Broker, restart func()) {
	t.Helper()
	member := func(id int, role string) rocketmq.BrokerConfig {
		return rocketmq.BrokerConfig{
			Name: actingBroker, Cluster: actingCluster, ID: id, NameServers: nameServers,
			Properties: []string{"enableSlaveActingMaster=true", "slaveReadEnable=true", "brokerRole=" + role, "registerNameServerPeriod=10000"},
		}
	}
	brokers := startBrokers(t, member(0, "ASYNC_MASTER"), member(1, "SLAVE"))
	master, slave = brokers[0], brokers[1]
	for _, b := range brokers {
		if err := b.AwaitRegistered(within(t, time.Minute), nameServers...); err != nil {
			t.Fatal(err)
		}
	}
	if err := rocketmq.CreateTopic(within(t, time.Minute), master.Addr, actingTopic); err != nil {
		t.Fatal(err)
	}
	return master, slave, func() {
		t.Helper()
		again, err := master.Restart(within(t, 2*time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(again.Kill)
	}
}

// sendThrough sends messages to the topic of the group and gives their bodies.
func sendThrough(t *testing.T, nameServers []string) []string {
	t.Helper()
	m := newMessages(t, actingTopic, nameServers...)
	var sent []string
	for i := range actingMessages {
		sent = append(sent, fmt.Sprintf("message %d", i))
		if err := m.send(within(t, time.Minute), actingTopic, sent[i]); err != nil {
			t.Fatal(err)
		}
	}
	m.awaitConsumed(t, time.Minute, sent)
	return sent
}

// awaitReplicated waits until the broker at addr has the topic and its messages.
func awaitReplicated(t *testing.T, addr string, want int) {
	t.Helper()
	eventually(t, actingTime, "replication", func() error {
		if err := rocketmq.KnowsTopic(within(t, 10*time.Second), addr, actingTopic); err != nil {
			return err
		}
		got := 0
		for queue := range 8 {
			n, err := rocketmq.MaxOffset(within(t, 10*time.Second), addr, actingTopic, queue)
			if err != nil {
				return err
			}
			got += n
		}
		if got < want {
			return fmt.Errorf("%d of %d messages", got, want)
		}
		return nil
	})
}

// stageAlike waits until every server shows these members and, in the route, these addresses, and all show the same as
// the stock server, which is the last.
func stageAlike(t *testing.T, stage string, watchers []*watcher, members, routed string) {
	t.Helper()
	stock, began := watchers[len(watchers)-1], time.Now()
	eventually(t, actingTime, stage, func() error {
		for _, w := range watchers {
			v := w.last()
			if err := has([]byte(v.Members), `"brokerAddrs":`+members); err != nil {
				return fmt.Errorf("members at %s: %w", w.addr, err)
			}
			if err := has([]byte(v.Route), `"brokerAddrs":`+routed); err != nil {
				return fmt.Errorf("route at %s: %w", w.addr, err)
			}
			if diff := cmp.Diff(stock.last(), v); diff != "" {
				return fmt.Errorf("%s (-stock +ours):\n%s", w.addr, diff)
			}
		}
		return nil
	})
	t.Logf("%s: the same at all servers after %v", stage, since(began))
}

// neverEmpty fails the test for each look that failed or showed no member, no route or no queue.
func (w *watcher) neverEmpty(t *testing.T) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, err := range w.errs {
		t.Errorf("%s: %v", w.addr, err)
	}
	for _, v := range w.views {
		for _, part := range []string{v.Members, v.Route, v.LegacyRoute, v.Topology} {
			if strings.HasPrefix(part, "code ") || strings.Contains(part, `"brokerAddrs":{}`) || strings.Contains(part, `"brokerDatas":[]`) ||
				strings.Contains(part, `"queueDatas":[]`) {
				t.Errorf("%s once showed %s", w.addr, part)
			}
		}
	}
}
