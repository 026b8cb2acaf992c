package cluster

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/raft"
	"google.golang.org/protobuf/proto"

	"namesrv/cluster/clusterpb"
)

// Outcomes of a MemberResult.
const (
	OutcomeAdded       = "added"        // without a vote until it has caught up
	OutcomeMoved       = "moved"        // same member, new address
	OutcomeMember      = "member"       // it was one before, nothing was changed
	OutcomeRemoved     = "removed"      //
	OutcomeLeads       = "leads"        // leadership went to it
	OutcomeLedBefore   = "leads before" // it led before, nothing was changed
	waitingPeerAdvice  = "start it with --bootstrap-expect 0, a free --node-id and an empty --data-dir"
	anotherAdminAdvice = "the members changed meanwhile: look at namesrv cluster members, then try again"
)

// joining is one admission at work, at the leader. Everything is checked on the
// configuration that stands at view.group.index, and the change that follows
// applies to that one only.
type joining struct {
	node  *Node
	req   *clusterpb.Join
	group membership
	peer  *clusterpb.FormReply
}

// joinHere admits a peer, or moves a member to a new address. It returns as soon
// as the peer is a member; its vote follows when it has caught up.
func (n *Node) joinHere(ctx context.Context, req *clusterpb.Join) (*clusterpb.MemberReply, error) {
	j := &joining{node: n, req: req, group: n.machine.view().group}
	if err := checkAdvertise(req.Address); err != nil {
		return nil, fmt.Errorf("%w: %q is no address of a peer: give the HOST:PORT of its --peer-advertise", ErrRefused, req.Address)
	}
	if old, ok := j.memberOfNode(); ok && req.Self {
		return nil, fmt.Errorf("%w: node %s is a member with another data directory (%s): if that one is lost, run on a member: namesrv cluster join %s %s --replace", ErrRefused, req.Node, old.ID, req.Node, req.Address)
	}
	var err error
	if j.peer, err = n.askStranger(ctx, req.Address); err != nil {
		return nil, err
	}
	if err := j.checkPeer(); err != nil {
		return nil, err
	}
	if s, ok := serverOf(j.group.conf, j.peer.Member); ok {
		return j.rejoin(ctx, s)
	}
	return j.admit(ctx)
}

// askStranger fetches what a peer shows of itself that may be no member.
func (n *Node) askStranger(ctx context.Context, addr string) (*clusterpb.FormReply, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*dialTry)
	defer cancel()
	a, err := n.peers.ask(ctx, addr, msgForm, nil)
	switch {
	case isUnresolved(err):
		return nil, fmt.Errorf("%w: the name of %s does not resolve at the leader, %s", ErrRefused, addr, n.identity().NodeID)
	case err != nil:
		return nil, fmt.Errorf("%w: no peer answers the leader, %s, at %s (%w): is it running, and is that its --peer-advertise?", ErrRefused, n.identity().NodeID, addr, err)
	}
	reply := new(clusterpb.FormReply)
	if err := proto.Unmarshal(a.payload, reply); err != nil || a.status != statusOK || reply.Member == "" {
		return nil, fmt.Errorf("%w: what answers at %s is no peer of this version", ErrRefused, addr)
	}
	return reply, nil
}

// checkPeer says why the peer that answered cannot be admitted.
func (j *joining) checkPeer() error {
	p, own := j.peer, j.node.identity().UUID
	switch {
	case p.Uuid != "" && p.Uuid != own:
		return fmt.Errorf("%w: the peer at %s belongs to another cluster, %s: only a peer with an empty --data-dir can be admitted", ErrRefused, j.req.Address, p.Uuid)
	case p.Node != j.req.Node:
		return fmt.Errorf("%w: the peer at %s is node %s, not %s: check its address and --node-id", ErrRefused, j.req.Address, p.Node, j.req.Node)
	case p.Address != j.req.Address:
		return fmt.Errorf("%w: the peer at %s calls itself %s: use that address, or start it with --peer-advertise %s", ErrRefused, j.req.Address, p.Address, j.req.Address)
	case tooOldFor(j.node.machine.level(), p.Knows) != nil:
		return fmt.Errorf("%w: the peer at %s: %w", ErrRefused, j.req.Address, tooOldFor(j.node.machine.level(), p.Knows))
	case hasServer(j.group.conf, p.Member):
		return nil
	case p.Since > 0:
		return fmt.Errorf("%w: the peer at %s was removed from this cluster: empty its --data-dir and start it again first", ErrRefused, j.req.Address)
	case p.Uuid == "" && !p.Waiting && !j.formsWithUs():
		return fmt.Errorf("%w: the peer at %s is not waiting to be admitted: %s", ErrRefused, j.req.Address, waitingPeerAdvice)
	}
	return nil
}

// formsWithUs says whether the peer was started to form a cluster with members of
// this one: a member that lost its disk and has its old command line.
func (j *joining) formsWithUs() bool {
	return slices.ContainsFunc(j.group.conf.Servers, func(s raft.Server) bool { return slices.Contains(j.peer.List, string(s.Address)) })
}

// rejoin is for a peer that is a member: nothing to do, or a new address.
func (j *joining) rejoin(ctx context.Context, s raft.Server) (*clusterpb.MemberReply, error) {
	reply := &clusterpb.MemberReply{Member: string(s.ID), Node: j.req.Node, Outcome: OutcomeMember}
	if string(s.Address) == j.req.Address {
		return reply, nil
	}
	if err := j.checkAddress(); err != nil {
		return nil, err
	}
	reply.Outcome = OutcomeMoved
	return reply, j.move(ctx, s)
}

// barLimit is how long what was sent to an old address may take to end.
const barLimit = 5 * time.Second

// move changes a member's address.
func (j *joining) move(ctx context.Context, s raft.Server) error {
	barring, cancel := context.WithTimeout(ctx, barLimit)
	defer cancel()
	lift, err := j.node.rt.Load().trans.calls.bar(barring, s.ID, s.Address)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNoLeader, err) // nothing was changed: whoever leads then may be asked again
	}
	begun := false
	err = j.change(ctx, func(r *raft.Raft, prev uint64) raft.IndexFuture {
		begun = true
		if s.Suffrage == raft.Voter {
			return lifting{r.AddVoter(s.ID, raft.ServerAddress(j.req.Address), prev, 0), lift}
		}
		return lifting{r.AddNonvoter(s.ID, raft.ServerAddress(j.req.Address), prev, 0), lift}
	})
	if !begun {
		lift()
	}
	return err
}

// lifting is a change that lifts a bar when it is done, be that after nobody waits for
// it any more.
type lifting struct {
	raft.IndexFuture
	lift func()
}

// Error implements raft.Future.
func (l lifting) Error() error {
	defer l.lift()
	return l.IndexFuture.Error()
}

// admit takes a new member in, without a vote.
func (j *joining) admit(ctx context.Context) (*clusterpb.MemberReply, error) {
	old, replaces := j.memberOfNode()
	if replaces && !j.req.Replace {
		return nil, fmt.Errorf("%w: node %s is a member with another data directory (%s): if that one is lost, say --replace, or first: namesrv cluster remove %s", ErrRefused, j.req.Node, old.ID, j.req.Node)
	}
	if err := j.checkReach(); err != nil {
		return nil, err
	}
	voters := len(votersOf(j.group.conf))
	if replaces && string(old.Address) == j.req.Address {
		// Two members cannot have one address. The old one can go at once: the
		// newcomer answers where the others look for it, so it was out of reach
		// and no majority gets smaller by this.
		if err := j.removeUnreachable(ctx, old); err != nil {
			return nil, err
		}
		replaces = false
	} else if err := j.checkAddress(); err != nil {
		return nil, err
	}
	if err := j.node.sendAdmit(ctx, j.req.Address); err != nil {
		return nil, err
	}
	member := j.peer.Member
	if replaces {
		if err := j.node.proposeReplace(ctx, member, string(old.ID)); err != nil {
			return nil, err
		}
	}
	j.node.log.Info("admitting", "member", member, "peer", j.req.Address, "replaces", old.ID)
	err := j.change(ctx, func(r *raft.Raft, prev uint64) raft.IndexFuture {
		return r.AddNonvoter(raft.ServerID(member), raft.ServerAddress(j.req.Address), prev, 0)
	})
	after := voters
	if old.ID == "" || old.Suffrage != raft.Voter {
		after++
	}
	return &clusterpb.MemberReply{Member: member, Node: j.req.Node, Outcome: OutcomeAdded,
		VotersBefore: uint32(voters), VotersAfter: uint32(after), Warnings: sizeWarnings(after)}, err
}

// change makes one configuration change on what was checked.
func (j *joining) change(ctx context.Context, do func(r *raft.Raft, prev uint64) raft.IndexFuture) error {
	return memberError(j.node.changeMembersAt(ctx, j.group.index, do))
}

// memberOfNode is the member of the same node id, and of another directory.
func (j *joining) memberOfNode() (raft.Server, bool) {
	for _, s := range sortedServers(j.group.conf) {
		if nodeOf(string(s.ID)) == j.req.Node && string(s.ID) != j.peer.GetMember() {
			return s, true
		}
	}
	return raft.Server{}, false
}

// checkAddress refuses the address of another member.
func (j *joining) checkAddress() error {
	for _, s := range j.group.conf.Servers {
		if string(s.Address) == j.req.Address && string(s.ID) != j.peer.Member {
			return fmt.Errorf("%w: %s is the address of member %s: give the new peer another --peer-advertise, or first: namesrv cluster remove %s", ErrRefused, j.req.Address, s.ID, nodeOf(string(s.ID)))
		}
	}
	return nil
}

// checkReach refuses a newcomer on another machine while a member is known under an
// address of its own machine only: so starts a server that was told of no others.
func (j *joining) checkReach() error {
	if isLoopback(j.req.Address) {
		return nil
	}
	for _, s := range sortedServers(j.group.conf) {
		if isLoopback(string(s.Address)) {
			node := nodeOf(string(s.ID))
			return fmt.Errorf("%w: member %s is known as %s, where another machine cannot reach it: restart it with --peer-listen and --peer-advertise HOST:PORT, then run: namesrv cluster join %s HOST:PORT", ErrRefused, node, s.Address, node)
		}
	}
	return nil
}

func isLoopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	ip, perr := netip.ParseAddr(host)
	return err == nil && (strings.EqualFold(host, "localhost") || perr == nil && ip.Unmap().IsLoopback())
}

func (j *joining) removeUnreachable(ctx context.Context, old raft.Server) error {
	j.node.log.Info("removing a member whose place is taken", "member", old.ID, "peer", old.Address)
	if err := j.node.takeOut(ctx, j.group, old); err != nil {
		return err
	}
	j.group = j.node.machine.view().group
	return nil
}

// awaitConfiguration waits until a configuration after index is applied here.
func (n *Node) awaitConfiguration(ctx context.Context, index uint64) error {
	for {
		v := n.machine.view()
		if v.group.index > index {
			return nil
		}
		select {
		case <-v.news:
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", ErrUnknownOutcome, ctx.Err())
		}
	}
}

// sendAdmit tells a peer which cluster it belongs to from now on.
func (n *Node) sendAdmit(ctx context.Context, addr string) error {
	raw, err := proto.Marshal(&clusterpb.Admit{Uuid: n.identity().UUID})
	if err != nil {
		return err
	}
	a, err := n.peers.ask(ctx, addr, msgAdmit, raw)
	if err != nil {
		return fmt.Errorf("admit %s: %w", addr, err)
	}
	if a.status != statusOK {
		return fmt.Errorf("admit %s: %s", addr, a.payload)
	}
	return nil
}

func (n *Node) proposeReplace(ctx context.Context, member, old string) error {
	payload, err := proto.Marshal(&clusterpb.Replace{Member: member, Old: old})
	if err != nil {
		return err
	}
	raw, err := encodeEnvelope(&clusterpb.Envelope{Kind: clusterpb.Envelope_KIND_REPLACE, Payload: payload})
	if err != nil {
		return err
	}
	_, _, err = n.applyHere(ctx, raw)
	return err
}

// askToJoin asks the members of --join in turn to admit this peer, and returns what
// they said.
func (n *Node) askToJoin(list []string) string {
	raw, err := proto.Marshal(&clusterpb.Join{Node: n.cfg.NodeID, Address: n.cfg.Advertise, Self: true})
	if err != nil {
		return err.Error()
	}
	var said []string
	for _, addr := range list {
		if addr == n.cfg.Advertise {
			continue
		}
		ctx, cancel := context.WithTimeout(n.ctx, memberLimit)
		a, err := n.peers.ask(ctx, addr, msgJoin, raw)
		cancel()
		switch {
		case err != nil:
			said = append(said, fmt.Sprintf("peer %s does not answer (%v)", addr, err))
		case a.status != statusOK:
			said = append(said, fmt.Sprintf("peer %s: %s", addr, a.payload))
		default:
			return ""
		}
	}
	return strings.Join(said, "; ")
}

// memberLimit is how long one change of the members may take.
const memberLimit = 10 * time.Second
