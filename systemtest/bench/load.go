package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"namesrv/internal/rocketmq"
)

// The tables under load: 4 brokers that all have 1,000 topics. A route is then 847 bytes in the answer of the stock server.
const (
	routeBrokers = 4
	loadTopics   = 1000
	routeVersion = 513 // of the client that asks: RocketMQ 5.5.0
)

const (
	registerConns = 16 // one broker each, one registration in flight, as brokers do
	variants      = 8  // of a changed registration, sent in turn: each differs from the one before
	framesPerLine = 64 // route queries of different topics
	keepEvery     = 30 * time.Second
	longTimeoutMS = 3600000
)

// workload is one row of the table and how to make its load.
type workload struct {
	name   string
	depth  int
	frames func() [][][]byte // for each connection, what it sends over and over
	echo   bool              // whether the bare echo server is driven with it, too
}

// workloads are all that there are; those that are only routes come first.
func workloads() []workload {
	return []workload{
		{"route, 16 connections × 16 in flight", 16, func() [][][]byte { return routeFrames(16) }, true},
		{"route, 64 connections × 1", 1, func() [][][]byte { return routeFrames(64) }, true},
		{"unchanged registration, 1,000 topics", 1, func() [][][]byte { return registerFrames("same", 1) }, false},
		{"changed registration, 1,000 topics", 1, func() [][][]byte { return registerFrames("changed", variants) }, false},
	}
}

func (o options) workloads() []workload {
	if o.routes {
		return workloads()[:2]
	}
	return workloads()
}

func topicNames(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("load-topic-%05d", i)
	}
	return names
}

func routeFrames(conns int) [][][]byte {
	names := topicNames(loadTopics)
	all := make([][][]byte, conns)
	for c := range all {
		for i := range framesPerLine {
			all[c] = append(all[c], rocketmq.RouteOf(names[(c*framesPerLine+i)*7919%len(names)], routeVersion).Encode())
		}
	}
	return all
}

func registerFrames(kind string, variants int) [][][]byte {
	names := topicNames(loadTopics)
	all := make([][][]byte, registerConns)
	for c := range all {
		r := rocketmq.Registration{
			Cluster: "load-" + kind, Broker: fmt.Sprintf("%s-b%d", kind, c), Addr: fmt.Sprintf("10.201.0.%d:10911", c+1),
			Topics: make([]string, len(names)), TimeoutMS: longTimeoutMS,
		}
		for i, name := range names {
			r.Topics[i] = kind + "-" + name // topics of their own: the routes of the others stay as they are
		}
		for v := range variants {
			r.Counter, r.Queues = int64(v+1), 4+v
			all[c] = append(all[c], r.Frame().Encode())
		}
	}
	return all
}

// measureLoad lets the systems take turns with every workload that is asked for.
func measureLoad(ctx context.Context, o options, dir string, r *results) error {
	var systems []*system
	for _, name := range []string{stock, ours, three, echo} {
		s, err := start(ctx, o, dir, name)
		if err != nil {
			return err
		}
		defer s.stop()
		systems = append(systems, s)
		if name != echo {
			release, err := fill(ctx, s, tableSize{routeBrokers, loadTopics})
			if err != nil {
				return err
			}
			defer release()
		}
	}
	generators := map[string]*generator{}
	for _, w := range o.workloads() {
		for _, s := range systems {
			if s.name == echo && !w.echo {
				continue
			}
			g, err := newGenerator(ctx, s, w.depth, w.frames())
			if err != nil {
				return err
			}
			defer g.close()
			generators[w.name+s.name] = g
		}
	}
	return takeTurns(ctx, o, systems, generators, r)
}

func takeTurns(ctx context.Context, o options, systems []*system, generators map[string]*generator, r *results) error {
	for round := range o.rounds + 1 { // the first one warms up
		progress("round %d of %d", round, o.rounds)
		for _, w := range o.workloads() {
			for i := range systems {
				s := systems[(i+round)%len(systems)] // none is always the first
				g := generators[w.name+s.name]
				if g == nil {
					continue
				}
				d := o.each
				if round == 0 && s.name == stock {
					d = o.warm / time.Duration(len(o.workloads()))
				}
				out, err := g.run(s, d)
				if err == nil {
					err = ctx.Err()
				}
				if err != nil {
					return fmt.Errorf("%s at %s: %w", w.name, s.name, err)
				}
				if round > 0 {
					r.addRate(w.name, s.name, out)
				}
			}
		}
	}
	return nil
}

// fill registers brokers that all have the same topics, each on a connection of its own, and keeps them there until
// the returned function is called.
func fill(ctx context.Context, s *system, size tableSize) (release func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	k := &keeper{stopped: make(chan struct{})}
	names := topicNames(size.topics)
	for i := range size.brokers {
		r := rocketmq.Registration{
			Cluster: "load-c", Broker: fmt.Sprintf("load-b%d", i), Addr: fmt.Sprintf("10.200.%d.%d:10911", i/250, i%250+1),
			Topics: names, Counter: 1, TimeoutMS: longTimeoutMS,
		}
		if err = k.register(ctx, s.addrs[i%len(s.addrs)], r); err != nil {
			break
		}
	}
	go k.keep(ctx)
	release = func() {
		cancel()
		<-k.stopped
		k.close()
	}
	if err != nil {
		release()
		return nil, fmt.Errorf("fill %s: %w", s.name, err)
	}
	return release, nil
}

// keeper holds the connections of brokers that do nothing else, and sends a heartbeat on each so that none falls idle.
type keeper struct {
	conns   []*rocketmq.Conn
	beats   []*rocketmq.Frame
	stopped chan struct{}
}

func (k *keeper) register(ctx context.Context, addr string, r rocketmq.Registration) error {
	c, err := rocketmq.Dial(ctx, addr)
	if err != nil {
		return err
	}
	k.conns = append(k.conns, c)
	k.beats = append(k.beats, r.Heartbeat())
	answer, err := c.Call(ctx, r.Frame())
	if err != nil {
		return err
	}
	if answer.Code != rocketmq.Success {
		return fmt.Errorf("%w: code %d: %s", errRefused, answer.Code, answer.Remark)
	}
	return nil
}

func (k *keeper) keep(ctx context.Context) {
	defer close(k.stopped)
	tick := time.NewTicker(keepEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for i, c := range k.conns {
			if _, err := c.Call(ctx, k.beats[i]); err != nil && ctx.Err() == nil {
				progress("a broker lost its connection: %v", err)
			}
		}
	}
}

func (k *keeper) close() {
	for _, c := range k.conns {
		c.Close()
	}
}

func progress(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
