package systemtest_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"namesrv/internal/rocketmq"
)

const (
	exchanged    = 50 // messages of each client
	exchangeTime = 4 * time.Minute
)

// needFurther is needJava for the proxy and the container.
func needFurther(t *testing.T) {
	t.Helper()
	needJava(t, rocketmq.V550)
	if _, err := rocketmq.FurtherArtifacts(within(t, fetchTime)); err != nil {
		t.Fatal(err)
	}
}

// needNode skips the test without Node, or fails it where skipping is not allowed, and makes sure of its client.
func needNode(t *testing.T) {
	t.Helper()
	if missing := rocketmq.MissingForNode(); missing != "" {
		if os.Getenv("NAMESRV_SYSTEMTEST") == "1" {
			t.Fatal("not installed: " + missing)
		}
		t.Skip("not installed: " + missing)
	}
	if _, err := rocketmq.AliONS(within(t, fetchTime)); err != nil {
		t.Fatal(err)
	}
}

// TestClientsOfOtherLanguages promises that three peers are a name server to the clients for Java and Node and to the
// proxy. Its parts share a group and two brokers that compress their registrations: one of 5.5.0, which says that it does
// not and never registers at a stock server, and one of 4.9.7, which says so.
func TestClientsOfOtherLanguages(t *testing.T) {
	withJVMs(t)
	needFurther(t)
	needJava(t, rocketmq.V497)
	c := startCluster(t)
	addrs := c.Clients()
	brokers := startBrokers(t,
		rocketmq.BrokerConfig{Name: "compressed", NameServers: addrs, Properties: []string{"compressedRegister=true"}},
		rocketmq.BrokerConfig{Name: "compressed-old", Cluster: "old", NameServers: addrs, Properties: []string{"compressedRegister=true"}, Version: rocketmq.V497},
	)
	for _, b := range brokers {
		t.Run("registration of "+b.Name, func(t *testing.T) { compressedRegistration(t, addrs, b) })
	}
	topic := topicOf(brokers[0])
	for _, client := range javaClients {
		t.Run(client.name, func(t *testing.T) { javaThroughTaps(t, addrs, topic, client) })
	}
	t.Run("Node", func(t *testing.T) {
		needNode(t)
		converse(t, rocketmq.MessagesInNode, rocketmq.Exchange{NameServers: addrs, Topic: topic, Name: "node"})
	})
	t.Run("proxy", func(t *testing.T) {
		p, err := rocketmq.StartProxy(within(t, 2*time.Minute), "DefaultCluster", t.TempDir(), addrs...)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(p.Kill)
		converse(t, rocketmq.MessagesInJava, rocketmq.Exchange{NameServers: []string{p.Addr}, Topic: topic, Name: "proxy"})
	})
}

// topicOf is the topic that the tests create at a broker.
func topicOf(b *rocketmq.Broker) string { return topicName("topic", b.Name) }

// compressedRegistration promises that the broker and all its topics, also one created later, are known at every peer.
func compressedRegistration(t *testing.T, addrs []string, b *rocketmq.Broker) {
	if err := b.AwaitRegistered(within(t, 30*time.Second), addrs...); err != nil {
		t.Fatal(err)
	}
	if err := rocketmq.CreateTopic(within(t, 30*time.Second), b.Addr, topicOf(b)); err != nil {
		t.Fatal(err)
	}
	for _, addr := range addrs {
		for _, topic := range []string{topicOf(b), "SCHEDULE_TOPIC_XXXX"} {
			eventually(t, time.Second, topic+" at "+addr, func() error {
				return has(ask(t, addr, rocketmq.RouteOf(topic, 513)).Body, b.Addr)
			})
		}
	}
}

// javaClient is a way to run the Java client.
type javaClient struct {
	name    string
	options []string
	seen    func(*tap) int64 // its connections among those of a tap
}

var javaClients = []javaClient{
	{"Java with JSON", nil, func(s *tap) int64 { return s.json.Load() }},
	{"Java with binary headers", []string{"-Drocketmq.serialize.type=ROCKETMQ"}, func(s *tap) int64 { return s.binary.Load() }},
	{"Java with JSON over TLS", []string{"-Dtls.enable=true"}, func(s *tap) int64 { return s.tls.Load() }},
	{
		"Java with binary headers over TLS", []string{"-Drocketmq.serialize.type=ROCKETMQ", "-Dtls.enable=true"},
		func(s *tap) int64 { return s.tls.Load() },
	},
}

// javaThroughTaps runs the client and shows that it came as it was told to, and in no other way.
func javaThroughTaps(t *testing.T, addrs []string, topic string, client javaClient) {
	var taps []*tap
	var via []string
	for _, addr := range addrs {
		s := newTap(t, addr)
		taps, via = append(taps, s), append(via, s.addr)
	}
	converse(t, rocketmq.MessagesInJava, rocketmq.Exchange{
		NameServers: via, Topic: topic, Name: strings.ReplaceAll(client.name, " ", "-"), Options: client.options,
	})
	var all, seen int64
	for _, s := range taps {
		all += s.tls.Load() + s.json.Load() + s.binary.Load()
		seen += client.seen(s)
	}
	if seen == 0 || all != seen {
		t.Errorf("%d connections, %d of the kind it was told to make", all, seen)
	}
}

// converse lets a client send and consume.
func converse(t *testing.T, client func(context.Context, rocketmq.Exchange) (string, error), e rocketmq.Exchange) {
	t.Helper()
	e.Count = exchanged
	out, err := client(within(t, exchangeTime), e)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := has([]byte(out), "all consumed"); err != nil {
		t.Error(err)
	}
}
