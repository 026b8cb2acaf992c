package systemtest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"namesrv/internal/rocketmq"
	"namesrv/systemtest"
)

const (
	kvWriters     = 4
	brokerWriters = 4
	wantAtLeast   = 50 // acknowledged writes of each writer before everything is killed
)

// writer is one that writes until its server is gone, and what was acknowledged to it.
type writer struct {
	number int
	conn   *rocketmq.Conn
	acked  atomic.Int64 // how many keys or topics so far; the rest is read when it has ended
	keys   []string     // of KV
	topics []string     // of its broker
	broker rocketmq.Registration
}

// TestKillAll promises that nothing that was acknowledged is lost when all peers are killed in the middle of writes.
func TestKillAll(t *testing.T) {
	c := startCluster(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var writers []*writer
	var wg sync.WaitGroup
	for i := range kvWriters + brokerWriters {
		// Connections stay open until the test ends: closing one would be an unregistration.
		w := &writer{number: i, conn: dial(t, c.Nodes[i%len(c.Nodes)].Client)}
		writers = append(writers, w)
		if i < kvWriters {
			wg.Go(func() { w.writeKV(ctx) })
		} else {
			wg.Go(func() { w.writeTopics(ctx) })
		}
	}
	eventually(t, time.Minute, "enough is acknowledged", func() error {
		for _, w := range writers {
			if n := w.acked.Load(); n < wantAtLeast {
				return fmt.Errorf("writer %d has %d acknowledgements", w.number, n)
			}
		}
		return nil
	})
	c.Kill()
	cancel()
	wg.Wait()

	if err := c.Start(within(t, time.Minute)); err != nil {
		t.Fatal(err)
	}
	for _, n := range c.Nodes {
		t.Run(n.ID, func(t *testing.T) { checkAcked(t, n, writers) })
	}
}

// writeKV puts keys of its own until its connection or ctx ends.
func (w *writer) writeKV(ctx context.Context) {
	for i := 0; ; i++ {
		key := fmt.Sprintf("w%d-%d", w.number, i)
		answer, err := w.conn.Call(ctx, rocketmq.PutKV("crash", key, "value of "+key))
		if err != nil {
			return
		}
		if answer.Code == rocketmq.Success {
			w.keys = append(w.keys, key)
			w.acked.Add(1)
		}
	}
}

// writeTopics registers a broker of its own again and again, with one topic more each time.
func (w *writer) writeTopics(ctx context.Context) {
	w.broker = rocketmq.Registration{
		Cluster: "crash", Broker: fmt.Sprintf("broker-%d", w.number), Addr: fmt.Sprintf("10.2.2.%d:10911", w.number),
		Topics: []string{fmt.Sprintf("w%d-first", w.number)}, // a lone new topic could be taken for an addition
	}
	for i := 0; ; i++ {
		topic := fmt.Sprintf("w%d-%d", w.number, i)
		w.broker.Topics = append(w.broker.Topics, topic)
		w.broker.Counter++
		answer, err := w.conn.Call(ctx, w.broker.Frame())
		if err != nil {
			return
		}
		if answer.Code == rocketmq.Success {
			w.topics = append(w.topics, topic)
			w.acked.Add(1)
		}
	}
}

// checkAcked looks for everything acknowledged at one peer.
func checkAcked(t *testing.T, n *systemtest.Node, writers []*writer) {
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
	for _, w := range writers {
		for _, key := range w.keys {
			keys++
			if kv.Table[key] != "value of "+key {
				t.Errorf("key %s was acknowledged and is %q", key, kv.Table[key])
			}
		}
		for _, topic := range w.topics {
			if !topics[topic] {
				t.Errorf("topic %s was acknowledged and is not there", topic)
			}
		}
		if len(w.topics) > 0 {
			last := w.topics[len(w.topics)-1]
			if err := has(ask(t, n.Client, rocketmq.RouteOf(last, 513)).Body, w.broker.Addr); err != nil {
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
