package systemtest_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	client "github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"
	"github.com/apache/rocketmq-client-go/v2/rlog"

	"namesrv/internal/rocketmq"
)

// startBroker starts a broker in a folder of its own, stopped with the test.
func startBroker(t *testing.T, cfg rocketmq.BrokerConfig) *rocketmq.Broker {
	t.Helper()
	cfg.Dir = t.TempDir()
	b, err := rocketmq.StartBroker(within(t, 2*time.Minute), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Stop)
	return b
}

// startBrokers starts several brokers at once, since each takes its time.
func startBrokers(t *testing.T, cfgs ...rocketmq.BrokerConfig) []*rocketmq.Broker {
	t.Helper()
	brokers := make([]*rocketmq.Broker, len(cfgs))
	errs := make([]error, len(cfgs))
	ctx := within(t, 3*time.Minute)
	var wg sync.WaitGroup
	for i, cfg := range cfgs {
		cfg.Dir = t.TempDir()
		wg.Go(func() { brokers[i], errs[i] = rocketmq.StartBroker(ctx, cfg) })
	}
	wg.Wait()
	for i, b := range brokers {
		if errs[i] != nil {
			t.Error(errs[i])
			continue
		}
		t.Cleanup(b.Stop)
	}
	if t.Failed() {
		t.FailNow()
	}
	return brokers
}

// mqadmin runs a command of mqadmin and returns its output.
func mqadmin(t *testing.T, v rocketmq.Version, args ...string) string {
	t.Helper()
	out, err := rocketmq.MQAdmin(within(t, time.Minute), v, args...)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return out
}

// clientNumber makes the instances of the Go client distinct: two with one name share their name servers.
var clientNumber atomic.Int64

// messages is a Go client that sends to topics and consumes one of them.
type messages struct {
	producer client.Producer
	consumer client.PushConsumer

	groups string // the names of its groups are p- and c- before this

	mu  sync.Mutex // guards got
	got map[string]bool
}

// newMessages starts a producer and a consumer of topic that know only the given name servers.
func newMessages(t *testing.T, topic string, nameServers ...string) *messages {
	t.Helper()
	return newMessagesBy(t, topic, primitive.NewPassthroughResolver(nameServers))
}

// newMessagesBy is newMessages for a client that finds its name servers by itself.
func newMessagesBy(t *testing.T, topic string, nameServers primitive.NsResolver) *messages {
	t.Helper()
	rlog.SetLogLevel("fatal") // it logs each lost connection, which is what the tests make
	id := fmt.Sprintf("test-%d", clientNumber.Add(1))
	m := &messages{groups: id, got: map[string]bool{}}
	var err error
	m.producer, err = client.NewProducer(
		producer.WithNsResolver(nameServers),
		producer.WithGroupName("p-"+id), producer.WithInstanceName("p-"+id))
	if err != nil {
		t.Fatal(err)
	}
	m.consumer, err = client.NewPushConsumer(
		consumer.WithNsResolver(nameServers),
		consumer.WithGroupName("c-"+id), consumer.WithInstance("c-"+id),
		consumer.WithConsumeFromWhere(consumer.ConsumeFromFirstOffset))
	if err != nil {
		t.Fatal(err)
	}
	if err := m.consumer.Subscribe(topic, consumer.MessageSelector{}, m.take); err != nil {
		t.Fatal(err)
	}
	if err := m.producer.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.producer.Shutdown() })
	if err := m.consumer.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.consumer.Shutdown() })
	return m
}

func (m *messages) take(_ context.Context, batch ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, msg := range batch {
		m.got[string(msg.Body)] = true
	}
	return consumer.ConsumeSuccess, nil
}

// send sends one message and waits for the broker's word.
func (m *messages) send(ctx context.Context, topic, body string) error {
	r, err := m.producer.SendSync(ctx, primitive.NewMessage(topic, []byte(body)))
	if err != nil {
		return err
	}
	if r.Status != primitive.SendOK {
		return fmt.Errorf("send status %d", r.Status)
	}
	return nil
}

// awaitConsumed waits until every one of the sent bodies was consumed.
func (m *messages) awaitConsumed(t *testing.T, d time.Duration, sent []string) {
	t.Helper()
	eventually(t, d, "all messages consumed", func() error {
		m.mu.Lock()
		defer m.mu.Unlock()
		for i, body := range sent {
			if !m.got[body] {
				return fmt.Errorf("message %d of %d (%s) is missing; %d came", i, len(sent), body, len(m.got))
			}
		}
		return nil
	})
}

// has is nil when body contains text.
func has(body []byte, text string) error {
	if bytes.Contains(body, []byte(text)) {
		return nil
	}
	return fmt.Errorf("no %q in %.300s", text, body)
}

// lacks is nil when body does not contain text.
func lacks(body []byte, text string) error {
	if bytes.Contains(body, []byte(text)) {
		return fmt.Errorf("still %q in %.300s", text, body)
	}
	return nil
}

// topicName is a topic for a test and a broker: names of topics may not have dots.
func topicName(parts ...string) string {
	return strings.ReplaceAll(strings.Join(parts, "-"), ".", "_")
}
