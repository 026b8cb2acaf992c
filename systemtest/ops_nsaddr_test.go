package systemtest_test

import (
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/rocketmq-client-go/v2/primitive"

	"namesrv/internal/rocketmq"
	"namesrv/systemtest"
)

const (
	// Clients ask the address server when they start, ten seconds later, and then every two minutes; a broker asks
	// every ten seconds.
	askedAgain = 2*time.Minute + 30*time.Second
	freshTime  = time.Minute // for a message to a topic whose route one peer alone can tell
)

// movable is a group each of whose peers has, for clients, an address that can be cut.
type movable struct {
	nodes  []*systemtest.Node
	relays map[*systemtest.Node]*relay
	door   *frontDoor
}

func startMovable(t *testing.T) *movable {
	t.Helper()
	c := newCluster(t)
	m := &movable{nodes: slices.Clone(c.Nodes), relays: map[*systemtest.Node]*relay{}}
	for _, n := range c.Nodes {
		m.relays[n] = newRelay(t, n.Client)
		n.AddFlags("--advertise", m.relays[n].addr)
	}
	if err := c.Start(within(t, time.Minute)); err != nil {
		t.Fatal(err)
	}
	m.door = newFrontDoor(t, m.admins()...)
	return m
}

func (m *movable) admins() (addrs []string) {
	for _, n := range m.nodes {
		addrs = append(addrs, n.Admin)
	}
	return addrs
}

// list is what the address server should say.
func (m *movable) list() string {
	var addrs []string
	for _, n := range m.nodes {
		addrs = append(addrs, m.relays[n].addr)
	}
	return strings.Join(addrs, ";")
}

// replaceFirst lets a newcomer join and the first peer leave.
func (m *movable) replaceFirst(t *testing.T, id string) (newcomer *systemtest.Node) {
	t.Helper()
	newcomer = newNode(t, id, "--bootstrap-expect", "0")
	m.relays[newcomer] = newRelay(t, newcomer.Client)
	newcomer.AddFlags("--advertise", m.relays[newcomer].addr)
	if err := newcomer.Launch(); err != nil {
		t.Fatal(err)
	}
	m.nodes = append(m.nodes, newcomer)
	m.door.lead(m.admins()...)
	join(t, m.nodes[1], newcomer)
	m.told(t, 10*time.Second, "anybody")
	removeMember(t, m.nodes[2], m.nodes[0])
	m.nodes = m.nodes[1:]
	m.told(t, 10*time.Second, "anybody")
	return newcomer
}

// told waits until the address server says the right thing to "anybody" who asks now, or has said it to one of the others.
func (m *movable) told(t *testing.T, limit time.Duration, who string) {
	t.Helper()
	eventually(t, limit, who+" is told the list", func() error {
		got := m.door.told(who)
		if who == "anybody" {
			var err error
			if got, err = fetch(t.Context(), "http://"+m.door.host+"/rocketmq/nsaddr"); err != nil {
				return err
			}
		}
		if got != m.list() {
			return fmt.Errorf("told %s, want %s", got, m.list())
		}
		return nil
	})
}

// TestAddressServer promises that a broker, a Go client and a Java client that know nothing but the address server follow a
// group from which its first peer leaves after another has joined, and lose no message meanwhile. That they have followed
// shows when they need a route and reach the newcomer only. Clients ask once more ten seconds after their start, which is
// when the change is made; a second change, with NAMESRV_LONG=1, is found at their usual two minutes.
func TestAddressServer(t *testing.T) {
	withJVMs(t)
	needJava(t, rocketmq.V550)
	g := startMovable(t)
	b := startBroker(t, rocketmq.BrokerConfig{Name: "asking", Properties: []string{
		"fetchNamesrvAddrByAddressServer=true", "rmqAddressServerDomain=" + g.door.host, "rmqAddressServerSubGroup=broker",
		"registerNameServerPeriod=10000",
	}})
	if err := b.AwaitRegistered(within(t, time.Minute), g.nodes[0].Client); err != nil {
		t.Fatal(err)
	}
	topic := topicOf(b)
	if err := rocketmq.CreateTopic(within(t, 30*time.Second), b.Addr, topic); err != nil {
		t.Fatal(err)
	}
	java, err := rocketmq.StartJavaSender(within(t, 2*time.Minute), t.TempDir(), topic,
		"-Drocketmq.namesrv.domain="+g.door.host, "-Drocketmq.namesrv.domain.subgroup=java")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(java.Kill)
	m := newMessagesBy(t, topic, goResolver(t, g.door.host))
	sends := sendSteadily(t, m, topic)

	ids := []string{"n4"}
	if long() {
		ids = append(ids, "n5")
	}
	for _, id := range ids {
		began := time.Now()
		newcomer := g.replaceFirst(t, id)
		t.Logf("%s joined and another peer left within %v", id, time.Since(began).Round(100*time.Millisecond))
		for _, who := range []string{"broker", "go", "java"} {
			g.told(t, askedAgain, who)
			t.Logf("%s was told after %v", who, time.Since(began).Round(100*time.Millisecond))
		}
		g.only(t, newcomer, func() {
			fresh := "only-at-" + id
			eventually(t, freshTime, "route of a new topic at "+id, func() error {
				if err := rocketmq.CreateTopic(within(t, 30*time.Second), b.Addr, fresh); err != nil {
					return err
				}
				return has(ask(t, newcomer.Client, rocketmq.RouteOf(fresh, 513)).Body, b.Addr)
			})
			eventually(t, freshTime, "a message of the Go client", func() error { return m.send(t.Context(), fresh, "first") })
			if err := java.SendTo(within(t, freshTime), fresh); err != nil {
				t.Fatalf("a message of the Java client: %v\n%s", err, java.Output())
			}
		})
	}
	sends.noneFailed(t, "Go client", m)
	sent, failed, err := java.Finish(within(t, 30*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("Java client: %d messages sent, %d failed", sent, failed)
	if failed > 0 {
		t.Error(java.Output())
	}
}

// only runs do while no peer but one can be reached by clients and brokers.
func (m *movable) only(t *testing.T, n *systemtest.Node, do func()) {
	t.Helper()
	for _, other := range m.nodes {
		if other != n {
			m.relays[other].cut()
			defer m.relays[other].heal(t)
		}
	}
	do()
}

// goResolver asks the address server at host as the Go client does. It keeps what it was told in a file in the user's home.
func goResolver(t *testing.T, host string) primitive.NsResolver {
	t.Helper()
	const instance = "namesrv-systemtest"
	if u, err := user.Current(); err == nil {
		t.Cleanup(func() { os.Remove(filepath.Join(u.HomeDir, "logs/rocketmq-go/snapshot/nameserver_addr-"+instance)) })
	}
	return primitive.NewHttpResolver(instance, "http://"+host+"/rocketmq/go")
}
