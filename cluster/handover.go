package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/raft"
)

const (
	transferTries = transportPool + 1
	transferPause = 50 * time.Millisecond
)

// HandOver gives leadership to another voter if this node leads and one can take
// it. It returns within the context's time, done or not.
func (n *Node) HandOver(ctx context.Context) error {
	r := n.raft()
	if r == nil || r.State() != raft.Leader || isLoneVoter(r.GetConfiguration().Configuration(), n.identity().MemberID) {
		return nil
	}
	err := n.transfer(ctx, n.toSuccessor)
	if errors.Is(err, raft.ErrNotLeader) {
		return nil // it is another's already
	}
	return err
}

// transferring starts one try to give leadership away. An error of its own says that
// there is nobody to give it to.
type transferring func(ctx context.Context, r *raft.Raft) (raft.Future, error)

// transfer gives leadership away, as the leader. Raft asks the next leader over a
// connection that it kept; one to a process that was started again since is dead, and
// only the asking shows it. So it is tried until a new one must have been made. The
// error is that of the first try; [raft.ErrNotLeader] says that there was none.
func (n *Node) transfer(ctx context.Context, start transferring) error {
	var first error
	for tries := 0; ; {
		f, err := start(ctx, n.raft())
		if err != nil {
			return errors.Join(first, err)
		}
		n.transfers.Add(1)
		err = await(ctx, n.ctx.Done(), f, func() { n.transfers.Add(-1) })
		if err == nil || first != nil && n.raft().State() != raft.Leader {
			return nil // one that had been given up may have won since
		}
		if !errors.Is(err, raft.ErrLeadershipTransferInProgress) { // which Raft ends in time: see TimeoutNow
			tries++
		}
		if first == nil {
			first = err
		}
		if ctx.Err() != nil || n.ctx.Err() != nil {
			return errors.Join(first, err)
		}
		if tries == transferTries || errors.Is(err, raft.ErrNotLeader) {
			return first
		}
		select {
		case <-time.After(transferPause):
		case <-ctx.Done():
		case <-n.ctx.Done():
		}
	}
}

// awaitTransfers waits until Raft has answered those that are under way, each of which
// it does in its time. One that it has not read when it is shut down it never answers.
func (n *Node) awaitTransfers() {
	limit := time.After(shutdownLimit / 2)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for n.transfers.Load() > 0 {
		select {
		case <-tick.C:
		case <-limit:
			return
		}
	}
}

// toSuccessor is for who does not care which member leads next. Raft itself would
// choose by its log alone, a member that hangs as well as any other.
func (n *Node) toSuccessor(ctx context.Context, r *raft.Raft) (raft.Future, error) {
	s, err := n.successor(ctx)
	if err != nil {
		return nil, err
	}
	return r.LeadershipTransferToServer(s.ID, s.Address), nil
}

// successor is, of the voters that answer now, one with the longest log.
func (n *Node) successor(ctx context.Context) (raft.Server, error) {
	ctx, cancel := context.WithTimeout(ctx, n.cfg.profile().Election/2)
	defer cancel()
	others := slices.DeleteFunc(votersOf(n.raft().GetConfiguration().Configuration()), func(s raft.Server) bool {
		return string(s.ID) == n.identity().MemberID
	})
	type offer struct {
		server    raft.Server
		lastIndex uint64
	}
	offers := make(chan *offer, len(others))
	for _, s := range others {
		go func() {
			st, err := n.statusOf(ctx, s, 0)
			if err != nil {
				offers <- nil
				return
			}
			offers <- &offer{s, st.LastIndex}
		}()
	}
	var best *offer
	for range others {
		if o := <-offers; o != nil && (best == nil || o.lastIndex > best.lastIndex) {
			best = o
		}
	}
	if best == nil {
		return raft.Server{}, fmt.Errorf("%w: no other voter answers", ErrRefused)
	}
	return best.server, nil
}

var errNoAnswer = errors.New("no answer in time")

// TimeoutNow implements raft.Transport. While the question is under way Raft takes no
// change, so a member that hangs must not hold it for long: less than Raft waits for the
// whole transfer, which would then be called under way once more.
func (t *transport) TimeoutNow(id raft.ServerID, addr raft.ServerAddress, req *raft.TimeoutNowRequest, resp *raft.TimeoutNowResponse) error {
	answered := make(chan error, 1)
	answer := new(raft.TimeoutNowResponse) // resp is Raft's again once this has returned
	go func() { answered <- t.NetworkTransport.TimeoutNow(id, addr, req, answer) }()
	limit := time.NewTimer(t.timeoutNowLimit)
	defer limit.Stop()
	select {
	case err := <-answered:
		*resp = *answer
		return err
	case <-limit.C:
		return errNoAnswer
	}
}
