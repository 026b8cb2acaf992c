package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"namesrv/internal/rocketmq"
)

// keptMisses bounds how many of the answers that lacked a broker are kept for the message.
const keptMisses = 20

// Watch asks servers all the time for the routes of brokers and for the list of all brokers.
type Watch struct {
	began time.Time
	wg    sync.WaitGroup

	mu      sync.Mutex // guards the fields below
	good    int
	refused int
	silent  int
	took    []time.Duration
	misses  []string
	missed  int
}

// Seen is what a [Watch] has seen so far.
type Seen struct {
	Good    int             // answers that had the broker
	Refused int             // answers with an error code other than "no such topic"
	Silent  int             // questions without an answer: refused, broken or stopped connections
	Missed  int             // answers that lacked a broker, or denied its topic
	Misses  []string        // the first of them
	Took    []time.Duration // of the good answers, sorted
}

// Median of the good answers.
func (s Seen) Median() time.Duration { return quantile(s.Took, 1, 2) }

// String is one line for a log.
func (s Seen) String() string {
	return fmt.Sprintf("%d good answers (median %v, 99 %% within %v), %d without the broker, %d refused, %d without an answer",
		s.Good, s.Median().Round(10*time.Microsecond), quantile(s.Took, 99, 100).Round(10*time.Microsecond), s.Missed, s.Refused, s.Silent)
}

func quantile(sorted []time.Duration, part, of int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)*part/of, len(sorted)-1)]
}

// StartWatch asks each of the addresses every so often, in turn for the route of each broker and for the whole list,
// until ctx ends. Every broker must be registered before.
func StartWatch(ctx context.Context, brokers []rocketmq.Registration, every time.Duration, addrs ...string) *Watch {
	w := &Watch{began: time.Now()}
	for _, addr := range addrs {
		w.wg.Go(func() { w.look(ctx, brokers, every, addr) })
	}
	return w
}

// Wait returns once the context of StartWatch has ended and the last answer is in.
func (w *Watch) Wait() Seen {
	w.wg.Wait()
	return w.Seen()
}

// Seen is the state of now.
func (w *Watch) Seen() Seen {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := Seen{Good: w.good, Refused: w.refused, Silent: w.silent, Missed: w.missed, Misses: slices.Clone(w.misses), Took: slices.Clone(w.took)}
	slices.Sort(s.Took)
	return s
}

func (w *Watch) look(ctx context.Context, brokers []rocketmq.Registration, every time.Duration, addr string) {
	var conn *rocketmq.Conn
	defer func() {
		if conn != nil {
			conn.Close()
		}
	}()
	tick := time.NewTicker(every)
	defer tick.Stop()
	for i := 0; ctx.Err() == nil; i++ {
		if conn == nil {
			conn = w.dial(ctx, addr)
		}
		if conn != nil && w.ask(ctx, conn, addr, brokers, i) != nil {
			conn.Close()
			conn = nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

func (w *Watch) dial(ctx context.Context, addr string) *rocketmq.Conn {
	dctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	conn, err := rocketmq.Dial(dctx, addr)
	if err != nil {
		w.count(&w.silent)
		return nil
	}
	return conn
}

// ask puts one question; an error says that the connection is of no use any more.
func (w *Watch) ask(ctx context.Context, conn *rocketmq.Conn, addr string, brokers []rocketmq.Registration, turn int) error {
	which := turn % (len(brokers) + 1)
	question, want := &rocketmq.Frame{Code: rocketmq.CodeClusterInfo}, brokers
	if which < len(brokers) {
		question, want = rocketmq.RouteOf(brokers[which].Topics[0], 513), brokers[which:which+1]
	}
	cctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	sent := time.Now()
	answer, err := conn.Call(cctx, question)
	if err != nil {
		if ctx.Err() == nil {
			w.count(&w.silent)
		}
		if errors.Is(err, rocketmq.ErrBroken) {
			return err
		}
		return nil // it may be stopped: the connection is kept, and an answer that comes late is dropped
	}
	w.judge(answer, want, addr, time.Since(sent))
	return nil
}

func (w *Watch) judge(answer *rocketmq.Frame, want []rocketmq.Registration, addr string, took time.Duration) {
	switch answer.Code {
	case rocketmq.Success, rocketmq.TopicNotExist:
	default:
		w.count(&w.refused)
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, b := range want {
		if !bytes.Contains(answer.Body, []byte(`"`+b.Addr+`"`)) {
			w.missed++
			if len(w.misses) < keptMisses {
				w.misses = append(w.misses, fmt.Sprintf("%v after the start %s answered without %s (code %d %s): %.300s",
					time.Since(w.began).Round(time.Millisecond), addr, b.Broker, answer.Code, answer.Remark, answer.Body))
			}
			return
		}
	}
	w.good++
	w.took = append(w.took, took)
}

func (w *Watch) count(n *int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	*n++
}

// AwaitGone waits until no answer of the server has the broker any more and returns when that was seen first.
func AwaitGone(ctx context.Context, addr string, b rocketmq.Registration) (time.Time, error) {
	conn, err := rocketmq.Dial(ctx, addr)
	if err != nil {
		return time.Time{}, err
	}
	defer conn.Close()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		answer, err := conn.Call(ctx, rocketmq.RouteOf(b.Topics[0], 513))
		switch {
		case err != nil:
			return time.Time{}, fmt.Errorf("%s is still at %s: %w", b.Broker, addr, err)
		case answer.Code == rocketmq.TopicNotExist, answer.Code == rocketmq.Success && !bytes.Contains(answer.Body, []byte(`"`+b.Addr+`"`)):
			return time.Now(), nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return time.Time{}, fmt.Errorf("%s is still at %s: %w", b.Broker, addr, ctx.Err())
		}
	}
}
