package systemtest_test

import (
	"testing"
	"time"

	"namesrv/internal/rocketmq"
)

// TestBrokerContainer promises that two brokers that share one connection to each peer are both known, that either comes
// and goes without the other, and that both go with their process.
func TestBrokerContainer(t *testing.T) {
	withJVMs(t)
	needFurther(t)
	addrs := startCluster(t).Clients()
	c, err := rocketmq.StartContainer(within(t, 2*time.Minute), t.TempDir(), addrs,
		rocketmq.BrokerConfig{Name: "first", Cluster: "contained"}, rocketmq.BrokerConfig{Name: "second", Cluster: "contained"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Kill)
	first, second := c.Brokers[0], c.Brokers[1]
	for _, b := range c.Brokers {
		if err := b.AwaitRegistered(within(t, 30*time.Second), addrs...); err != nil {
			t.Fatalf("%v\n%s", err, c.Output())
		}
	}
	// shown waits until every peer shows these brokers of the container and no others.
	shown := func(what string, d time.Duration, want ...*rocketmq.Broker) {
		t.Helper()
		for _, addr := range addrs {
			eventually(t, d, what+", at "+addr, func() error {
				body := ask(t, addr, &rocketmq.Frame{Code: rocketmq.CodeClusterInfo}).Body
				for _, b := range c.Brokers {
					check := lacks
					for _, w := range want {
						if w == b {
							check = has
						}
					}
					if err := check(body, `"`+b.Addr+`"`); err != nil {
						return err
					}
				}
				return nil
			})
		}
	}
	shown("both brokers", time.Second, first, second)
	if err := c.Remove(within(t, time.Minute), 0); err != nil {
		t.Fatalf("%v\n%s", err, c.Output())
	}
	shown("the first one removed", 5*time.Second, second)
	if err := c.Add(within(t, time.Minute), 0); err != nil {
		t.Fatalf("%v\n%s", err, c.Output())
	}
	shown("the first one added again", 30*time.Second, first, second)
	c.Kill()
	killed := time.Now()
	shown("the container killed", 90*time.Second)
	t.Logf("both were gone from all peers %v after the kill", time.Since(killed).Round(time.Millisecond))
}
