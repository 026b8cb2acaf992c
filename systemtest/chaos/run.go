package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"namesrv/systemtest"
	"namesrv/systemtest/chaos/lab"
)

// options are what the command line chooses.
type options struct {
	binary string
	dir    string
	seed   uint64
	lasts  time.Duration
}

const (
	peers       = 3
	liveBrokers = 12
	liveTimeout = 10 * time.Second
	judgeLimit  = 2 * time.Minute
)

// verdict is what a run found.
type verdict struct {
	seed       uint64
	lasted     time.Duration
	links      bool
	schedule   []string
	faults     map[string]int
	ops        map[string]*tally
	judged     judged
	kept       int
	compared   int
	live       lab.Seen
	renewed    int
	violations []string
}

// run makes a group, torments it and judges. An error says that there was nothing to judge.
func run(ctx context.Context, o options) (*verdict, error) {
	c, network, err := newCluster(o)
	if err != nil {
		return nil, err
	}
	defer func() {
		c.Kill()
		if network != nil {
			_ = network.Close()
		}
	}()
	if err := c.Start(ctx); err != nil {
		return nil, err
	}
	v := &verdict{seed: o.seed, links: network != nil}
	brokers := lab.NewBrokers("live", liveBrokers, liveTimeout)
	load, end := context.WithCancel(ctx)
	defer end()
	fleet := lab.StartFleet(load, brokers, 2*time.Second, c.Clients()...)
	if err := registered(ctx, c, brokers); err != nil {
		return nil, err
	}
	looking, stopLooking := context.WithCancel(ctx)
	defer stopLooking()
	watch := lab.StartWatch(looking, brokers, 50*time.Millisecond, c.Clients()...)
	cs := startClients(load, o.seed, c.Clients())
	defer cs.close()

	t := &tormentor{cluster: c, network: network, began: time.Now(), counts: map[string]int{}}
	if err := t.run(ctx, schedule(o.seed, o.lasts, network != nil)); err != nil {
		v.violate("%v", err)
	}
	v.violations = append(v.violations, t.wrong...)
	v.lasted, v.schedule, v.faults = time.Since(t.began), t.log, t.counts
	if err := recovered(ctx, c, network); err != nil {
		v.violate("after all faults: %v", err)
	}
	stopLooking()
	v.live, v.renewed = watch.Wait(), fleet.Renewed()
	end()
	cs.wg.Wait()
	v.judge(ctx, c, cs)
	fleet.Stop()
	return v, ctx.Err()
}

func newCluster(o options) (*systemtest.Cluster, *lab.Network, error) {
	flags := []string{"--on-no-leader", "refuse"}
	network, err := lab.NewNetwork(peers)
	if errors.Is(err, lab.ErrUnable) {
		c, err := systemtest.NewCluster(o.binary, o.dir, peers, flags...)
		return c, nil, err
	}
	if err != nil {
		return nil, nil, err
	}
	c, err := network.NewCluster(o.binary, o.dir, flags...)
	if err != nil {
		return nil, nil, errors.Join(err, network.Close())
	}
	return c, network, nil
}

// recovered waits until all peers are well again.
func recovered(ctx context.Context, c *systemtest.Cluster, network *lab.Network) error {
	if network != nil {
		if err := network.Heal(); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	return c.AwaitReady(ctx)
}

func (v *verdict) violate(format string, args ...any) {
	v.violations = append(v.violations, fmt.Sprintf(format, args...))
}

// judge looks at what the clients saw and at what the peers hold in the end.
func (v *verdict) judge(ctx context.Context, c *systemtest.Cluster, cs *clients) {
	v.ops, v.judged = cs.hist.counts, cs.hist.judge(judgeLimit)
	v.violations = append(v.violations, v.judged.broken...)
	for _, miss := range v.live.Misses {
		v.violate("a live broker is absent: %s", miss)
	}
	v.kept = len(cs.kept)
	for _, n := range c.Nodes {
		if err := holds(ctx, n, cs.kept); err != nil {
			v.violate("%v", err)
		}
	}
	var err error
	if v.compared, err = alike(ctx, c); err != nil {
		v.violate("%v", err)
	}
}

// print writes the counts, and with a violation all that is needed to see it again.
func (v *verdict) print(w io.Writer) {
	where := "with links that can be cut"
	if !v.links {
		where = "without cuts of links, which need root"
	}
	fmt.Fprintf(w, "seed %d: %v of faults, %s\n", v.seed, v.lasted.Round(time.Second), where)
	fmt.Fprintf(w, "  faults:")
	total := 0
	for _, name := range sorted(v.faults) {
		fmt.Fprintf(w, " %s %d,", name, v.faults[name])
		total += v.faults[name]
	}
	fmt.Fprintf(w, " %d in all\n", total)
	for _, op := range sorted(v.ops) {
		t := v.ops[op]
		fmt.Fprintf(w, "  %-10s %6d done, %5d refused, %4d without an outcome\n", op, t.done, t.refused, t.unknown)
	}
	fmt.Fprintf(w, "  histories: %d of %d operations judged, %d linearizable, %d not, %d undecided\n", v.judged.keys, v.judged.ops,
		v.judged.keys-len(v.judged.broken)-len(v.judged.undecided), len(v.judged.broken), len(v.judged.undecided))
	fmt.Fprintf(w, "  live brokers: %d renewals; %v\n", v.renewed, v.live)
	fmt.Fprintf(w, "  in the end: %d acknowledged keys looked for at each peer, %d answers compared between peers\n", v.kept, v.compared)
	fmt.Fprintf(w, "  violations: %d\n", len(v.violations))
	if len(v.violations) == 0 {
		return
	}
	fmt.Fprintf(w, "\nschedule of seed %d as it was:\n%s\n", v.seed, strings.Join(v.schedule, "\n"))
	for _, text := range v.violations {
		fmt.Fprintf(w, "\nVIOLATION: %s\n", text)
	}
}
