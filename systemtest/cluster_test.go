package systemtest_test

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"namesrv/internal/rocketmq"
	"namesrv/systemtest"
)

const messageCount = 1000

// TestRealBrokersAndClients promises that three peers are one name server to real brokers, tools and clients. Its parts
// share one group and three brokers and follow one another; the last one kills the leader.
func TestRealBrokersAndClients(t *testing.T) {
	needJava(t, rocketmq.V550, rocketmq.V497)
	c := startCluster(t)
	addrs := c.Clients()
	brokers := startBrokers(t,
		rocketmq.BrokerConfig{Name: "only-peer-2", NameServers: addrs[1:2]},
		rocketmq.BrokerConfig{Name: "all-peers", NameServers: addrs},
		rocketmq.BrokerConfig{Name: "old", NameServers: addrs[1:2], Version: rocketmq.V497},
	)
	for _, b := range brokers {
		if err := b.AwaitRegistered(within(t, 30*time.Second), addrs...); err != nil {
			t.Fatal(err)
		}
	}
	versions := []rocketmq.Version{rocketmq.V550, rocketmq.V550, rocketmq.V497}
	for i, b := range brokers {
		t.Run(b.Name, func(t *testing.T) { oneBroker(t, c, b, versions[i]) })
	}
	t.Run("same bodies", func(t *testing.T) {
		var topics []string
		for _, b := range brokers {
			topics = append(topics, topicName("updated", b.Name))
		}
		sameBodies(t, addrs, append(topics, "TBW102", "DefaultCluster"))
	})
	t.Run("leader killed", func(t *testing.T) { leaderKilled(t, c, brokers[1]) })
}

// oneBroker creates a topic with mqadmin through the second peer, looks for it at the others, and sends and consumes
// through the third.
func oneBroker(t *testing.T, c *systemtest.Cluster, b *rocketmq.Broker, v rocketmq.Version) {
	topic := topicName("updated", b.Name)
	mqadmin(t, v, "updateTopic", "-n", c.Nodes[1].Client, "-b", b.Addr, "-t", topic, "-r", "4", "-w", "4")
	for _, n := range []*systemtest.Node{c.Nodes[0], c.Nodes[2]} {
		eventually(t, time.Second, "route at "+n.ID, func() error {
			return has(ask(t, n.Client, rocketmq.RouteOf(topic, 513)).Body, b.Addr)
		})
	}
	var commands [][]string
	for _, addr := range []string{c.Nodes[0].Client, c.Nodes[2].Client} {
		commands = append(commands, []string{"topicRoute", "-n", addr, "-t", topic})
	}
	for i, out := range mqadmins(t, v, commands...) {
		if err := has([]byte(out), b.Addr); err != nil {
			t.Errorf("mqadmin %v: %v", commands[i], err)
		}
	}

	m := newMessages(t, topic, c.Nodes[2].Client)
	var sent []string
	for i := range messageCount {
		body := fmt.Sprintf("%s %d", topic, i)
		if err := m.send(t.Context(), topic, body); err != nil {
			t.Fatalf("message %d: %v", i, err)
		}
		sent = append(sent, body)
	}
	m.awaitConsumed(t, 30*time.Second, sent)
}

// sameBodies compares what all peers answer, byte for byte. A broker may change its table between two questions, so a
// difference must vanish for the test to pass; one that stays fails it.
func sameBodies(t *testing.T, addrs []string, topics []string) {
	t.Helper()
	questions := map[string]func() *rocketmq.Frame{
		"106": func() *rocketmq.Frame { return &rocketmq.Frame{Code: rocketmq.CodeClusterInfo} },
		"206": func() *rocketmq.Frame { return &rocketmq.Frame{Code: rocketmq.CodeAllTopics} },
	}
	for _, topic := range topics {
		for _, version := range []int{317, 513} { // the legacy form of JSON and the standard one
			questions[fmt.Sprintf("105 of %s by version %d", topic, version)] = func() *rocketmq.Frame { return rocketmq.RouteOf(topic, version) }
		}
	}
	for name, question := range questions {
		eventually(t, 3*time.Second, name, func() error {
			first := ask(t, addrs[0], question())
			if first.Code != rocketmq.Success || len(first.Body) == 0 {
				return fmt.Errorf("code %d (%s), %d bytes", first.Code, first.Remark, len(first.Body))
			}
			for _, addr := range addrs[1:] {
				if other := ask(t, addr, question()); !bytes.Equal(first.Body, other.Body) {
					return fmt.Errorf("%s answers\n%s\n%s answers\n%s", addrs[0], first.Body, addr, other.Body)
				}
			}
			return nil
		})
	}
}
