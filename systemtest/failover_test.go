package systemtest_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"namesrv/internal/rocketmq"
	"namesrv/systemtest"
)

const (
	sendEvery    = 5 * time.Millisecond
	beforeKill   = time.Second     // of sending, so that the client is warm
	newTopicTime = 3 * time.Second // after the kill
	freshTopics  = 8               // first used after the kill: each needs a route the client does not have
)

// steady sends one message after the other until it is stopped.
type steady struct {
	cancel context.CancelFunc
	done   sync.WaitGroup
	sent   []string // read after stop
	errs   []error  // read after stop
}

func sendSteadily(t *testing.T, m *messages, topic string) *steady {
	ctx, cancel := context.WithCancel(t.Context())
	s := &steady{cancel: cancel}
	s.done.Go(func() {
		tick := time.NewTicker(sendEvery)
		defer tick.Stop()
		for i := 0; ; i++ {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			body := fmt.Sprintf("steady %d", i)
			if err := m.send(context.WithoutCancel(ctx), topic, body); err != nil {
				s.errs = append(s.errs, fmt.Errorf("%s: %w", body, err))
				continue
			}
			s.sent = append(s.sent, body)
		}
	})
	t.Cleanup(s.stop)
	return s
}

func (s *steady) stop() {
	s.cancel()
	s.done.Wait()
}

// leaderKilled promises that a client given all peers notices nothing when the leader dies: no message fails, neither
// to a topic it knows nor to one it first asks for then, and what is created afterwards is routed at the survivors.
func leaderKilled(t *testing.T, c *systemtest.Cluster, b *rocketmq.Broker) {
	topic := "steady"
	fresh := make([]string, freshTopics)
	for i := range fresh {
		fresh[i] = fmt.Sprintf("fresh-%d", i)
	}
	for _, name := range append([]string{topic}, fresh...) {
		if err := rocketmq.CreateTopic(within(t, 10*time.Second), b.Addr, name); err != nil {
			t.Fatal(err)
		}
	}
	m := newMessages(t, topic, c.Clients()...)
	s := sendSteadily(t, m, topic)
	waitFor(t, beforeKill)

	leader, survivors, err := c.Leader(within(t, 10*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	leader.Kill()
	killed := time.Now()
	for _, name := range fresh {
		if err := m.send(t.Context(), name, "first of "+name); err != nil {
			t.Errorf("a message to %s after the kill: %v", name, err)
		}
	}
	waitFor(t, time.Until(killed.Add(newTopicTime)))
	if err := rocketmq.CreateTopic(within(t, 10*time.Second), b.Addr, "after-kill"); err != nil {
		t.Fatal(err)
	}
	for _, n := range survivors {
		eventually(t, time.Second, "route of the new topic at "+n.ID, func() error {
			return has(ask(t, n.Client, rocketmq.RouteOf("after-kill", 513)).Body, b.Addr)
		})
	}
	if err := m.send(t.Context(), "after-kill", "first"); err != nil {
		t.Errorf("a message to the new topic: %v", err)
	}
	s.stop()
	for _, err := range s.errs {
		t.Errorf("a message failed: %v", err)
	}
	t.Logf("%d messages sent around the kill", len(s.sent))
	m.awaitConsumed(t, 30*time.Second, s.sent)

	if err := leader.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := c.AwaitReady(within(t, 30*time.Second)); err != nil {
		t.Fatal(err)
	}
	sameBodies(t, c.Clients(), []string{topic, "after-kill"})
}

// waitFor lets a stretch of time pass that is part of what a test describes; it is not for waiting for a result.
func waitFor(t *testing.T, d time.Duration) {
	t.Helper()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.Context().Done():
	}
}
