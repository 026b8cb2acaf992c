package systemtest_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"namesrv/internal/rocketmq"
	"namesrv/systemtest"
)

// migration is the set-up that docs/migrate.md is about.
type migration struct {
	stock   []*rocketmq.Stock
	kvFiles []string // of the stock servers
	brokers []*rocketmq.Broker
	files   []string // configurations of the brokers
	group   *systemtest.Cluster
}

const orderConfig = "broker-a:8;broker-b:8" // a value that stock servers keep and brokers and clients are given

// startStockSetUp starts two stock servers with a stored key, and two masters that know them.
func startStockSetUp(t *testing.T) *migration {
	t.Helper()
	g := &migration{}
	for range 2 {
		dir := t.TempDir()
		s, err := rocketmq.StartStock(within(t, 2*time.Minute), rocketmq.StockConfig{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Kill)
		if err := refusal(rocketmq.Ask(within(t, 10*time.Second), s.Addr, rocketmq.PutKV("ORDER_TOPIC_CONFIG", "ordered", orderConfig))); err != nil {
			t.Fatal(err)
		}
		g.stock, g.kvFiles = append(g.stock, s), append(g.kvFiles, filepath.Join(dir, "namesrv", "kvConfig.json"))
	}
	g.startBrokers(t, "broker-a", "broker-b")
	return g
}

// startBrokers starts masters that know the stock servers, at once since each takes its time.
func (g *migration) startBrokers(t *testing.T, names ...string) {
	t.Helper()
	g.brokers = make([]*rocketmq.Broker, len(names))
	errs := make([]error, len(names))
	ctx := within(t, 3*time.Minute)
	var starting sync.WaitGroup
	for i, name := range names {
		cfg := rocketmq.BrokerConfig{Name: name, NameServers: g.stockAddrs(), Dir: t.TempDir()}
		if !long() { // as it is, a broker looks at its list every two minutes, and registers every 30 s
			cfg.Properties = []string{"updateNameServerAddrPeriod=5000", "registerNameServerPeriod=10000"}
		}
		g.files = append(g.files, filepath.Join(cfg.Dir, "broker.properties"))
		starting.Go(func() {
			if g.brokers[i], errs[i] = rocketmq.StartBroker(ctx, cfg); errs[i] == nil {
				t.Cleanup(g.brokers[i].Kill)
				errs[i] = g.brokers[i].AwaitRegistered(ctx, cfg.NameServers...)
			}
		})
	}
	starting.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func (g *migration) stockAddrs() (addrs []string) {
	for _, s := range g.stock {
		addrs = append(addrs, s.Addr)
	}
	return addrs
}

// setNameServers gives all brokers another list while they run, as an admin does.
func (g *migration) setNameServers(t *testing.T, addrs ...string) {
	t.Helper()
	out := mqadmin(t, rocketmq.V550, "updateBrokerConfig", "-n", g.stock[0].Addr, "-c", "DefaultCluster", "-a", "true",
		"-k", "namesrvAddr", "-v", strings.Join(addrs, ";"))
	if n := strings.Count(out, "update broker config success"); n != len(g.brokers) {
		t.Fatalf("%d of %d brokers were changed:\n%s", n, len(g.brokers), out)
	}
	for _, file := range g.files { // the broker wrote it itself: the list is kept over a restart
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := has([]byte(strings.ReplaceAll(string(text), `\:`, ":")), "namesrvAddr="+strings.Join(addrs, ";")+"\n"); err != nil {
			t.Error(err)
		}
	}
}

// topics are the names a server lists, sorted.
func topics(t *testing.T, addr string) []string {
	t.Helper()
	var list struct {
		Topics []string `json:"topicList"`
	}
	decode(t, ask(t, addr, &rocketmq.Frame{Code: rocketmq.CodeAllTopics}), &list)
	slices.Sort(list.Topics)
	return list.Topics
}

// awaitSame waits until each of our peers lists the brokers and topics that a stock server lists.
func (g *migration) awaitSame(t *testing.T, limit time.Duration) {
	t.Helper()
	for _, n := range g.group.Nodes {
		eventually(t, limit, "all brokers and topics at "+n.ID, func() error {
			var brokers []struct {
				Address string `json:"address"`
			}
			if err := json.Unmarshal([]byte(mustCommand(t, n, "broker", "list", "-o", "json")), &brokers); err != nil {
				return err
			}
			if len(brokers) != len(g.brokers) {
				return fmt.Errorf("%d brokers: %v", len(brokers), brokers)
			}
			if diff := cmp.Diff(topics(t, g.stock[0].Addr), topics(t, n.Client)); diff != "" {
				return fmt.Errorf("topics (-stock +ours):\n%s", diff)
			}
			return nil
		})
	}
}

// sameLists compares the lists of topics as an admin does: mqadmin prints lines about itself too, which have blanks.
func (g *migration) sameLists(t *testing.T) {
	t.Helper()
	var commands, lists [][]string
	for _, addrs := range [][]string{g.stockAddrs(), g.group.Clients()} {
		commands = append(commands, []string{"topicList", "-n", strings.Join(addrs, ";")})
	}
	for _, out := range mqadmins(t, rocketmq.V550, commands...) {
		lines := strings.Split(out, "\n")
		lines = slices.DeleteFunc(lines, func(l string) bool { return l == "" || strings.Contains(l, " ") })
		slices.Sort(lines)
		lists = append(lists, lines)
	}
	if !slices.Contains(lists[0], "moving") {
		t.Errorf("mqadmin does not list the topic: %q", lists[0])
	}
	if diff := cmp.Diff(lists[0], lists[1]); diff != "" {
		t.Errorf("mqadmin topicList (-stock +ours):\n%s", diff)
	}
}

// importKV carries the stored keys over, after a look whether the stock servers agree.
func (g *migration) importKV(t *testing.T) {
	t.Helper()
	var texts [][]byte
	for _, file := range g.kvFiles {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, text)
	}
	if diff := cmp.Diff(string(texts[0]), string(texts[1])); diff != "" {
		t.Errorf("the stock servers have different keys:\n%s", diff)
	}
	t.Log(strings.TrimSpace(mustCommand(t, g.group.Nodes[1], "kv", "import", g.kvFiles[0])))
	for _, n := range g.group.Nodes {
		if answer := ask(t, n.Client, rocketmq.GetKV("ORDER_TOPIC_CONFIG", "ordered")); answer.Fields["value"] != orderConfig {
			t.Errorf("%s answers %+v", n.ID, answer)
		}
	}
}

// TestMigration promises that the way of docs/migrate.md leads from two stock servers to three of ours while real brokers
// and clients run, without a failed send.
func TestMigration(t *testing.T) {
	withJVMs(t)
	needJava(t, rocketmq.V550)
	g := startStockSetUp(t)
	for _, b := range g.brokers { // one topic, at both brokers
		if err := rocketmq.CreateTopic(within(t, 30*time.Second), b.Addr, "moving"); err != nil {
			t.Fatal(err)
		}
	}
	before := newMessages(t, "moving", g.stockAddrs()...)
	first := sendSteadily(t, before, "moving")

	g.group = startCluster(t) // step 1
	ours := g.group.Clients()
	g.importKV(t)

	began := time.Now() // step 2
	g.setNameServers(t, append(g.stockAddrs(), ours...)...)
	g.awaitSame(t, 4*time.Minute)
	g.sameLists(t)
	t.Logf("our peers knew all brokers and topics after %v", time.Since(began).Round(time.Second))

	after := newMessages(t, "moving", ours...) // step 3
	second := sendSteadily(t, after, "moving")
	first.noneFailed(t, "client of the stock servers", before, after)
	if err := before.producer.Shutdown(); err != nil {
		t.Error(err)
	}
	if err := before.consumer.Shutdown(); err != nil {
		t.Error(err)
	}

	g.setNameServers(t, ours...) // step 4
	for _, s := range g.stock {  // step 5
		s.Stop()
	}
	routes := startPoller(t, "moving", g.brokers[0].Addr, true, ours...)
	for _, b := range g.brokers { // a change and a new topic, with the stock servers gone
		if err := rocketmq.CreateTopic(within(t, 30*time.Second), b.Addr, "new-topic"); err != nil {
			t.Error(err)
		}
	}
	if err := after.send(t.Context(), "new-topic", "first"); err != nil {
		t.Errorf("a message to a new topic: %v", err)
	}
	waitFor(t, lasting(12*time.Second, 90*time.Second)) // brokers register, clients refresh
	second.noneFailed(t, "client of our peers", after)
	routes.noneFailed(t, "with the stock servers gone")
}
