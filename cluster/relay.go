package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"namesrv/cluster/clusterpb"
)

// AskLeader sends a message of the layer above to the leader's Config.Serve, or to
// this node's own when it leads. Where the leader cannot be reached in half of the
// context's time, the other members are asked to pass it on: a link that is cut
// between two which both reach a third must not silence one of them. It may then
// arrive several times, and after a newer message.
func (n *Node) AskLeader(ctx context.Context, payload []byte) ([]byte, error) {
	if n.Leads() {
		return n.cfg.Serve(n.identity().MemberID, payload)
	}
	direct, cancel := halfOf(ctx)
	a, err := n.callLeader(direct, msgApp, payload)
	cancel()
	if err != nil || a.status == statusNoLeader {
		a, err = n.askToPass(ctx, payload)
	}
	if err != nil {
		return nil, err
	}
	if a.status != statusOK {
		return nil, errors.New(string(a.payload))
	}
	return a.payload, nil
}

// halfOf leaves half of a context's time for another try.
func halfOf(ctx context.Context) (context.Context, context.CancelFunc) {
	left := transportTimeout
	if d, ok := ctx.Deadline(); ok {
		left = time.Until(d)
	}
	return context.WithTimeout(ctx, left/2)
}

// askToPass asks all members at once and takes the first answer from the leader.
func (n *Node) askToPass(ctx context.Context, payload []byte) (answer, error) {
	r := n.raft()
	if r == nil {
		return answer{}, ErrNoLeader
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // those still asked when one has answered
	servers := r.GetConfiguration().Configuration().Servers
	answers := make(chan answer, len(servers))
	asked := 0
	for _, s := range servers {
		if string(s.ID) == n.identity().MemberID {
			continue
		}
		asked++
		go func() {
			a, err := n.peers.call(ctx, string(s.ID), string(s.Address), msgPass, payload)
			if err != nil {
				a.status = statusNoLeader
			}
			answers <- a
		}()
	}
	for range asked {
		select {
		case a := <-answers:
			if a.status == statusOK {
				return a, nil
			}
		case <-ctx.Done():
			return answer{}, ctx.Err()
		}
	}
	return answer{}, fmt.Errorf("%w that can be reached, directly or through another member", ErrNoLeader)
}

// serveApp hands a message of the layer above to it, as the leader.
func (n *Node) serveApp(from string, payload []byte) answer {
	if !n.Leads() || !n.isMember(from) {
		return answer{status: statusNoLeader, payload: []byte("no leader, or no member: " + from)}
	}
	out, err := n.cfg.Serve(from, payload)
	if err != nil {
		return answer{status: statusError, payload: []byte(err.Error())}
	}
	return answer{payload: out}
}

// servePass hands a member's message to the leader, with one hop at most.
func (n *Node) servePass(ctx context.Context, from string, payload []byte) answer {
	if n.Leads() {
		return n.serveApp(from, payload)
	}
	raw, err := proto.Marshal(&clusterpb.Passed{From: from, Payload: payload})
	if err != nil {
		return answer{status: statusError, payload: []byte(err.Error())}
	}
	a, err := n.callLeader(ctx, msgPassed, raw)
	if err != nil {
		return answer{status: statusNoLeader, payload: []byte(err.Error())}
	}
	return a
}

// servePassed takes at the leader what another member passed on.
func (n *Node) servePassed(raw []byte) answer {
	var in clusterpb.Passed
	if err := proto.Unmarshal(raw, &in); err != nil {
		return answer{status: statusError, payload: []byte(err.Error())}
	}
	return n.serveApp(in.From, in.Payload)
}
