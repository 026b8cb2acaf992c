package cluster

import (
	"context"
	"errors"
	"time"

	"github.com/hashicorp/raft"
)

const (
	transferTries = transportPool + 1
	transferPause = 50 * time.Millisecond
)

// transfer gives leadership away, as the leader. Raft asks the next leader over a
// connection that it kept; one to a process that was started again since is dead, and
// only the asking shows it. So it is tried until a new one must have been made.
func (n *Node) transfer(ctx context.Context, start func(r *raft.Raft) raft.Future) error {
	for try := 1; ; try++ {
		err := await(ctx, n.ctx.Done(), start(n.raft()), nil)
		if err == nil || try == transferTries || errors.Is(err, raft.ErrNotLeader) || ctx.Err() != nil || n.ctx.Err() != nil {
			return err
		}
		select {
		case <-time.After(transferPause):
		case <-ctx.Done():
			return err
		case <-n.ctx.Done():
			return err
		}
	}
}

func toAnyone(r *raft.Raft) raft.Future { return r.LeadershipTransfer() }
