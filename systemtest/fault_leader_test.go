package systemtest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"namesrv/internal/rocketmq"
	"namesrv/systemtest"
)

// refusal is the error of a call, or what its answer says against it.
func refusal(answer *rocketmq.Frame, err error) error {
	if err != nil {
		return err
	}
	if answer.Code != rocketmq.Success {
		return fmt.Errorf("code %d: %s", answer.Code, answer.Remark)
	}
	return nil
}

// writers write without a pause, each at one peer after the other, and read what was acknowledged at another one.
type writers struct {
	addrs []string
	wg    sync.WaitGroup

	mu    sync.Mutex // guards the fields below
	acks  []time.Time
	keys  []string // acknowledged, with the value "of" itself
	stale []string
	last  map[string]int // writer's topic -> queues last acknowledged
	reads int
	pools []*pool
}

// startWriters starts so many writers of keys and as many brokers that change their table all the time.
func startWriters(ctx context.Context, each int, addrs ...string) *writers {
	w := &writers{addrs: addrs, last: map[string]int{}}
	for i := range each {
		w.wg.Go(func() { w.run(ctx, i, w.writeKey) })
		w.wg.Go(func() { w.run(ctx, i, w.writeTopic) })
	}
	return w
}

// run repeats one kind of write, with a connection to each peer that is opened again when it was lost.
func (w *writers) run(ctx context.Context, id int, write func(ctx context.Context, p *pool, id, turn int)) {
	p := &pool{conns: map[string]*rocketmq.Conn{}}
	w.mu.Lock()
	w.pools = append(w.pools, p) // closed later: the end of a broker's connections is the end of the broker
	w.mu.Unlock()
	for turn := 0; ctx.Err() == nil; turn++ {
		write(ctx, p, id, turn)
		select {
		case <-ctx.Done():
		case <-time.After(20 * time.Millisecond): // many writers on a small machine: the load is not what is tested
		}
	}
}

func (w *writers) at(turn int) string { return w.addrs[turn%len(w.addrs)] }

func (w *writers) writeKey(ctx context.Context, p *pool, id, turn int) {
	key := fmt.Sprintf("w%d-%d", id, turn)
	answer, err := p.call(ctx, w.at(id+turn), rocketmq.PutKV("kills", key, "of "+key))
	if refusal(answer, err) != nil {
		return
	}
	w.acked(func() { w.keys = append(w.keys, key) })
	answer, err = p.call(ctx, w.at(id+turn+1), rocketmq.GetKV("kills", key))
	w.read(err == nil && (answer.Code == rocketmq.QueryNotFound || answer.Code == rocketmq.Success && answer.Fields["value"] != "of "+key), key, answer)
}

func (w *writers) writeTopic(ctx context.Context, p *pool, id, turn int) {
	name := fmt.Sprintf("killed-%d-%d", id, p.unknown)
	r := rocketmq.Registration{Cluster: "kills", Broker: name, Addr: fmt.Sprintf("10.8.%d.%d:10911", p.unknown, id+1),
		Topics: []string{name, name + "-more"}, Queues: turn + 1, Counter: int64(turn + 1)}
	answer, err := p.call(ctx, w.at(id+turn), r.Frame())
	if refusal(answer, err) != nil {
		p.unknown++ // it may still be applied, after a later one: nothing can be said about this broker any more
		w.forget(name)
		return
	}
	w.acked(func() { w.last[name] = turn + 1 })
	answer, err = p.call(ctx, w.at(id+turn+1), rocketmq.RouteOf(name, 513))
	want := fmt.Sprintf(`"readQueueNums":%d,`, turn+1)
	w.read(err == nil && (answer.Code == rocketmq.TopicNotExist || answer.Code == rocketmq.Success && has(answer.Body, want) != nil), name+" "+want, answer)
}

func (w *writers) acked(note func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.acks = append(w.acks, time.Now())
	note()
}

func (w *writers) forget(topic string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.last, topic)
}

// close ends all connections, once nothing is written any more.
func (w *writers) close() {
	w.wg.Wait()
	for _, p := range w.pools {
		p.close()
	}
}

func (w *writers) read(stale bool, what string, answer *rocketmq.Frame) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reads++
	if stale {
		w.stale = append(w.stale, fmt.Sprintf("%s: code %d %v %.200s", what, answer.Code, answer.Fields, answer.Body))
	}
}

// gap is the longest time without an acknowledgement that began within d after from.
func (w *writers) gap(from time.Time, d time.Duration) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	var longest time.Duration
	for i, at := range w.acks[:max(len(w.acks)-1, 0)] {
		if next := w.acks[i+1]; next.After(from) && at.Before(from.Add(d)) {
			longest = max(longest, next.Sub(at))
		}
	}
	return longest
}

// ackedAfter says whether anything was acknowledged later than at.
func (w *writers) ackedAfter(at time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.acks) > 0 && w.acks[len(w.acks)-1].After(at)
}

// pool is one connection to each server.
type pool struct {
	conns   map[string]*rocketmq.Conn
	unknown int // writes of whose outcome nothing is known
}

func (p *pool) call(ctx context.Context, addr string, f *rocketmq.Frame) (*rocketmq.Frame, error) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	conn := p.conns[addr]
	if conn == nil {
		var err error
		if conn, err = rocketmq.Dial(ctx, addr); err != nil {
			return nil, err
		}
		p.conns[addr] = conn
	}
	answer, err := conn.Call(ctx, f)
	if errors.Is(err, rocketmq.ErrBroken) {
		conn.Close()
		delete(p.conns, addr)
	}
	return answer, err
}

func (p *pool) close() {
	for _, conn := range p.conns {
		conn.Close()
	}
}

// Limits of the median gap between acknowledged writes. The second is one of a quiet machine: with the full number of
// writers two cores have gaps of their own, which are printed beside it.
const (
	killedGap  = 2 * time.Second
	stoppedGap = 100 * time.Millisecond
)

// TestLeaderKilledAgainAndAgain promises that leaders killed one after another lose no acknowledged write, give no
// reader an old answer, and leave only short gaps in which nothing can be written.
func TestLeaderKilledAgainAndAgain(t *testing.T) {
	gap := replaceLeaders(t, 2, "kill", func(t *testing.T, n *systemtest.Node) { n.Kill() })
	if gap > killedGap {
		t.Errorf("median gap after a kill %v, want below %v", gap, killedGap)
	}
}

// TestLeaderStoppedAgainAndAgain promises the same of leaders that are stopped politely, with hardly any gap.
func TestLeaderStoppedAgainAndAgain(t *testing.T) {
	gap := replaceLeaders(t, 3, "polite stop", func(t *testing.T, n *systemtest.Node) {
		if !n.Stop() {
			t.Errorf("%s had to be killed", n.ID)
		}
	})
	limit := stoppedGap
	if !long() {
		limit *= 5 // other tests run beside it
	}
	if gap > limit {
		t.Errorf("median gap after a polite stop %v, want below %v", gap, limit)
	}
}

// replaceLeaders ends leaders under writers, and returns the median of the gaps. NAMESRV_LONG=1 asks for ten of them
// under fifty writers.
func replaceLeaders(t *testing.T, times int, what string, end func(*testing.T, *systemtest.Node)) time.Duration {
	t.Helper()
	each := 6
	if long() {
		times, each = 10, 25
	}
	c := startCluster(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	w := startWriters(ctx, each, c.Clients()...)
	defer func() { cancel(); w.close() }()
	eventually(t, 20*time.Second, "a first acknowledgement", func() error {
		if !w.ackedAfter(time.Time{}) {
			return errors.New("none yet")
		}
		return nil
	})
	all := gaps(t, c, w, times, func(n *systemtest.Node) { end(t, n) })
	cancel()
	w.wg.Wait()
	t.Logf("%d writers; %d acknowledged writes, %d of them read at another peer, %d stale", 2*each, len(w.acks), w.reads, len(w.stale))
	t.Logf("longest gap between acknowledged writes around a %s: median %v, worst %v (%d of them)", what, median(all), slices.Max(all), times)
	for _, s := range w.stale {
		t.Errorf("a stale read: %s", s)
	}
	for _, n := range c.Nodes {
		w.check(t, n)
	}
	return median(all)
}

// gaps ends the leader several times and measures for how long nothing was acknowledged.
// It prints the longest gap of the second before, too: on a busy machine there are some without any fault.
func gaps(t *testing.T, c *systemtest.Cluster, w *writers, times int, end func(*systemtest.Node)) (all []time.Duration) {
	t.Helper()
	var without []time.Duration
	for range times {
		leader, _ := leaderOf(t, c)
		waitFor(t, time.Second)
		at := time.Now()
		without = append(without, w.gap(at.Add(-time.Second), time.Second).Round(time.Millisecond))
		end(leader)
		leaderOf(t, c, leader)
		again := time.Now()
		eventually(t, 20*time.Second, "acknowledgements by the new leader", func() error {
			if !w.ackedAfter(again.Add(time.Second)) {
				return errors.New("none yet")
			}
			return nil
		})
		all = append(all, w.gap(at, 3*time.Second).Round(time.Millisecond))
		if err := leader.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		ready(t, c)
	}
	t.Logf("gaps: %v; before, without a fault: %v", all, without)
	return all
}

func median(all []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(all))
	return sorted[len(sorted)/2]
}

// check looks for everything acknowledged at one peer.
func (w *writers) check(t *testing.T, n *systemtest.Node) {
	t.Helper()
	var kv struct {
		Table map[string]string `json:"table"`
	}
	decode(t, ask(t, n.Client, &rocketmq.Frame{Code: rocketmq.CodeKVList, Fields: map[string]string{"namespace": "kills"}}), &kv)
	lost := 0
	for _, key := range w.keys {
		if kv.Table[key] != "of "+key {
			lost++
		}
	}
	if lost > 0 {
		t.Errorf("%s lost %d of %d acknowledged keys", n.ID, lost, len(w.keys))
	}
	for topic, queues := range w.last {
		var route struct {
			QueueDatas []struct{ ReadQueueNums int }
		}
		decode(t, ask(t, n.Client, rocketmq.RouteOf(topic, 513)), &route)
		if len(route.QueueDatas) != 1 || route.QueueDatas[0].ReadQueueNums < queues {
			t.Errorf("%s: %s has %+v, %d queues were acknowledged", n.ID, topic, route.QueueDatas, queues)
		}
	}
}
