package cluster

import (
	"context"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// transport is Raft's network transport with one door more: a lone voter is told
// at its start to stand for election now, instead of first waiting out an
// election timeout that no leader could end. What Raft replicates goes through calls.
type transport struct {
	*raft.NetworkTransport
	calls   calls
	consume chan raft.RPC
	wg      sync.WaitGroup
	stop    context.CancelFunc

	timeoutNowLimit time.Duration
}

func newTransport(ctx context.Context, inner *raft.NetworkTransport, profile Profile) *transport {
	ctx, stop := context.WithCancel(ctx)
	t := &transport{NetworkTransport: inner, consume: make(chan raft.RPC), stop: stop, timeoutNowLimit: profile.Election / 2}
	t.wg.Go(func() {
		for {
			select {
			case rpc := <-inner.Consumer():
				t.deliver(ctx, rpc)
			case <-ctx.Done():
				return
			}
		}
	})
	return t
}

func (t *transport) deliver(ctx context.Context, rpc raft.RPC) {
	select {
	case t.consume <- rpc:
	case <-ctx.Done():
	}
}

// Consumer implements raft.Transport.
func (t *transport) Consumer() <-chan raft.RPC { return t.consume }

// EncodePeer implements raft.Transport. The embedded one would tell followers the
// dialling form member@host:port as the leader's address.
func (t *transport) EncodePeer(_ raft.ServerID, addr raft.ServerAddress) []byte {
	return []byte(addr)
}

// standNow hands Raft the message with which a leader gives its office away.
func (t *transport) standNow(ctx context.Context) {
	answer := make(chan raft.RPCResponse, 1)
	t.deliver(ctx, raft.RPC{
		Command:  &raft.TimeoutNowRequest{RPCHeader: raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax}},
		RespChan: answer,
	})
	select {
	case <-answer:
	case <-ctx.Done():
	}
}

func (t *transport) close() {
	t.stop()
	t.wg.Wait()
	t.NetworkTransport.CloseStreams()
	t.NetworkTransport.Close()
}

// isLoneVoter says whether member alone decides.
func isLoneVoter(c raft.Configuration, member string) bool {
	voters := 0
	self := false
	for _, s := range c.Servers {
		if s.Suffrage == raft.Voter {
			voters++
			self = self || string(s.ID) == member
		}
	}
	return voters == 1 && self
}
