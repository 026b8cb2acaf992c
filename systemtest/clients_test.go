package systemtest_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
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

// startBroker starts a broker in a folder of its own, killed with the test: a polite end takes it ten seconds.
func startBroker(t *testing.T, cfg rocketmq.BrokerConfig) *rocketmq.Broker {
	t.Helper()
	cfg.Dir = t.TempDir()
	b, err := rocketmq.StartBroker(within(t, 2*time.Minute), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Kill)
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
		t.Cleanup(b.Kill)
	}
	if t.Failed() {
		t.FailNow()
	}
	return brokers
}

// tooSlow is what mqadmin prints when an answer came too late for it, which its own start makes likely on a busy machine.
const tooSlow = "RemotingTimeoutException"

// mqadmin runs a command of mqadmin and returns its output. One that was too slow runs once more.
func mqadmin(t *testing.T, v rocketmq.Version, args ...string) string {
	t.Helper()
	return mqadmins(t, v, args)[0]
}

// mqadmins is mqadmin for several commands, each after the one before.
func mqadmins(t *testing.T, v rocketmq.Version, commands ...[]string) []string {
	t.Helper()
	out := runMQAdmin(t, v, commands)
	if slices.ContainsFunc(out, func(s string) bool { return strings.Contains(s, tooSlow) }) {
		out = runMQAdmin(t, v, commands)
	}
	return out
}

// runMQAdmin takes one JVM for all commands where the release allows it, which spares most of the time.
func runMQAdmin(t *testing.T, v rocketmq.Version, commands [][]string) (outs []string) {
	t.Helper()
	ctx := within(t, time.Duration(len(commands))*time.Minute)
	if v == rocketmq.V550 {
		var batch []rocketmq.AdminCommand
		for _, args := range commands {
			batch = append(batch, rocketmq.AdminCommand{Args: args})
		}
		outs, err := rocketmq.MQAdminBatch(ctx, batch)
		if err != nil {
			t.Fatalf("%v\n%s", err, outs)
		}
		return outs
	}
	for _, args := range commands {
		out, err := rocketmq.MQAdmin(ctx, v, args...)
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		outs = append(outs, out)
	}
	return outs
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
