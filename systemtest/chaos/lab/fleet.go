package lab

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"namesrv/internal/rocketmq"
)

const (
	dialPause = 100 * time.Millisecond
	// callLimit is how long a broker of a Fleet waits for an answer. Real ones wait longer; here the next renewal is due.
	callLimit = 3 * time.Second
)

// Fleet is a number of brokers that register themselves again and again, each over one connection to each of the
// servers it knows, as real ones do: a lost connection is opened again, an answer that does not come is given up.
type Fleet struct {
	Brokers []rocketmq.Registration

	cancel  context.CancelFunc
	wg      sync.WaitGroup
	renewed atomic.Int64
	refused atomic.Int64
}

// NewBrokers describes count brokers of one cluster. Each has two topics; the first, named like its broker, is the one
// that a [Watch] asks for.
func NewBrokers(cluster string, count int, timeout time.Duration) []rocketmq.Registration {
	var out []rocketmq.Registration
	for i := range count {
		name := fmt.Sprintf("%s-%d", cluster, i)
		out = append(out, rocketmq.Registration{Cluster: cluster, Broker: name, Addr: fmt.Sprintf("10.9.%d.%d:10911", len(cluster), i+1),
			Topics: []string{name, name + "-more"}, Counter: 1, TimeoutMS: timeout.Milliseconds()})
	}
	return out
}

// StartFleet starts brokers that renew at each of the addresses, until Stop or the end of ctx.
func StartFleet(ctx context.Context, brokers []rocketmq.Registration, every time.Duration, addrs ...string) *Fleet {
	f := &Fleet{Brokers: brokers}
	ctx, f.cancel = context.WithCancel(ctx)
	for _, b := range brokers {
		for _, addr := range addrs {
			f.wg.Go(func() { f.live(ctx, b, every, addr) })
		}
	}
	return f
}

// Stop ends all brokers without a word: their connections end, which a server sees.
func (f *Fleet) Stop() {
	f.cancel()
	f.wg.Wait()
}

// Renewed is the number of registrations that succeeded so far, Refused of those that were answered with an error.
func (f *Fleet) Renewed() int { return int(f.renewed.Load()) }

// Refused see [Fleet.Renewed].
func (f *Fleet) Refused() int { return int(f.refused.Load()) }

// live is one broker at one server.
func (f *Fleet) live(ctx context.Context, b rocketmq.Registration, every time.Duration, addr string) {
	for ctx.Err() == nil {
		dctx, cancel := context.WithTimeout(ctx, callLimit)
		conn, err := rocketmq.Dial(dctx, addr)
		cancel()
		if err != nil {
			pause(ctx, dialPause)
			continue
		}
		f.renew(ctx, conn, b, every)
		conn.Close()
	}
}

// renew registers until the connection or ctx ends.
func (f *Fleet) renew(ctx context.Context, conn *rocketmq.Conn, b rocketmq.Registration, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		cctx, cancel := context.WithTimeout(ctx, callLimit)
		answer, err := conn.Call(cctx, b.Frame())
		cancel()
		switch {
		case err == nil && answer.Code == rocketmq.Success:
			f.renewed.Add(1)
		case err == nil:
			f.refused.Add(1)
		case errors.Is(err, rocketmq.ErrBroken):
			return
		}
		select {
		case <-tick.C:
		case <-conn.Done():
			return
		case <-ctx.Done():
			return
		}
	}
}

// pause waits for d or the end of ctx.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
