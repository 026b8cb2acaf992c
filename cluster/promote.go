package cluster

import (
	"context"
	"slices"
	"time"

	"github.com/hashicorp/raft"
)

const (
	promotePause = 250 * time.Millisecond
	steadyRounds = 8 // times in a row that a newcomer must have caught up: two seconds
)

// promoteNewcomers runs at the leader: members without a vote get one when they
// have caught up and stay so. It rests on the log alone, so that the next leader
// goes on where this one stopped.
func (n *Node) promoteNewcomers(ctx context.Context) {
	steady := make(map[raft.ServerID]int)
	t := time.NewTicker(promotePause)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		g := n.machine.view().group
		for _, s := range sortedServers(g.conf) {
			switch {
			case s.Suffrage == raft.Voter:
				n.finishReplacing(ctx, g, s)
				delete(steady, s.ID)
			case !n.caughtUp(ctx, s):
				steady[s.ID] = 0
			case steady[s.ID]+1 < steadyRounds:
				steady[s.ID]++
			default:
				n.promote(ctx, g, s)
			}
		}
	}
}

// promote gives a newcomer its vote. Where it takes the place of a member that
// cannot be reached, that one goes first: removing it makes no majority harder to
// reach, while a vote more beside a lost one would. A member that can be reached
// goes after the newcomer has its vote, so that in between the group survives no
// fewer losses than before. Either way each step is checked on its own, and a new
// leader takes the next.
func (n *Node) promote(ctx context.Context, g membership, s raft.Server) {
	if old, ok := serverOf(g.conf, g.replacing[string(s.ID)]); ok && len(n.reachable(ctx, []raft.Server{old})) == 0 {
		n.removeReplaced(ctx, g, old)
		return
	}
	n.step(ctx, "give a newcomer its vote", s, func(ctx context.Context) error {
		err := n.changeMembersAt(ctx, g.index, func(r *raft.Raft, prev uint64) raft.IndexFuture {
			return r.AddVoter(s.ID, s.Address, prev, 0)
		})
		if err != nil {
			return err
		}
		return n.awaitConfiguration(ctx, g.index)
	})
}

// finishReplacing removes the member whose place a voter has taken.
func (n *Node) finishReplacing(ctx context.Context, g membership, s raft.Server) {
	old, ok := serverOf(g.conf, g.replacing[string(s.ID)])
	if !ok {
		return
	}
	left := slices.DeleteFunc(votersOf(g.conf), func(v raft.Server) bool { return v.ID == old.ID })
	if len(n.reachable(ctx, left)) < majority(len(left)) {
		return
	}
	if string(old.ID) == n.identity().MemberID {
		if err := n.HandOver(ctx); err != nil {
			n.log.Warn("hand over before this peer is replaced", "error", err)
		}
		return
	}
	n.removeReplaced(ctx, g, old)
}

func (n *Node) removeReplaced(ctx context.Context, g membership, old raft.Server) {
	n.step(ctx, "remove the member whose place is taken", old, func(ctx context.Context) error { return n.takeOut(ctx, g, old) })
}

// step makes one configuration change. The change waits until it shows, so that the
// next look does not repeat it.
func (n *Node) step(ctx context.Context, what string, s raft.Server, change func(ctx context.Context) error) {
	ctx, cancel := context.WithTimeout(ctx, memberLimit)
	defer cancel()
	if err := change(ctx); err != nil {
		if ctx.Err() == nil {
			n.log.Warn(what, "member", s.ID, "error", err)
		}
		return
	}
	n.log.Info(what, "member", s.ID, "peer", s.Address)
}
