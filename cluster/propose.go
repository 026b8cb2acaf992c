package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hashicorp/raft"
	"google.golang.org/protobuf/proto"

	"namesrv/cluster/clusterpb"
)

// Propose puts a command into the log, here or with one hop to the leader, and
// returns its result once this peer's own state machine has applied it.
//
// ErrNoLeader, ErrTooLarge and ErrTooNew say that it was surely not applied. After
// ErrUnknownOutcome, or the context's error, it may have been, or may still be out of
// some member's log; it is never sent twice, nor on its way to a leader any more, unless
// the context was cancelled before its deadline.
func (n *Node) Propose(ctx context.Context, command []byte) ([]byte, error) {
	began := time.Now()
	e, err := encodeEnvelope(n.envelopeOf(command))
	var res []byte
	if err == nil {
		res, err = n.propose(ctx, e)
	}
	n.stats.proposal(began, err)
	return res, err
}

// ProposeInTerm is Propose without the hop, for what a leader decides: the
// command has no effect (ErrFenced) unless it is committed in that very term.
func (n *Node) ProposeInTerm(ctx context.Context, term uint64, command []byte) ([]byte, error) {
	envelope := n.envelopeOf(command)
	envelope.Term = term
	e, err := encodeEnvelope(envelope)
	if err != nil {
		return nil, err
	}
	_, res, err := n.applyHere(ctx, e)
	return res, err
}

func (n *Node) propose(ctx context.Context, e entry) ([]byte, error) {
	for {
		if n.removed.Load() {
			return nil, ErrRemoved
		}
		if n.reach.gone() {
			return nil, n.noLeader()
		}
		index, res, err := n.proposeOnce(ctx, e)
		if err == nil {
			n.reach.ok()
			if err := n.applied.wait(ctx, index); err != nil {
				return nil, fmt.Errorf("%w: committed as log entry %d, not applied here in time", ErrUnknownOutcome, index)
			}
			return res, nil
		}
		if !errors.Is(err, ErrNoLeader) {
			return nil, err
		}
		if ctx.Err() != nil {
			return nil, fmt.Errorf("%w: %w", ErrNoLeader, ctx.Err())
		}
		if err := n.awaitLeader(ctx); err != nil {
			return nil, err
		}
	}
}

// awaitLeader waits between two tries of a command that was surely not applied.
func (n *Node) awaitLeader(ctx context.Context) error {
	err := n.reach.await(ctx, 0)
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return fmt.Errorf("%w: %w", ErrNoLeader, err)
	}
	if errors.Is(err, ErrNoLeader) {
		return n.noLeader()
	}
	return err
}

func (n *Node) proposeOnce(ctx context.Context, e entry) (uint64, []byte, error) {
	r := n.raft()
	if r == nil {
		return 0, nil, errOutside
	}
	if r.State() == raft.Leader {
		return n.applyHere(ctx, e)
	}
	return n.forward(ctx, r, e)
}

// forward sends an entry to the leader. When it ends the entry is in the leader's log,
// or never gets there: one that is still on its way is good for the term in which it was
// sent, and until the deadline that it carries. So whoever then looks at confirmed tables
// sees what became of it.
func (n *Node) forward(ctx context.Context, r *raft.Raft, e entry) (uint64, []byte, error) {
	ctx, cancel := context.WithTimeout(ctx, transportTimeout)
	defer cancel()
	term := r.CurrentTerm() // before the leader is looked up: then it is that term's, or a later one's
	raw, err := e.inTerm(term)
	if err != nil {
		return 0, nil, err
	}
	a, err := n.callLeader(ctx, msgPropose, raw)
	switch {
	case err == nil:
		n.stats.forwarded.Inc()
		return readProposeReply(a)
	case errors.Is(err, errNotSent) && errors.Is(err, ErrNoLeader):
		return 0, nil, n.noLeader()
	case errors.Is(err, errNotSent):
		return 0, nil, fmt.Errorf("%w: %w", ErrNoLeader, err)
	}
	n.outlive(ctx, term)
	return 0, nil, fmt.Errorf("%w: %w", ErrUnknownOutcome, err)
}

// outlive waits until a term is over, or the context.
func (n *Node) outlive(ctx context.Context, term uint64) {
	t := time.NewTicker(reachSoon)
	defer t.Stop()
	for n.raft().CurrentTerm() == term {
		select {
		case <-t.C:
		case <-ctx.Done():
			return
		case <-n.ctx.Done():
			return
		}
	}
}

func readProposeReply(a answer) (uint64, []byte, error) {
	switch a.status {
	case statusOK:
		var reply clusterpb.ProposeReply
		if err := proto.Unmarshal(a.payload, &reply); err != nil {
			return 0, nil, fmt.Errorf("%w: %w", ErrUnknownOutcome, err)
		}
		return reply.Index, reply.Result, nil
	case statusNoLeader, statusLate:
		return 0, nil, told(ErrNoLeader, a.payload)
	case statusTooLarge:
		return 0, nil, ErrTooLarge
	case statusTooNew:
		return 0, nil, fmt.Errorf("%w%s", ErrTooNew, strings.TrimPrefix(string(a.payload), ErrTooNew.Error()))
	}
	return 0, nil, told(ErrUnknownOutcome, a.payload)
}

// applyHere hands an entry to the local Raft and waits for its result, no longer
// than the context lasts: some of Raft's futures never answer after a shutdown.
func (n *Node) applyHere(ctx context.Context, e entry) (uint64, []byte, error) {
	r := n.raft()
	if r == nil || n.ctx.Err() != nil {
		return 0, nil, ErrNoLeader
	}
	if err := n.checkLevel(e.needs); err != nil {
		return 0, nil, err
	}
	if err := ctx.Err(); err != nil {
		return 0, nil, fmt.Errorf("%w: %w", ErrNoLeader, err)
	}
	enqueue := time.Second
	if d, ok := ctx.Deadline(); ok {
		enqueue = time.Until(d)
	}
	if enqueue <= 0 {
		return 0, nil, fmt.Errorf("%w: %w", ErrNoLeader, context.DeadlineExceeded)
	}
	f := r.ApplyLog(raft.Log{Data: e.raw}, enqueue)
	if err := await(ctx, n.ctx.Done(), f, nil); err != nil {
		return 0, nil, translate(err)
	}
	res := f.Response().(applyResult)
	return f.Index(), res.result, res.err
}

// translate keeps apart what surely was not applied and what nobody can know.
func translate(err error) error {
	switch {
	case errors.Is(err, raft.ErrNotLeader), errors.Is(err, raft.ErrEnqueueTimeout), errors.Is(err, raft.ErrLeadershipTransferInProgress):
		return fmt.Errorf("%w: %w", ErrNoLeader, err)
	}
	return fmt.Errorf("%w: %w", ErrUnknownOutcome, err)
}
