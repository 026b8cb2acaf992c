package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	"namesrv/systemtest"
	"namesrv/systemtest/chaos/lab"
)

// leaderLimit is how long a fault for the leader waits until there is one.
const leaderLimit = 3 * time.Second

// tormentor makes the faults of a schedule, one after the other.
type tormentor struct {
	cluster *systemtest.Cluster
	network *lab.Network // nil without
	began   time.Time
	log     []string // what was done, and when
	wrong   []string // what peers did that they must not, and the schedule went on
	counts  map[string]int
}

func (t *tormentor) note(format string, args ...any) {
	t.log = append(t.log, fmt.Sprintf("%8.3f s  ", time.Since(t.began).Seconds())+fmt.Sprintf(format, args...))
}

// run makes all faults; an error says that a peer did something on its own, or that a fault could not be made.
func (t *tormentor) run(ctx context.Context, faults []fault) error {
	for _, f := range faults {
		if err := t.allRun(); err != nil {
			return err
		}
		if err := t.make(ctx, f); err != nil {
			return fmt.Errorf("%s: %w", f, err)
		}
		if !wait(ctx, f.rest) {
			return ctx.Err()
		}
	}
	return t.allRun()
}

// allRun finds peers that ended by themselves.
func (t *tormentor) allRun() error {
	for _, n := range t.cluster.Nodes {
		select {
		case <-n.Process().Done():
			lines := strings.Split(strings.TrimSpace(n.Process().Stderr()), "\n")
			return fmt.Errorf("%w: %s: %s", errEnded, n.ID, lines[len(lines)-1])
		default:
		}
	}
	return nil
}

var errEnded = errors.New("a peer ended by itself")

func (t *tormentor) make(ctx context.Context, f fault) error {
	victims, err := t.victims(ctx, f.victim)
	if err != nil {
		return err
	}
	var names []string
	for _, n := range victims {
		names = append(names, n.ID)
	}
	t.note("%s %s (%s) for %v", f.name, f.victim, strings.Join(names, ", "), f.lasts)
	t.counts[f.name]++
	undo, err := t.begin(f.name, victims)
	if err != nil {
		return err
	}
	whole := wait(ctx, f.lasts)
	t.note("  over; rest for %v", f.rest)
	if err := undo(); err != nil || whole {
		return err
	}
	return ctx.Err()
}

// victims are found when the fault comes. Where nobody leads, the first peer is as good.
func (t *tormentor) victims(ctx context.Context, who string) ([]*systemtest.Node, error) {
	lctx, cancel := context.WithTimeout(ctx, leaderLimit)
	defer cancel()
	leader, others, err := lab.Leader(lctx, t.cluster.Nodes)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		leader, others = t.cluster.Nodes[0], t.cluster.Nodes[1:]
	}
	switch who {
	case theLeader:
		return []*systemtest.Node{leader}, nil
	case aFollower:
		return others[:1], nil
	case twoPeers:
		return []*systemtest.Node{leader, others[0]}, nil
	case bothOthers:
		return others, nil
	}
	return t.cluster.Nodes, nil
}

// begin starts a fault and returns what ends it.
func (t *tormentor) begin(name string, victims []*systemtest.Node) (undo func() error, err error) {
	switch name {
	case "kill":
		return t.restart(victims), each(victims, func(n *systemtest.Node) error { return n.Process().Signal(syscall.SIGKILL) })
	case "stop":
		return t.restart(victims), each(victims, func(n *systemtest.Node) error {
			if began := time.Now(); !n.Stop() {
				t.wrong = append(t.wrong, fmt.Sprintf("%s did not end within %v of a polite stop", n.ID, time.Since(began).Round(time.Second)))
				t.note("  %s had to be killed", n.ID)
			}
			return nil
		})
	case "pause":
		goOn := func() error {
			return each(victims, func(n *systemtest.Node) error { return n.Process().Signal(syscall.SIGCONT) })
		}
		return goOn, each(victims, func(n *systemtest.Node) error { return n.Process().Signal(syscall.SIGSTOP) })
	case "clock":
		return t.step(victims[0])
	}
	return t.network.Heal, t.cut(name, slices.Index(t.cluster.Nodes, victims[0]))
}

func (t *tormentor) restart(victims []*systemtest.Node) func() error {
	return func() error {
		return each(victims, func(n *systemtest.Node) error {
			n.Kill() // waits for its end
			return n.Launch()
		})
	}
}

// step moves a wall clock an hour ahead, and back by more than that.
func (t *tormentor) step(n *systemtest.Node) (undo func() error, err error) {
	err = lab.StepClock(n.Process().Pid(), time.Hour)
	if errors.Is(err, lab.ErrUnable) {
		t.note("  not done: %v", err)
		return func() error { return nil }, nil
	}
	return func() error { return lab.StepClock(n.Process().Pid(), -time.Hour) }, err
}

func (t *tormentor) cut(name string, victim int) error {
	others := []int{(victim + 1) % 3, (victim + 2) % 3}
	switch name {
	case "isolate":
		return t.network.Isolate(victim)
	case "deafen":
		return errors.Join(t.network.Cut(others[0], victim), t.network.Cut(others[1], victim))
	case "mute":
		return errors.Join(t.network.Cut(victim, others[0]), t.network.Cut(victim, others[1]))
	}
	return errors.Join(t.network.Cut(victim, others[0]), t.network.Cut(others[0], victim))
}

func each(nodes []*systemtest.Node, do func(*systemtest.Node) error) error {
	var errs []error
	for _, n := range nodes {
		errs = append(errs, do(n))
	}
	return errors.Join(errs...)
}

// wait says whether all of d passed before the end of ctx.
func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
