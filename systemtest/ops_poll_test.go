package systemtest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"namesrv/internal/rocketmq"
)

const (
	goAway    = 1500 // the answer that sends a client to another server
	pollEvery = 10 * time.Millisecond
	pollLimit = 3 * time.Second // at one server, as clients have it
)

// poller asks for the route of a topic all the time, the way a client with a list of name servers does: at the server it
// asked last, and where that does not answer at the next one, once around.
type poller struct {
	topic, want string // what the route must contain
	addrs       []string
	conns       map[string]*rocketmq.Conn
	at          int // index of the server that answered last

	cancel context.CancelFunc
	done   sync.WaitGroup

	// Read after stop.
	polls   int
	failed  []error
	longest time.Duration
	moved   int // to another server
}

// startPoller polls until stop. Every poll begins at the server after the one before when spread is set, so that all are
// asked all the time.
func startPoller(t *testing.T, topic, want string, spread bool, addrs ...string) *poller {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	p := &poller{topic: topic, want: want, addrs: addrs, conns: map[string]*rocketmq.Conn{}, cancel: cancel}
	p.done.Go(func() {
		defer p.close()
		tick := time.NewTicker(pollEvery)
		defer tick.Stop()
		for {
			p.poll(context.WithoutCancel(ctx))
			if spread {
				p.at++
			}
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	})
	t.Cleanup(p.stop)
	return p
}

func (p *poller) stop() {
	p.cancel()
	p.done.Wait()
}

func (p *poller) close() {
	for _, c := range p.conns {
		c.Close()
	}
}

// poll asks once around.
func (p *poller) poll(ctx context.Context) {
	began := time.Now()
	var errs []error
	for range p.addrs {
		addr := p.addrs[p.at%len(p.addrs)]
		err := p.ask(ctx, addr)
		if err == nil {
			break
		}
		errs = append(errs, fmt.Errorf("%s: %w", addr, err))
		p.at++
		p.moved++
	}
	p.polls++
	p.longest = max(p.longest, time.Since(began))
	if len(errs) == len(p.addrs) {
		p.failed = append(p.failed, errors.Join(errs...))
	}
}

// ask is nil when the server at addr gave the route.
func (p *poller) ask(ctx context.Context, addr string) error {
	ctx, cancel := context.WithTimeout(ctx, pollLimit)
	defer cancel()
	conn := p.conns[addr]
	if conn == nil {
		var err error
		if conn, err = rocketmq.Dial(ctx, addr); err != nil {
			return err
		}
		p.conns[addr] = conn
	}
	answer, err := conn.Call(ctx, rocketmq.RouteOf(p.topic, 513))
	if err == nil && answer.Code == rocketmq.Success && bytes.Contains(answer.Body, []byte(p.want)) {
		return nil
	}
	if err != nil || answer.Code == goAway {
		conn.Close()
		delete(p.conns, addr)
	}
	if err == nil {
		err = fmt.Errorf("code %d %s: %.200s", answer.Code, answer.Remark, answer.Body)
		if answer.Code == rocketmq.Success || answer.Code == rocketmq.TopicNotExist {
			p.failed = append(p.failed, fmt.Errorf("a wrong answer of %s: %w", addr, err))
		}
	}
	return err
}

// noneFailed ends the poller and judges.
func (p *poller) noneFailed(t *testing.T, what string) {
	t.Helper()
	p.stop()
	t.Logf("%s: %d polls of the route, %d failed, %d times the next server was asked, the longest took %v", what, p.polls, len(p.failed), p.moved, p.longest.Round(time.Millisecond))
	for _, err := range p.failed[:min(len(p.failed), 5)] {
		t.Error(err)
	}
	if p.polls == 0 {
		t.Error("nothing was polled")
	}
}

// noneFailed ends the sending and judges; all that was sent must come to each of the consumers.
func (s *steady) noneFailed(t *testing.T, what string, consumers ...*messages) {
	t.Helper()
	s.stop()
	t.Logf("%s: %d messages sent, %d failed", what, len(s.sent), len(s.errs))
	for _, err := range s.errs {
		t.Error(err)
	}
	if len(s.sent) == 0 {
		t.Error("nothing was sent")
	}
	for _, m := range consumers {
		m.awaitConsumed(t, 30*time.Second, s.sent)
	}
}
