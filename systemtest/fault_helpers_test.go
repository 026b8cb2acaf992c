package systemtest_test

import (
	"context"
	"errors"
	"os"
	"syscall"
	"testing"
	"time"

	"namesrv/internal/rocketmq"
	"namesrv/systemtest"
	"namesrv/systemtest/chaos/lab"
)

const (
	shortTimeout = 10 * time.Second // heartbeatTimeoutMillis of brokers in these tests
	scanEvery    = 5 * time.Second  // scanNotActiveBrokerInterval, as it is by default
	lookEvery    = 20 * time.Millisecond
)

// lasting is how long a part of a fault test lasts: NAMESRV_LONG=1 asks for the full length.
func lasting(short, full time.Duration) time.Duration {
	if long() {
		return full
	}
	return short
}

// fleet starts brokers that renew at the given servers, and waits until each server shows them all.
func fleet(t *testing.T, c *systemtest.Cluster, brokers []rocketmq.Registration, every time.Duration, addrs ...string) *lab.Fleet {
	t.Helper()
	f := lab.StartFleet(t.Context(), brokers, every, addrs...)
	t.Cleanup(f.Stop)
	for _, n := range c.Nodes {
		shows(t, n, 20*time.Second, brokers...)
	}
	return f
}

// shows waits until a peer's list of brokers has all of them.
func shows(t *testing.T, n *systemtest.Node, within time.Duration, brokers ...rocketmq.Registration) {
	t.Helper()
	eventually(t, within, "brokers at "+n.ID, func() error {
		answer, err := rocketmq.Ask(t.Context(), n.Client, &rocketmq.Frame{Code: rocketmq.CodeClusterInfo})
		for _, b := range brokers {
			if err == nil {
				err = has(answer.Body, `"`+b.Addr+`"`)
			}
		}
		return err
	})
}

// watch looks all the time for brokers that must never be absent; the returned function ends it and judges.
func watch(t *testing.T, brokers []rocketmq.Registration, addrs ...string) (done func() lab.Seen) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	w := lab.StartWatch(ctx, brokers, lookEvery, addrs...)
	t.Cleanup(func() { cancel(); w.Wait() })
	return func() lab.Seen {
		t.Helper()
		cancel()
		seen := w.Wait()
		t.Log(seen)
		for _, miss := range seen.Misses {
			t.Error(miss)
		}
		if seen.Good == 0 {
			t.Error("nothing was seen at all")
		}
		return seen
	}
}

func leaderOf(t *testing.T, c *systemtest.Cluster, gone ...*systemtest.Node) (leader *systemtest.Node, others []*systemtest.Node) {
	t.Helper()
	leader, others, err := lab.Leader(within(t, 20*time.Second), c.Nodes, gone...)
	if err != nil {
		t.Fatal(err)
	}
	return leader, others
}

func signal(t *testing.T, n *systemtest.Node, sig syscall.Signal) {
	t.Helper()
	if err := n.Process().Signal(sig); err != nil {
		t.Fatal(err)
	}
}

func ready(t *testing.T, c *systemtest.Cluster) {
	t.Helper()
	if err := c.AwaitReady(within(t, time.Minute)); err != nil {
		t.Fatal(err)
	}
}

// able skips a test where a fault cannot be made, or fails it where skipping is not allowed to root.
func able(t *testing.T, err error) {
	t.Helper()
	switch {
	case err == nil:
	case errors.Is(err, lab.ErrUnable) && (os.Geteuid() != 0 || os.Getenv("NAMESRV_SYSTEMTEST") != "1"):
		t.Skip(err)
	default:
		t.Fatal(err)
	}
}

// networkCluster starts three peers in hosts of their own, whose links can be cut.
func networkCluster(t *testing.T, flags ...string) (*systemtest.Cluster, *lab.Network) {
	t.Helper()
	network, err := lab.NewNetwork(3)
	able(t, err)
	t.Cleanup(func() {
		if err := network.Close(); err != nil {
			t.Error(err)
		}
	})
	c, err := network.NewCluster(binaryPath(t), t.TempDir(), flags...)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range c.Nodes {
		t.Cleanup(func() { showLog(t, n) })
	}
	t.Cleanup(c.Kill)
	if err := c.Start(within(t, time.Minute)); err != nil {
		t.Fatal(err)
	}
	return c, network
}

// tryCall is a question on a connection of its own that may fail.
func tryCall(ctx context.Context, addr string, f *rocketmq.Frame, limit time.Duration) (*rocketmq.Frame, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return rocketmq.Ask(ctx, addr, f)
}
