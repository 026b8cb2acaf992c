package systemtest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"namesrv/internal/rocketmq"
	"namesrv/systemtest"
)

const (
	memberPace   = 10 * time.Millisecond
	memberSpace  = "members"
	memberKeys   = 4  // clients that put keys
	memberBroker = 4  // clients that register a broker each
	keptFailures = 20 // of each sort, in words
)

// memberLoad is everybody who writes and reads while the group changes.
type memberLoad struct {
	list   peerList
	pauses pauses
	ctx    context.Context
	wg     sync.WaitGroup

	keys    []*keyWriter
	brokers []*brokerWriter
	reads   atomic.Int64
	retried atomic.Int64 // writes without an acknowledgement

	mu       sync.Mutex // guards the fields below
	clients  []*wireClient
	stale    []string
	failed   []string
	breaches int // of both, also those whose words were not kept
}

func (l *memberLoad) client() *wireClient {
	c := &wireClient{conns: map[string]*rocketmq.Conn{}}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.clients = append(l.clients, c)
	return c
}

// startMemberLoad starts the writers, and the readers of each node. The returned function ends them all; their
// connections stay, since the end of a broker's last connection would remove it.
func startMemberLoad(t *testing.T, nodes ...*systemtest.Node) (l *memberLoad, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	l = &memberLoad{ctx: ctx}
	l.pauses.reset()
	for i := range memberKeys {
		w := &keyWriter{load: l, number: i, client: l.client()}
		l.keys = append(l.keys, w)
	}
	for i := range memberBroker {
		w := &brokerWriter{load: l, number: i, client: l.client()}
		w.anew()
		l.brokers = append(l.brokers, w)
	}
	for _, n := range nodes {
		l.join(n)
	}
	for _, w := range l.keys {
		l.wg.Go(func() { l.every(ctx, func(turn int) { w.write(turn) }) })
	}
	for _, w := range l.brokers {
		l.wg.Go(func() { l.every(ctx, func(turn int) { w.write(turn) }) })
	}
	stop = func() { cancel(); l.wg.Wait() }
	t.Cleanup(func() {
		stop()
		for _, c := range l.clients {
			for _, conn := range c.conns {
				conn.Close()
			}
		}
	})
	return l, stop
}

// every does something again and again until ctx ends.
func (l *memberLoad) every(ctx context.Context, do func(turn int)) {
	tick := time.NewTicker(memberPace)
	defer tick.Stop()
	for turn := 0; ; turn++ {
		select {
		case <-tick.C:
			do(turn)
		case <-ctx.Done():
			return
		}
	}
}

// join lists a peer that is a member now, and starts to read there.
func (l *memberLoad) join(n *systemtest.Node) {
	l.list.add(n)
	for _, read := range []func(c *wireClient, n *systemtest.Node, turn int){l.readKey, l.readRoute} {
		c := l.client()
		l.wg.Go(func() {
			ctx, cancel := context.WithCancel(l.ctx)
			defer cancel()
			l.every(ctx, func(turn int) {
				if read(c, n, turn); !slices.Contains(l.list.all(), n) {
					cancel()
				}
			})
		})
	}
}

// read asks a peer, and the others of the list only while that one is being removed. Without an answer it failed.
func (l *memberLoad) read(c *wireClient, n *systemtest.Node, f func() *rocketmq.Frame) *rocketmq.Frame {
	answer, err := c.call(n.Client, f())
	for _, other := range l.list.all() {
		if err == nil || l.list.stays(n) {
			break
		}
		answer, err = c.call(other.Client, f())
	}
	l.reads.Add(1)
	if err != nil {
		l.breach(&l.failed, "a read at %s: %v", n.ID, err)
		return nil
	}
	return answer
}

func (l *memberLoad) breach(list *[]string, format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.breaches++; len(*list) < keptFailures {
		*list = append(*list, time.Now().Format("15:04:05.000 ")+fmt.Sprintf(format, args...))
	}
}

// keyWriter puts keys that nobody touches again.
type keyWriter struct {
	load   *memberLoad
	number int
	client *wireClient

	last atomic.Int64 // number of the last acknowledged key, 0 for none
	all  []int64      // every acknowledged one; read when it has ended
}

func (w *keyWriter) key(turn int64) string { return fmt.Sprintf("k%d-%d", w.number, turn) }

func (w *keyWriter) write(turn int) {
	nodes := w.load.list.all()
	key := w.key(int64(turn + 1))
	if _, err := w.client.call(nodes[turn%len(nodes)].Client, rocketmq.PutKV(memberSpace, key, key)); err != nil {
		w.load.retried.Add(1)
		return
	}
	w.load.pauses.acked()
	w.all = append(w.all, int64(turn+1))
	w.last.Store(int64(turn + 1))
}

// readKey reads the key that was acknowledged last.
func (l *memberLoad) readKey(c *wireClient, n *systemtest.Node, turn int) {
	w := l.keys[turn%len(l.keys)]
	last := w.last.Load()
	if last == 0 {
		return
	}
	answer := l.read(c, n, func() *rocketmq.Frame { return rocketmq.GetKV(memberSpace, w.key(last)) })
	if answer != nil && answer.Fields["value"] != w.key(last) {
		l.breach(&l.stale, "%s does not show key %s: code %d", n.ID, w.key(last), answer.Code)
	}
}

// acked is what a broker was acknowledged last: its name and the number of queues of its topic.
type acked struct {
	broker string
	queues int
}

// brokerWriter registers its broker again and again, each time with more queues. A registration without an answer may
// come into force later than the next one, so the broker gets another name then.
type brokerWriter struct {
	load   *memberLoad
	number int
	client *wireClient
	reg    rocketmq.Registration
	names  int

	last atomic.Pointer[acked]
}

func (w *brokerWriter) anew() {
	w.names++
	name := fmt.Sprintf("b%d-%d", w.number, w.names)
	w.reg = rocketmq.Registration{Cluster: memberSpace, Broker: name, Addr: fmt.Sprintf("10.8.%d.%d:10911", w.number, w.names),
		Topics: []string{name, name + "-more"}, Queues: 1, Counter: 1}
}

func (w *brokerWriter) write(turn int) {
	nodes := w.load.list.all()
	if _, err := w.client.call(nodes[turn%len(nodes)].Client, w.reg.Frame()); err != nil {
		w.load.retried.Add(1)
		w.anew()
		return
	}
	w.load.pauses.acked()
	w.last.Store(&acked{broker: w.reg.Broker, queues: w.reg.Queues})
	w.reg.Queues++
	w.reg.Counter++
}

// readRoute reads the route of the broker's topic, which has at least the queues that were acknowledged.
func (l *memberLoad) readRoute(c *wireClient, n *systemtest.Node, turn int) {
	last := l.brokers[turn%len(l.brokers)].last.Load()
	if last == nil {
		return
	}
	answer := l.read(c, n, func() *rocketmq.Frame { return rocketmq.RouteOf(last.broker, 513) })
	if answer == nil {
		return
	}
	if err := last.in(answer); err != nil {
		l.breach(&l.stale, "%s about %s: %v", n.ID, last.broker, err)
	}
}

// in is nil when a route shows what was acknowledged, or something newer.
func (a *acked) in(answer *rocketmq.Frame) error {
	var route struct {
		QueueDatas []struct{ ReadQueueNums int }
	}
	if answer.Code != rocketmq.Success {
		return fmt.Errorf("code %d: %s", answer.Code, answer.Remark)
	}
	if err := json.Unmarshal(answer.Body, &route); err != nil {
		return err
	}
	if len(route.QueueDatas) != 1 || route.QueueDatas[0].ReadQueueNums < a.queues {
		return fmt.Errorf("want %d queues: %.300s", a.queues, answer.Body)
	}
	return nil
}

// judge looks for everything acknowledged at each of the peers, once nobody writes any more.
func (l *memberLoad) judge(t *testing.T, nodes []*systemtest.Node) {
	t.Helper()
	keys := 0
	for _, n := range nodes {
		var kv struct {
			Table map[string]string `json:"table"`
		}
		decode(t, ask(t, n.Client, &rocketmq.Frame{Code: rocketmq.CodeKVList, Fields: map[string]string{"namespace": memberSpace}}), &kv)
		keys = 0
		for _, w := range l.keys {
			for _, turn := range w.all {
				keys++
				if kv.Table[w.key(turn)] != w.key(turn) {
					t.Errorf("%s lost key %s", n.ID, w.key(turn))
				}
			}
		}
		for _, w := range l.brokers {
			if last := w.last.Load(); last == nil {
				t.Errorf("broker writer %d was never acknowledged", w.number)
			} else if err := last.in(ask(t, n.Client, rocketmq.RouteOf(last.broker, 513))); err != nil {
				t.Errorf("%s lost a registration of %s: %v", n.ID, last.broker, err)
			}
		}
	}
	if l.breaches > 0 {
		t.Errorf("%d reads stale or failed:\n%s", l.breaches, strings.Join(slices.Concat(l.stale, l.failed), "\n"))
	}
	if keys == 0 || l.reads.Load() == 0 {
		t.Error("nothing was written or nothing was read")
	}
	t.Logf("%d keys acknowledged and at each of %d peers in the end, %d reads, %d stale, %d failed, %d writes without an acknowledgement",
		keys, len(nodes), l.reads.Load(), len(l.stale), len(l.failed), l.retried.Load())
}
