package nameserver

import (
	"context"
	"iter"
	"strconv"
	"sync"
	"time"

	"namesrv/fsm"
	"namesrv/remoting/protocol"
)

const (
	noticeRoom    = 256             // notices that wait for their sender; the rest is dropped, brokers ask by themselves too
	noticeTimeout = 3 * time.Second // a connection and one write; nobody waits for it
	noticeSenders = 16
)

// Sender sends a command over a connection that it makes when needed.
type Sender interface {
	InvokeOneway(ctx context.Context, addr string, cmd *protocol.Command) error
}

// noticed are the notices of one log entry.
type noticed struct {
	index uint64
	list  []fsm.MinIDNotice
}

// notify sends the notices of entries after from while this peer leads: every
// peer applies the entry, one of them tells the brokers.
func (c *Clock) notify(ctx context.Context, from uint64) {
	if c.sender == nil {
		return
	}
	var sending sync.WaitGroup
	defer sending.Wait()
	slots := make(chan struct{}, noticeSenders)
	for {
		select {
		case <-ctx.Done():
			return
		case n := <-c.tables.notices:
			if n.index <= from {
				continue // applied again after a start; told when it was new
			}
			for notice, addr := range recipients(n.list) {
				select {
				case slots <- struct{}{}:
				case <-ctx.Done():
					return
				}
				sending.Go(func() {
					defer func() { <-slots }()
					c.sendNotice(ctx, addr, notice)
				})
			}
		}
	}
}

func recipients(list []fsm.MinIDNotice) iter.Seq2[fsm.MinIDNotice, string] {
	return func(yield func(fsm.MinIDNotice, string) bool) {
		for _, notice := range list {
			for _, addr := range notice.Recipients {
				if !yield(notice, addr) {
					return
				}
			}
		}
	}
}

func (c *Clock) sendNotice(ctx context.Context, addr string, n fsm.MinIDNotice) {
	ctx, cancel := context.WithTimeout(ctx, noticeTimeout)
	defer cancel()
	if err := c.sender.InvokeOneway(ctx, addr, noticeCommand(n)); err != nil {
		c.log.Warn("a broker was not told of its group's smallest id", "broker", n.Broker, "address", addr, "error", err)
	}
}

// noticeCommand is NOTIFY_MIN_BROKER_ID_CHANGE as the stock server sends it.
func noticeCommand(n fsm.MinIDNotice) *protocol.Command {
	cmd := &protocol.Command{Code: protocol.NotifyMinBrokerIDChange, Flag: protocol.FlagOneWay, Version: protocol.Version,
		ExtFields: map[string]string{"minBrokerId": strconv.FormatInt(n.MinID, 10), "minBrokerAddr": n.MinAddr}}
	if n.OfflineAddr != "" {
		cmd.ExtFields["offlineBrokerAddr"] = n.OfflineAddr
	}
	if n.HAAddr != "" {
		cmd.ExtFields["haBrokerAddr"] = n.HAAddr
	}
	return cmd
}
