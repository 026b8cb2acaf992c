package systemtest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"namesrv/internal/rocketmq"
	"namesrv/systemtest"
)

const (
	kvWriters     = 4
	brokerWriters = 4
	writeTime     = 3 * time.Second // before everything is killed
	wantAtLeast   = 20              // acknowledged writes of each writer; fewer would show nothing
)

// acked is what the servers acknowledged to one writer.
type acked struct {
	keys   []string // of KV
	topics []string // of the writer's broker
	broker rocketmq.Registration
}

// TestKillAll promises that nothing that was acknowledged is lost when all peers are killed in the middle of writes.
func TestKillAll(t *testing.T) {
	c := startCluster(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	results := make([]acked, kvWriters+brokerWriters)
	var wg sync.WaitGroup
	for i := range results {
		conn := dial(t, c.Nodes[i%len(c.Nodes)].Client) // open until the test ends: closing it would be an unregistration
		if i < kvWriters {
			wg.Go(func() { results[i] = writeKV(ctx, conn, i) })
		} else {
			wg.Go(func() { results[i] = writeTopics(ctx, conn, i) })
		}
	}
	waitFor(t, writeTime)
	c.Kill()
	cancel()
	wg.Wait()
	for i, r := range results {
		if n := len(r.keys) + len(r.topics); n < wantAtLeast {
			t.Errorf("writer %d got only %d acknowledgements", i, n)
		}
	}

	if err := c.Start(within(t, time.Minute)); err != nil {
		t.Fatal(err)
	}
	for _, n := range c.Nodes {
		t.Run(n.ID, func(t *testing.T) { checkAcked(t, n, results) })
	}
}

// writeKV puts keys of its own until its connection or ctx ends.
func writeKV(ctx context.Context, conn *rocketmq.Conn, writer int) (a acked) {
	for i := 0; ; i++ {
		key := fmt.Sprintf("w%d-%d", writer, i)
		answer, err := conn.Call(ctx, rocketmq.PutKV("crash", key, "value of "+key))
		if err != nil {
			return a
		}
		if answer.Code == rocketmq.Success {
			a.keys = append(a.keys, key)
		}
	}
}

// writeTopics registers a broker of its own again and again, with one topic more each time.
func writeTopics(ctx context.Context, conn *rocketmq.Conn, writer int) (a acked) {
	a.broker = rocketmq.Registration{
		Cluster: "crash", Broker: fmt.Sprintf("broker-%d", writer), Addr: fmt.Sprintf("10.2.2.%d:10911", writer),
		Topics: []string{fmt.Sprintf("w%d-first", writer)}, // a lone new topic could be taken for an addition
	}
	for i := 0; ; i++ {
		topic := fmt.Sprintf("w%d-%d", writer, i)
		a.broker.Topics = append(a.broker.Topics, topic)
		a.broker.Counter++
		answer, err := conn.Call(ctx, a.broker.Frame())
		if err != nil {
			return a
		}
		if answer.Code == rocketmq.Success {
			a.topics = append(a.topics, topic)
		}
	}
}

// checkAcked looks for everything acknowledged at one peer.
func checkAcked(t *testing.T, n *systemtest.Node, results []acked) {
	var kv struct {
		Table map[string]string `json:"table"`
	}
	decode(t, ask(t, n.Client, &rocketmq.Frame{Code: rocketmq.CodeKVList, Fields: map[string]string{"namespace": "crash"}}), &kv)
	var list struct {
		Topics []string `json:"topicList"`
	}
	decode(t, ask(t, n.Client, &rocketmq.Frame{Code: rocketmq.CodeAllTopics}), &list)
	topics := map[string]bool{}
	for _, name := range list.Topics {
		topics[name] = true
	}
	keys := 0
	for _, r := range results {
		for _, key := range r.keys {
			keys++
			if kv.Table[key] != "value of "+key {
				t.Errorf("key %s was acknowledged and is %q", key, kv.Table[key])
			}
		}
		for _, topic := range r.topics {
			if !topics[topic] {
				t.Errorf("topic %s was acknowledged and is not there", topic)
			}
		}
		if len(r.topics) > 0 {
			last := r.topics[len(r.topics)-1]
			if err := has(ask(t, n.Client, rocketmq.RouteOf(last, 513)).Body, r.broker.Addr); err != nil {
				t.Errorf("route of %s: %v", last, err)
			}
		}
	}
	t.Logf("%d keys acknowledged, %d topics held", keys, len(list.Topics))
}

// decode reads the body of a successful answer.
func decode(t *testing.T, answer *rocketmq.Frame, into any) {
	t.Helper()
	err := errors.New(answer.Remark)
	if answer.Code == rocketmq.Success {
		err = json.Unmarshal(answer.Body, into)
	}
	if err != nil {
		t.Fatalf("code %d: %v: %.300s", answer.Code, err, answer.Body)
	}
}
