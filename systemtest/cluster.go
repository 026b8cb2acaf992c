package systemtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// pollEvery is the pause between two looks at something that is waited for.
const pollEvery = 20 * time.Millisecond

// ErrNoLeader is returned while the peers do not agree on a leader.
var ErrNoLeader = errors.New("no leader that all running peers agree on")

// Cluster is a group of peers that were formed together.
type Cluster struct {
	Nodes []*Node
}

// NewCluster prepares size nodes, named n1, n2, …, that form one group. It starts nothing.
func NewCluster(binary, dir string, size int, flags ...string) (*Cluster, error) {
	c := &Cluster{}
	var peers []string
	for i := range size {
		n, err := NewNode(binary, "n"+strconv.Itoa(i+1), dir)
		if err != nil {
			return nil, err
		}
		c.Nodes = append(c.Nodes, n)
		peers = append(peers, n.Peer)
	}
	group := []string{"--bootstrap-expect", strconv.Itoa(size), "--join", strings.Join(peers, ",")}
	for _, n := range c.Nodes {
		n.flags = slices.Concat(group, flags)
	}
	return c, nil
}

// Start starts all nodes at once and waits until each serves and reports itself ready.
func (c *Cluster) Start(ctx context.Context) error {
	for _, n := range c.Nodes {
		if err := n.Launch(); err != nil {
			return err
		}
	}
	for _, n := range c.Nodes {
		if err := n.AwaitStart(ctx); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	return c.AwaitReady(ctx)
}

// AwaitReady waits until every node reports itself ready.
func (c *Cluster) AwaitReady(ctx context.Context) error {
	for _, n := range c.Nodes {
		if err := Poll(ctx, func() error { return n.Ready(ctx) }); err != nil {
			return fmt.Errorf("node %s is not ready: %w", n.ID, err)
		}
	}
	return nil
}

// Clients are the addresses for brokers and clients, in the order of the nodes.
func (c *Cluster) Clients() []string {
	var addrs []string
	for _, n := range c.Nodes {
		addrs = append(addrs, n.Client)
	}
	return addrs
}

// Leader waits until one of the nodes is leader in the eyes of a node that answers, and returns it with the others.
// Nodes given as gone are not asked and do not count.
func (c *Cluster) Leader(ctx context.Context, gone ...*Node) (leader *Node, others []*Node, err error) {
	err = Poll(ctx, func() error {
		leader, others = nil, nil
		for _, n := range c.Nodes {
			if slices.Contains(gone, n) {
				continue
			}
			members, err := n.Members(ctx)
			if err != nil {
				return err
			}
			if n.leads(members) {
				leader = n
			} else {
				others = append(others, n)
			}
		}
		if leader == nil || len(others)+1+len(gone) != len(c.Nodes) {
			return ErrNoLeader
		}
		return nil
	})
	return leader, others, err
}

// leads reports whether members names n as the leader.
func (n *Node) leads(members []Member) bool {
	return slices.ContainsFunc(members, func(m Member) bool { return m.ID == n.ID && m.Leader })
}

// Kill ends all processes at once, as kill -9 does.
func (c *Cluster) Kill() {
	for _, n := range c.Nodes {
		if n.proc != nil {
			_ = n.proc.Signal(syscall.SIGKILL) // first all of them, so that none sees the others gone for long
		}
	}
	for _, n := range c.Nodes {
		n.Kill()
	}
}

// Stop ends all processes politely.
func (c *Cluster) Stop() {
	for _, n := range c.Nodes {
		n.Stop()
	}
}

// Poll calls try until it gives nil or ctx ends; then it fails with the last error of try.
func Poll(ctx context.Context, try func() error) error {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		err := try()
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", ctx.Err(), err)
		}
	}
}
