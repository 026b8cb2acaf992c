package cluster

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/hashicorp/raft"
)

// futureOf is a future with its answer.
type futureOf struct{ err error }

func (a futureOf) Error() error { return a.err }

// TestTransferIsTriedOverANewConnection promises that connections which Raft kept to
// the former process of a member do not keep the leader from handing over.
func TestTransferIsTriedOverANewConnection(t *testing.T) {
	dead := errors.New("failed to make TimeoutNow RPC: EOF")
	tests := []struct {
		name    string
		answers []error // the last one again and again
		tries   int
		want    error
	}{
		{"at once", []error{nil}, 1, nil},
		{"as many dead connections as are kept", []error{dead, dead, dead, nil}, 4, nil},
		{"more than that", []error{dead}, 4, dead},
		{"an earlier try is under way", []error{dead, raft.ErrLeadershipTransferInProgress, raft.ErrLeadershipTransferInProgress, nil}, 4, nil},
		{"others under way are no tries", []error{raft.ErrLeadershipTransferInProgress, raft.ErrLeadershipTransferInProgress, dead}, 6, raft.ErrLeadershipTransferInProgress},
		{"another leads", []error{raft.ErrNotLeader}, 1, raft.ErrNotLeader},
	}
	n := single(t)
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			tries := 0
			err := n.transfer(soon(t), func(context.Context, *raft.Raft) (raft.Future, error) {
				tries++
				return futureOf{tc.answers[min(tries, len(tc.answers))-1]}, nil
			})
			if !errors.Is(err, tc.want) || tries != tc.tries {
				t.Errorf("%v after %d tries, want %v after %d", err, tries, tc.want, tc.tries)
			}
		})
	}
	t.Run("no time left", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		err := n.transfer(ctx, func(context.Context, *raft.Raft) (raft.Future, error) { cancel(); return futureOf{dead}, nil })
		if !errors.Is(err, dead) && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

// TestTransferThatSucceedsLate: a try that was given up has won when the next one finds that this node does not lead.
func TestTransferThatSucceedsLate(t *testing.T) {
	nodes := three(t)
	leader, _ := leaderOf(t, nodes...)
	late := errors.New("leadership transfer timeout")
	err := leader.transfer(soon(t), func(ctx context.Context, r *raft.Raft) (raft.Future, error) {
		if r.State() != raft.Leader {
			return futureOf{raft.ErrNotLeader}, nil
		}
		f, err := leader.toSuccessor(ctx, r)
		if err != nil {
			return nil, err
		}
		if err := f.Error(); err != nil {
			return futureOf{err}, nil
		}
		return futureOf{late}, nil
	})
	if err != nil {
		t.Errorf("%v, although another member leads", err)
	}
}

// TestLeadershipPassesByAMemberThatHangs: a member that hangs neither gets the lead nor holds up what is written.
func TestLeadershipPassesByAMemberThatHangs(t *testing.T) {
	nodes, rs := relayedThree(t, nil)
	leader, rest := leaderOf(t, nodes...)
	hung := rest[0]
	rs.set(func(p packet) fate {
		if p.from == hung.cfg.NodeID || p.to == hung.cfg.NodeID {
			return hold
		}
		return pass
	})
	propose(t, leader, "not heard by one")
	began := time.Now()
	res, err := leader.Transfer(soon(t), hung.cfg.NodeID)
	if !errors.Is(err, ErrRefused) {
		t.Errorf("transfer to the one that hangs: %+v, %v", res, err)
	}
	propose(t, leader, "after a transfer that failed")
	if res, err = leader.Transfer(soon(t), ""); err != nil || res.Member != rest[1].MemberID() {
		t.Errorf("transfer: %+v, %v, want to %s", res, err, rest[1].MemberID())
	}
	eventually(t, "the other leads", rest[1].Leads)
	propose(t, rest[1], "at the next leader")
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("all that took %v", took)
	}
}

// TestTimeoutNowIsGivenUp: Raft takes no change while it waits for the answer.
func TestTimeoutNowIsGivenUp(t *testing.T) {
	nodes, rs := relayedThree(t, nil)
	leader, rest := leaderOf(t, nodes...)
	hung := rest[0]
	rs.set(func(p packet) fate {
		if p.raft && p.to == hung.cfg.NodeID {
			return hold // it answers questions, and hears nothing from Raft
		}
		return pass
	})
	began := time.Now()
	if _, err := leader.Transfer(soon(t), hung.cfg.NodeID); err == nil {
		t.Error("a member that hears nothing leads")
	}
	propose(t, leader, "after a transfer that failed")
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("writes stood still for %v", took)
	}
}

// neverAnswered is a transfer that Raft does not answer until it is told to.
type neverAnswered chan struct{}

func (a neverAnswered) Error() error { <-a; return nil }

// TestCloseWaitsForTransfers: Raft never answers one that it has not read when it is shut down.
func TestCloseWaitsForTransfers(t *testing.T) {
	n := single(t)
	ctx, cancel := context.WithCancel(t.Context())
	unread := make(neverAnswered)
	err := n.transfer(ctx, func(context.Context, *raft.Raft) (raft.Future, error) { cancel(); return unread, nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("transfer: %v", err)
	}
	closed := make(chan error, 1)
	go func() { closed <- n.Close() }()
	<-n.ctx.Done() // it has begun
	time.AfterFunc(50*time.Millisecond, func() { close(unread) })
	select {
	case err := <-closed:
		select {
		case <-unread:
		default:
			t.Errorf("closed before Raft answered: %v", err)
		}
	case <-time.After(shutdownLimit / 2):
		t.Error("it does not close")
	}
}
