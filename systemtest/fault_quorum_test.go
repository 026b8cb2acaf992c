package systemtest_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"namesrv/internal/rocketmq"
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
	waitFor(t, lasting(15*time.Second, time.Minute)) // longer than the brokers' timeouts
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
	waitFor(t, lasting(12*time.Second, time.Minute)) // a timeout of the brokers
	seen()
	if answer := ask(t, last.Client, rocketmq.GetKV("fault", "without")); answer.Code != rocketmq.QueryNotFound {
		t.Errorf("what was refused is there: %+v", answer)
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
