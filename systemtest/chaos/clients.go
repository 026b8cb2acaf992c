package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"time"

	"namesrv/internal/rocketmq"
)

const (
	callLimit = 3 * time.Second
	// epoch is for how long a key or a broker is used before the next one: short histories are quick to judge.
	epoch        = 3 * time.Second
	keysAtATime  = 4
	namespace    = "chaos"
	keptSpace    = "kept"
	unchanged    = "nothing was changed" // in an answer: a promise that is judged like any other
	kvClients    = 6
	keepers      = 2
	owners       = 4
	routeClients = 4
)

func mapKeys[V any](m map[string]V) iter.Seq[string] { return maps.Keys(m) }

// client is one that calls the peers over a connection to each.
type client struct {
	id    int
	addrs []string
	rng   *rand.Rand
	hist  *history
	conns map[string]*rocketmq.Conn
}

// clients are all clients of a run.
type clients struct {
	hist *history
	wg   sync.WaitGroup
	all  []*client

	mu   sync.Mutex // guards kept
	kept []string   // acknowledged keys that are never overwritten
}

// startClients starts everybody who writes and reads until ctx ends.
func startClients(ctx context.Context, seed uint64, addrs []string) *clients {
	cs := &clients{hist: newHistory()}
	begin := func(count int, work func(*clients, context.Context, *client, int)) {
		for i := range count {
			c := &client{id: len(cs.all), addrs: addrs, rng: rand.New(rand.NewPCG(seed, uint64(len(cs.all)+100))), hist: cs.hist, conns: map[string]*rocketmq.Conn{}}
			cs.all = append(cs.all, c)
			cs.wg.Go(func() { work(cs, ctx, c, i) })
		}
	}
	begin(kvClients, (*clients).useKV)
	begin(keepers, (*clients).keep)
	begin(owners, (*clients).own)
	begin(routeClients, (*clients).askRoutes)
	return cs
}

// close ends the connections. It comes after everything was judged: the end of a broker's connections would remove it.
func (cs *clients) close() {
	for _, c := range cs.all {
		for _, conn := range c.conns {
			conn.Close()
		}
	}
}

func (c *client) now() int { return int(time.Since(c.hist.began) / epoch) }

func (c *client) anywhere() string { return c.addrs[c.rng.IntN(len(c.addrs))] }

// call asks one peer. Without a connection nothing is sent, and the outcome is refused.
func (c *client) call(ctx context.Context, addr string, f *rocketmq.Frame) (*rocketmq.Frame, outcome) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callLimit)
	defer cancel()
	conn := c.conns[addr]
	if conn == nil {
		var err error
		if conn, err = rocketmq.Dial(ctx, addr); err != nil {
			wait(ctx, 20*time.Millisecond) // a closed port answers at once
			return nil, refused
		}
		c.conns[addr] = conn
	}
	answer, err := conn.Call(ctx, f)
	if errors.Is(err, rocketmq.ErrBroken) {
		conn.Close()
		delete(c.conns, addr)
	}
	switch {
	case err != nil:
		return nil, unknown
	case answer.Code == rocketmq.SystemError && strings.Contains(answer.Remark, unchanged):
		return answer, refused
	case answer.Code == rocketmq.Success, answer.Code == rocketmq.QueryNotFound, answer.Code == rocketmq.TopicNotExist:
		return answer, done
	}
	return answer, unknown
}

// useKV puts, gets and deletes a few keys that all these clients share.
func (cs *clients) useKV(ctx context.Context, c *client, _ int) {
	for i := 0; wait(ctx, rand64(c.rng, 60*time.Millisecond)); i++ {
		in := input{op: "get", key: fmt.Sprintf("k%d-%d", c.rng.IntN(keysAtATime), c.now())}
		f := rocketmq.GetKV(namespace, in.key)
		switch p := c.rng.IntN(10); {
		case p < 4:
			in.op, in.value = "put", fmt.Sprintf("%d.%d", c.id, i)
			f = rocketmq.PutKV(namespace, in.key, in.value)
		case p < 5:
			in.op = "delete"
			f = &rocketmq.Frame{Code: rocketmq.CodeDeleteKV, Version: f.Version, Fields: map[string]string{"namespace": namespace, "key": in.key}}
		}
		began := c.hist.now()
		answer, how := c.call(ctx, c.anywhere(), f)
		value := ""
		if how == done && in.op == "get" && answer.Code == rocketmq.Success {
			value = answer.Fields["value"]
		}
		c.hist.add(c.id, began, in, value, how)
	}
}

// keep puts keys that nobody touches again.
func (cs *clients) keep(ctx context.Context, c *client, _ int) {
	for i := 0; wait(ctx, rand64(c.rng, 100*time.Millisecond)); i++ {
		key := fmt.Sprintf("%d.%d", c.id, i)
		if answer, how := c.call(ctx, c.anywhere(), rocketmq.PutKV(keptSpace, key, key)); how == done && answer.Code == rocketmq.Success {
			cs.mu.Lock()
			cs.kept = append(cs.kept, key)
			cs.mu.Unlock()
		}
	}
}

func brokerName(owner, epoch int) string { return fmt.Sprintf("b%d-%d", owner, epoch) }

// own is one broker after the other, each for an epoch: it registers with ever new numbers of queues, and unregisters.
func (cs *clients) own(ctx context.Context, c *client, i int) {
	var o owner
	for turn := 1; wait(ctx, rand64(c.rng, 60*time.Millisecond)); turn++ {
		if name := brokerName(i, c.now()); name != o.reg.Broker {
			o = owner{reg: rocketmq.Registration{Cluster: "chaos", Broker: name, Addr: fmt.Sprintf("10.7.%d.%d:10911", i, c.now()%250+1), Topics: []string{name, name + "-more"}}}
		}
		if o.conn != nil && o.conn == c.conns[o.at] && c.rng.IntN(4) == 0 {
			o.unregister(ctx, c)
			continue
		}
		o.register(ctx, c, turn)
	}
}

// owner is the state of one broker.
type owner struct {
	reg  rocketmq.Registration
	at   string         // where it registered last
	conn *rocketmq.Conn // over which connection; nil when it is not registered
	// maybe is set once a registration got no answer: it may come into force later, as a birth that an
	// unregistration over another connection does not mean.
	maybe bool
}

func (o *owner) register(ctx context.Context, c *client, turn int) {
	addr := c.anywhere()
	o.reg.Queues, o.reg.Counter = turn, int64(turn)
	in := input{op: "register", key: o.reg.Broker, value: strconv.Itoa(turn)}
	began := c.hist.now()
	answer, how := c.call(ctx, addr, o.reg.Frame())
	c.hist.add(c.id, began, in, "", how)
	switch {
	case how == done && answer.Code == rocketmq.Success:
		o.at, o.conn = addr, c.conns[addr]
	case how == unknown:
		o.maybe = true
	}
}

func (o *owner) unregister(ctx context.Context, c *client) {
	in := input{op: "unregister", key: o.reg.Broker, maybe: o.maybe}
	began := c.hist.now()
	_, how := c.call(ctx, o.at, o.reg.Unregister())
	c.hist.add(c.id, began, in, "", how)
	o.conn = nil
	if how == unknown {
		o.maybe = true
	}
}

// askRoutes reads the number of queues of the brokers of this epoch.
func (cs *clients) askRoutes(ctx context.Context, c *client, _ int) {
	for wait(ctx, rand64(c.rng, 60*time.Millisecond)) {
		in := input{op: "route", key: brokerName(c.rng.IntN(owners), c.now())}
		began := c.hist.now()
		answer, how := c.call(ctx, c.anywhere(), rocketmq.RouteOf(in.key, 513))
		value := ""
		if how == done && answer.Code == rocketmq.Success {
			value = queuesIn(answer.Body)
		}
		c.hist.add(c.id, began, in, value, how)
	}
}

// queuesIn is the number of queues in a route, or the body itself where it is not one of these brokers' routes: such an
// answer is never explained.
func queuesIn(body []byte) string {
	var route struct {
		BrokerDatas []struct{ BrokerName string }
		QueueDatas  []struct{ ReadQueueNums, WriteQueueNums, Perm int }
	}
	if err := json.Unmarshal(body, &route); err != nil || len(route.QueueDatas) != 1 || len(route.BrokerDatas) != 1 ||
		route.QueueDatas[0].ReadQueueNums != route.QueueDatas[0].WriteQueueNums || route.QueueDatas[0].Perm != 6 {
		return string(body)
	}
	return strconv.Itoa(route.QueueDatas[0].ReadQueueNums)
}
