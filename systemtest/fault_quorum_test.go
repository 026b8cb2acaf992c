package systemtest_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"namesrv/internal/rocketmq"
	"namesrv/systemtest"
	"namesrv/systemtest/chaos/lab"
)

// TestWithoutQuorum promises what a peer does alone: after two seconds it answers what it knows at once, denies nothing,
// takes unchanged registrations and refuses changes at once; with the quorum back all is as before.
func TestWithoutQuorum(t *testing.T) {
	c := startCluster(t)
	brokers := lab.NewBrokers("alone", 12, shortTimeout)
	fleet(t, c, brokers, 2*time.Second, c.Clients()...)
	put(t, c.Nodes[0].Client, "before", "1")
	leader, others := leaderOf(t, c)
	last := others[0]
	leader.Kill()
	others[1].Kill()

	conn := dial(t, last.Client)
	eventually(t, 10*time.Second, "answers without a leader", func() error {
		return refusal(conn.Call(within(t, 5*time.Second), rocketmq.RouteOf(brokers[0].Topics[0], 513)))
	})
	waitFor(t, 2*time.Second)
	seen := watch(t, brokers, last.Client)
	t.Run("known routes", func(t *testing.T) { knownRoutes(t, conn, brokers) })
	answersWithoutQuorum(t, conn, brokers)
	waitFor(t, lasting(3*time.Second, time.Minute)) // in full: longer than the brokers' timeouts
	seen()

	seen = watch(t, brokers, last.Client)
	if err := leader.Launch(); err != nil {
		t.Fatal(err)
	}
	back := time.Now()
	eventually(t, 20*time.Second, "a change after the quorum is back", func() error {
		return refusal(conn.Call(within(t, 5*time.Second), rocketmq.PutKV("fault", "after", "1")))
	})
	t.Logf("first change %v after the second peer was started", time.Since(back).Round(time.Millisecond))
	if took := time.Since(back); took > 3*time.Second+startCost {
		t.Errorf("changes succeed only %v after the second peer was started", took)
	}
	if err := others[1].Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	ready(t, c)
	waitFor(t, lasting(3*time.Second, time.Minute)) // in full: longer than the brokers' timeouts
	seen()
	untouched(t, c, brokers[5])
	if answer := ask(t, last.Client, rocketmq.GetKV("fault", "without")); answer.Code != rocketmq.QueryNotFound {
		t.Errorf("what was refused is there: %+v", answer)
	}
}

// answersWithoutQuorum asks everything that a peer alone may answer, and all that it must refuse.
func answersWithoutQuorum(t *testing.T, conn *rocketmq.Conn, brokers []rocketmq.Registration) {
	perms := brokers[5]
	changed := brokers[3]
	changed.Counter, changed.Queues = 99, 3
	newcomer := lab.NewBrokers("newcomer", 1, shortTimeout)[0]
	tests := []struct {
		name string
		ask  *rocketmq.Frame
		code int
	}{
		{"unknown topic", rocketmq.RouteOf("no-such-topic", 513), rocketmq.SystemError},
		{"unknown key", rocketmq.GetKV("fault", "no-such-key"), rocketmq.SystemError},
		{"known key", rocketmq.GetKV("fault", "before"), rocketmq.Success},
		{"unchanged registration", brokers[3].Frame(), rocketmq.Success},
		{"changed registration", changed.Frame(), rocketmq.SystemError},
		{"new registration", newcomer.Frame(), rocketmq.SystemError},
		{"unregistration", brokers[3].Unregister(), rocketmq.SystemError},
		{"put", rocketmq.PutKV("fault", "without", "1"), rocketmq.SystemError},
		{"delete", &rocketmq.Frame{Code: rocketmq.CodeDeleteKV, Version: 513, Fields: map[string]string{"namespace": "fault", "key": "before"}}, rocketmq.SystemError},
		{"wipe of a permission", named(codeWipeWrite, "brokerName", perms.Broker), rocketmq.SystemError},
		{"adding a permission", named(codeAddWrite, "brokerName", perms.Broker), rocketmq.SystemError},
		{"deletion of a topic", named(codeDeleteTopic, "topic", perms.Topics[1]), rocketmq.SystemError},
		{"registration of a topic", topicAt("never-made", perms.Broker), rocketmq.SystemError},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			began := time.Now()
			answer, err := conn.Call(within(t, 5*time.Second), tt.ask)
			took := time.Since(began)
			if err != nil || answer.Code != tt.code {
				t.Errorf("%+v, %v; want code %d", answer, err, tt.code)
			}
			if took > 500*time.Millisecond {
				t.Errorf("answered after %v, want at once", took)
			}
		})
	}
}

// Codes of changes that tools make.
const (
	codeWipeWrite     = 205
	codeDeleteTopic   = 216
	codeRegisterTopic = 217
	codeAddWrite      = 327
)

func named(code int, field, value string) *rocketmq.Frame {
	return &rocketmq.Frame{Code: code, Version: 513, Fields: map[string]string{field: value}}
}

// topicAt registers a topic at a broker.
func topicAt(topic, broker string) *rocketmq.Frame {
	f := named(codeRegisterTopic, "topic", topic)
	f.Body = []byte(`{"queueDatas":[{"brokerName":"` + broker + `","perm":6,"readQueueNums":8,"writeQueueNums":8}]}`)
	return f
}

// untouched checks at every peer that nothing came of the changes that were refused.
func untouched(t *testing.T, c *systemtest.Cluster, b rocketmq.Registration) {
	t.Helper()
	for _, n := range c.Nodes {
		for _, topic := range b.Topics {
			answer := ask(t, n.Client, rocketmq.RouteOf(topic, 513))
			if err := has(answer.Body, `"perm":6`); err != nil || answer.Code != rocketmq.Success {
				t.Errorf("%s: %s after refused changes: code %d, %v", n.ID, topic, answer.Code, err)
			}
		}
		if answer := ask(t, n.Client, rocketmq.RouteOf("never-made", 513)); answer.Code != rocketmq.TopicNotExist {
			t.Errorf("%s: a topic whose registration was refused: %+v", n.ID, answer)
		}
	}
}

// startCost is what the start of a process may take on a busy machine before it takes part in anything.
const startCost = 2 * time.Second

func knownRoutes(t *testing.T, conn *rocketmq.Conn, brokers []rocketmq.Registration) {
	var took []time.Duration
	for i := range 500 {
		b := brokers[i%len(brokers)]
		began := time.Now()
		answer, err := conn.Call(within(t, 5*time.Second), rocketmq.RouteOf(b.Topics[0], 513))
		took = append(took, time.Since(began))
		if refusal(answer, err) != nil || !strings.Contains(string(answer.Body), b.Addr) {
			t.Fatalf("%+v, %v", answer, err)
		}
	}
	slices.Sort(took)
	t.Logf("known routes without a quorum: median %v, 99 %% within %v", took[250], took[495])
	if took[250] > 5*time.Millisecond {
		t.Errorf("median %v, want below 5 ms", took[250])
	}
}
