package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/raft"

	"namesrv/cluster/clusterpb"
)

// removeHere takes a member out, as the leader.
func (n *Node) removeHere(ctx context.Context, req *clusterpb.Remove) (*clusterpb.MemberReply, error) {
	g := n.machine.view().group
	target, err := findMember(g.conf, req.Id)
	if err != nil {
		return nil, err
	}
	left := slices.DeleteFunc(votersOf(g.conf), func(s raft.Server) bool { return s.ID == target.ID })
	if len(left) == 0 {
		return nil, fmt.Errorf("%w: %s is the last peer: to end the cluster, stop it", ErrRefused, nodeOf(string(target.ID)))
	}
	reply := &clusterpb.MemberReply{Member: string(target.ID), Node: nodeOf(string(target.ID)), Outcome: OutcomeRemoved,
		VotersBefore: uint32(len(votersOf(g.conf))), VotersAfter: uint32(len(left)), Warnings: sizeWarnings(len(left))}
	reachable := n.reachable(ctx, left)
	reply.Reachable = uint32(len(reachable))
	if need := majority(len(left)); len(reachable) < need && target.Suffrage == raft.Voter && !req.Force {
		return nil, fmt.Errorf("%w: without %s there are %d voters, of which %d must be reachable and only %d are: start the others first (--force removes it all the same; the group then decides nothing until %d of %d are back)",
			ErrRefused, reply.Node, len(left), need, len(reachable), need, len(left))
	}
	if string(target.ID) == n.identity().MemberID {
		return nil, n.giveUpOffice(ctx, reachable)
	}
	n.log.Info("removing a member", "member", target.ID, "voters", len(left), "force", req.Force)
	return reply, n.takeOut(ctx, g, target)
}

// giveUpOffice hands leadership over, so that the next leader can remove this one
// without a pause. It always returns an error: nothing was removed, and whoever
// asked asks the next leader.
func (n *Node) giveUpOffice(ctx context.Context, reachable []raft.Server) error {
	others := slices.DeleteFunc(slices.Clone(reachable), func(s raft.Server) bool { return string(s.ID) == n.identity().MemberID })
	if len(others) == 0 {
		return fmt.Errorf("%w: no other voter can be reached to lead", ErrRefused)
	}
	if err := n.HandOver(ctx); err != nil {
		return fmt.Errorf("%w: the leader could not hand over: %w", ErrRefused, err)
	}
	return fmt.Errorf("%w: the leader handed over, to be removed by the next", ErrNoLeader)
}

// findMember finds a member by its full id, or by its node id where one has it.
func findMember(c raft.Configuration, id string) (raft.Server, error) {
	if s, ok := serverOf(c, id); ok {
		return s, nil
	}
	var found []raft.Server
	var all []string
	for _, s := range sortedServers(c) {
		all = append(all, nodeOf(string(s.ID)))
		if nodeOf(string(s.ID)) == id {
			found = append(found, s)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return raft.Server{}, fmt.Errorf("%w: no member is called %q: there are %s", ErrRefused, id, strings.Join(all, ", "))
	}
	var ids []string
	for _, s := range found {
		ids = append(ids, string(s.ID))
	}
	return raft.Server{}, fmt.Errorf("%w: %q is the node id of several members: say which, %s", ErrRefused, id, strings.Join(ids, " or "))
}

// reachable returns those that answer now.
func (n *Node) reachable(ctx context.Context, servers []raft.Server) []raft.Server {
	answers := make([]bool, len(servers))
	var asking sync.WaitGroup
	for i, s := range servers {
		asking.Go(func() {
			_, err := n.statusOf(ctx, s, 0)
			answers[i] = err == nil
		})
	}
	asking.Wait()
	var up []raft.Server
	for i, s := range servers {
		if answers[i] {
			up = append(up, s)
		}
	}
	return up
}

// transferHere gives leadership away, as the leader.
func (n *Node) transferHere(ctx context.Context, req *clusterpb.Transfer) (*clusterpb.MemberReply, error) {
	target, err := n.transferTarget(ctx, req.To)
	if err != nil {
		return nil, err
	}
	reply := &clusterpb.MemberReply{Member: string(target.ID), Node: nodeOf(string(target.ID)), Outcome: OutcomeLeads}
	if string(target.ID) == n.identity().MemberID {
		reply.Outcome = OutcomeLedBefore
		return reply, nil
	}
	return reply, transferError(n.transfer(ctx, func(_ context.Context, r *raft.Raft) (raft.Future, error) {
		return r.LeadershipTransferToServer(target.ID, target.Address), nil
	}))
}

// transferTarget is who is to lead: the member asked for, or whoever suits best.
func (n *Node) transferTarget(ctx context.Context, to string) (raft.Server, error) {
	conf := n.machine.view().group.conf
	if to == "" {
		if len(votersOf(conf)) < 2 {
			return raft.Server{}, fmt.Errorf("%w: there is no other voter", ErrRefused)
		}
		return n.successor(ctx)
	}
	target, err := findMember(conf, to)
	switch {
	case err != nil:
		return target, err
	case string(target.ID) == n.identity().MemberID:
		return target, nil
	case target.Suffrage != raft.Voter:
		return target, fmt.Errorf("%w: %s has no vote yet: wait until namesrv cluster members shows it as a voter", ErrRefused, nodeOf(string(target.ID)))
	case len(n.reachable(ctx, []raft.Server{target})) == 0:
		return target, fmt.Errorf("%w: %s cannot be reached from the leader, %s", ErrRefused, nodeOf(string(target.ID)), n.identity().NodeID)
	}
	return target, nil
}

func transferError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled), errors.Is(err, ErrStopped):
		return fmt.Errorf("%w: %w", ErrUnknownOutcome, err)
	case errors.Is(err, raft.ErrNotLeader):
		return fmt.Errorf("%w: %w", ErrNoLeader, err)
	case errors.Is(err, ErrRefused):
		return err
	}
	return fmt.Errorf("%w: leadership was not handed over: %w", ErrRefused, err)
}
