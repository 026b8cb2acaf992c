package cluster

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/raft"
	"google.golang.org/protobuf/proto"

	"namesrv/cluster/clusterpb"
)

const (
	lookAround = 500 * time.Millisecond // between two questions of a member that hears no leader
	farewell   = time.Second            // answers that are under way go out before the process ends
)

// removedError says what to do with the directory of a removed member.
func removedError(id identity, dir string) error {
	return fmt.Errorf("%w: %s holds member %s, which cluster %s does not have any more: to let this peer join again, empty the directory, start it with --bootstrap-expect 0, and on a member run: namesrv cluster join %s HOST:PORT",
		ErrRemoved, dir, id.MemberID, id.UUID, id.NodeID)
}

// watchMembership finds out that this member was removed. Its own log may never
// say so: the leader stops sending once the entry that removes it is written, and
// what commits it comes later. So a member that hears no leader asks the others.
// That nobody answers means nothing: only a committed configuration does.
func (n *Node) watchMembership() {
	t := time.NewTicker(lookAround)
	defer t.Stop()
	for {
		v := n.machine.view()
		if err := n.rememberGroup(v.group); err != nil {
			n.fail(err)
			return
		}
		if v.group.without(n.identity().MemberID) {
			n.leave(v.group.index)
			return
		}
		select {
		case <-n.ctx.Done():
			return
		case <-v.news:
			continue
		case index := <-n.toldRemoved:
			n.leave(index)
			return
		case <-t.C:
		}
		if index := n.askWhetherRemoved(v.group); index > 0 {
			n.leave(index)
			return
		}
	}
}

// leave ends this member's life in the group.
func (n *Node) leave(index uint64) {
	n.removed.Store(true)
	close(n.reach.left) // those who wait for a leader wait no longer
	if err := n.changeIdentity(func(id *identity) { id.Removed = true }); err != nil {
		n.log.Error("note that this peer was removed", "error", err)
	}
	n.log.Warn("removed from the cluster: this peer stops", "member", n.identity().MemberID, "index", index)
	if n.cfg.Removed != nil {
		n.cfg.Removed()
	}
	select {
	case <-time.After(farewell):
	case <-n.ctx.Done():
		return
	}
	n.fail(removedError(n.identity(), n.cfg.DataDir))
}

// askWhetherRemoved returns the index of a committed configuration without this
// member, or 0. It asks nobody while a leader is heard.
func (n *Node) askWhetherRemoved(g membership) uint64 {
	r := n.raft()
	if _, leader := r.LeaderWithID(); leader != "" && n.reach.quiet.Load() || g.since == 0 {
		return 0
	}
	self := n.identity().MemberID
	var mu sync.Mutex // guards found
	var found uint64
	var asking sync.WaitGroup
	for _, s := range n.otherServers(g) {
		asking.Go(func() {
			st, err := n.statusOf(n.ctx, s, 0)
			if err != nil || !leavesOut(st, g.since, self) {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			found = st.ConfigurationIndex
		})
	}
	asking.Wait()
	return found
}

// leavesOut says whether another member shows a committed configuration without
// self that is newer than one, at log index since, that held it.
func leavesOut(st *clusterpb.StatusReply, since uint64, self string) bool {
	return since > 0 && st.ConfigurationIndex > since && !slices.Contains(st.Members, self)
}

// takeOut removes a member from the configuration that g tells, and lets it know.
func (n *Node) takeOut(ctx context.Context, g membership, s raft.Server) error {
	err := memberError(n.changeMembersAt(ctx, g.index, func(r *raft.Raft, prev uint64) raft.IndexFuture {
		return r.RemoveServer(s.ID, prev, 0)
	}))
	if err != nil {
		return err
	}
	if err := n.awaitConfiguration(ctx, g.index); err != nil {
		return err
	}
	n.tellRemoved(ctx, s)
	return nil
}

// tellRemoved tells a member that it was removed, so that nobody waits for an answer
// of it. One that is not reached finds out by itself.
func (n *Node) tellRemoved(ctx context.Context, s raft.Server) {
	ctx, cancel := context.WithTimeout(ctx, statusLimit)
	defer cancel()
	raw, err := proto.Marshal(n.ownStatus())
	if err == nil {
		_, err = n.peers.call(ctx, string(s.ID), string(s.Address), msgRemoved, raw)
	}
	if err != nil {
		n.log.Debug("a removed member was not told", "member", s.ID, "error", err)
	}
}

// serveRemoved takes the word of another member, which shows the configuration.
func (n *Node) serveRemoved(payload []byte) answer {
	st := new(clusterpb.StatusReply)
	if err := proto.Unmarshal(payload, st); err != nil {
		return answer{status: statusError, payload: []byte(err.Error())}
	}
	if leavesOut(st, n.machine.view().group.since, n.identity().MemberID) {
		select {
		case n.toldRemoved <- st.ConfigurationIndex:
		default: // it was told before
		}
	}
	return answer{}
}

// otherServers are all members that this one has a way to: of the committed
// configuration and of a newer one in its log.
func (n *Node) otherServers(g membership) []raft.Server {
	all := slices.Concat(n.raft().GetConfiguration().Configuration().Servers, g.conf.Servers)
	self := raft.ServerID(n.identity().MemberID)
	var others []raft.Server
	for _, s := range all {
		if s.ID != self && !slices.ContainsFunc(others, func(o raft.Server) bool { return o.ID == s.ID && o.Address == s.Address }) {
			others = append(others, s)
		}
	}
	return others
}

// serveStatus answers once this peer's tables show the entry that was asked for,
// or not at all within the sender's time.
func (n *Node) serveStatus(ctx context.Context, payload []byte) answer {
	var in clusterpb.StatusRequest
	if err := proto.Unmarshal(payload, &in); err != nil {
		return answer{status: statusError, payload: []byte(err.Error())}
	}
	if err := n.applied.wait(ctx, in.AtLeast); err != nil {
		return answer{status: statusError, payload: []byte(err.Error())}
	}
	return answerOf(n.ownStatus())
}
