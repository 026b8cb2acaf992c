package systemtest_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"namesrv/internal/rocketmq"
)

// splitSize is how many topics the broker sends at once.
const splitSize = 3

// TestBesideTheStockServer registers real brokers at three peers and at a stock server, and compares what tools and
// other brokers see there. Its parts share the servers.
func TestBesideTheStockServer(t *testing.T) {
	withJVMs(t)
	needJava(t, rocketmq.V550)
	s, err := rocketmq.StartStock(within(t, 2*time.Minute), rocketmq.StockConfig{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Kill)
	c := startCluster(t)
	all := append(c.Clients(), s.Addr)
	b := startBroker(t, rocketmq.BrokerConfig{Name: "split", NameServers: all, Properties: []string{
		"enableSplitRegistration=true", fmt.Sprintf("splitRegistrationSize=%d", splitSize),
		"timerWheelEnable=true", // or it cannot delete topics
		"authenticationMetadataProvider=org.apache.rocketmq.auth.authentication.provider.LocalAuthenticationMetadataProvider",
		"authorizationMetadataProvider=org.apache.rocketmq.auth.authorization.provider.LocalAuthorizationMetadataProvider",
	}})
	if err := b.AwaitRegistered(within(t, 30*time.Second), all...); err != nil {
		t.Fatal(err)
	}
	t.Run("split registration", func(t *testing.T) { allTopics(t, all, b) })
	t.Run("tools", func(t *testing.T) { toolsAlike(t, s, c, b) })
	t.Run("acting master", func(t *testing.T) { actingMaster(t, s, c) })
}

// allTopics promises that a table which came in parts is there as a whole, also the part of a topic created later. The
// stock server is the last of the addresses.
func allTopics(t *testing.T, addrs []string, b *rocketmq.Broker) {
	if err := rocketmq.CreateTopic(within(t, time.Minute), b.Addr, topicOf(b)); err != nil {
		t.Fatal(err)
	}
	for _, addr := range addrs {
		eventually(t, 15*time.Second, "topics at "+addr, func() error {
			ours, stock := topicsAt(t, addr), topicsAt(t, addrs[len(addrs)-1])
			if diff := cmp.Diff(stock, ours); diff != "" {
				return fmt.Errorf("(-stock +ours):\n%s", diff)
			}
			if len(ours) <= splitSize {
				return fmt.Errorf("%v are not more than one part", ours)
			}
			return has([]byte(fmt.Sprint(ours)), topicOf(b))
		})
	}
}

// topicsAt are the names of all topics, sorted.
func topicsAt(t *testing.T, addr string) []string {
	t.Helper()
	var list struct{ TopicList []string }
	if err := json.Unmarshal(ask(t, addr, &rocketmq.Frame{Code: rocketmq.CodeAllTopics}).Body, &list); err != nil {
		t.Fatal(err)
	}
	slices.Sort(list.TopicList)
	return list.TopicList
}
