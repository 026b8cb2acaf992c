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

// MemberResult is what a change of the group's members, or of its leader, led to.
type MemberResult struct {
	Member  string // full Raft id of the member that it was about
	Node    string // its node id
	Outcome string // one of the Outcome constants

	VotersBefore, VotersAfter int
	Reachable                 int // voters that answered, of those after the change; set by Remove

	Warnings []string // what the admin should know of the group's new size, whole sentences
}

// JoinRequest asks for a peer to be made a member.
type JoinRequest struct {
	Node    string // node id that the peer must have
	Address string // HOST:PORT of its peer port
	Replace bool   // let it take the place of the member of that node id
}

// Join makes a waiting peer a member, or gives a member a new address. It returns
// when the peer is a member; it gets its vote when it has caught up and is steady,
// which Members shows. ErrRefused says why nothing was changed.
func (n *Node) Join(ctx context.Context, req JoinRequest) (MemberResult, error) {
	return n.changeGroup(ctx, &clusterpb.MemberRequest{Kind: &clusterpb.MemberRequest_Join{
		Join: &clusterpb.Join{Node: req.Node, Address: req.Address, Replace: req.Replace}}})
}

// Remove takes a member out, named by its node id or full id. It refuses to leave
// fewer reachable voters than the new majority needs, unless force is set, and
// never removes the last one. A leader that is to be removed hands over first.
func (n *Node) Remove(ctx context.Context, id string, force bool) (MemberResult, error) {
	return n.changeGroup(ctx, &clusterpb.MemberRequest{Kind: &clusterpb.MemberRequest_Remove{
		Remove: &clusterpb.Remove{Id: id, Force: force}}})
}

// Transfer gives the leadership to a voter, or, with an empty id, to the one that
// is most up to date.
func (n *Node) Transfer(ctx context.Context, id string) (MemberResult, error) {
	return n.changeGroup(ctx, &clusterpb.MemberRequest{Kind: &clusterpb.MemberRequest_Transfer{
		Transfer: &clusterpb.Transfer{To: id}}})
}

// changeGroup has a change made by the leader, here or with one hop. It is sent
// again only where it surely was not made.
func (n *Node) changeGroup(ctx context.Context, req *clusterpb.MemberRequest) (MemberResult, error) {
	for {
		if n.removed.Load() {
			return MemberResult{}, ErrRemoved
		}
		reply, err := n.changeGroupOnce(ctx, req)
		switch {
		case err == nil:
			return resultOf(reply), nil
		case !errors.Is(err, ErrNoLeader):
			return MemberResult{}, err
		}
		select {
		case <-time.After(lookAround / 2):
		case <-ctx.Done():
			return MemberResult{}, err
		}
		if n.reach.gone() {
			return MemberResult{}, err
		}
	}
}

func (n *Node) changeGroupOnce(ctx context.Context, req *clusterpb.MemberRequest) (*clusterpb.MemberReply, error) {
	if n.Leads() {
		return n.changeGroupHere(ctx, req)
	}
	raw, err := proto.Marshal(req)
	if err != nil {
		return nil, err
	}
	a, err := n.callLeader(ctx, msgMember, raw)
	switch {
	case errors.Is(err, errNotSent) && errors.Is(err, ErrNoLeader):
		return nil, n.noLeader()
	case errors.Is(err, errNotSent):
		return nil, fmt.Errorf("%w: %w", ErrNoLeader, err)
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrUnknownOutcome, err)
	}
	return readMemberReply(a)
}

func readMemberReply(a answer) (*clusterpb.MemberReply, error) {
	switch a.status {
	case statusOK:
		reply := new(clusterpb.MemberReply)
		return reply, proto.Unmarshal(a.payload, reply)
	case statusNoLeader:
		return nil, told(ErrNoLeader, a.payload)
	case statusRefused:
		return nil, told(ErrRefused, a.payload)
	}
	return nil, fmt.Errorf("%w: %s", ErrUnknownOutcome, a.payload)
}

func resultOf(r *clusterpb.MemberReply) MemberResult {
	return MemberResult{Member: r.Member, Node: r.Node, Outcome: r.Outcome, VotersBefore: int(r.VotersBefore),
		VotersAfter: int(r.VotersAfter), Reachable: int(r.Reachable), Warnings: r.Warnings}
}

// serveMember makes a change that another member passed on. Not leading any more,
// it says so.
func (n *Node) serveMember(ctx context.Context, payload []byte) answer {
	req := new(clusterpb.MemberRequest)
	if err := proto.Unmarshal(payload, req); err != nil {
		return answer{status: statusRefused, payload: []byte(err.Error())}
	}
	reply, err := n.changeGroupHere(ctx, req)
	return memberAnswer(reply, err)
}

// serveJoin takes the wish of a peer that is no member yet: it may name itself only,
// and not a node id that the group has.
func (n *Node) serveJoin(ctx context.Context, payload []byte) answer {
	var in clusterpb.Join
	if err := proto.Unmarshal(payload, &in); err != nil {
		return answer{status: statusRefused, payload: []byte(err.Error())}
	}
	if n.raft() == nil {
		return answer{status: statusNoLeader, payload: []byte("it is in no cluster itself")}
	}
	wish := &clusterpb.Join{Node: in.Node, Address: in.Address, Self: true}
	reply, err := n.changeGroupOnce(ctx, &clusterpb.MemberRequest{Kind: &clusterpb.MemberRequest_Join{Join: wish}})
	if err != nil {
		n.log.Debug("a peer asked to be admitted", "node", in.Node, "peer", in.Address, "error", err)
	}
	return memberAnswer(reply, err)
}

func memberAnswer(reply *clusterpb.MemberReply, err error) answer {
	switch {
	case err == nil:
		return answerOf(reply)
	case errors.Is(err, ErrNoLeader):
		return answer{status: statusNoLeader, payload: []byte(err.Error())}
	case errors.Is(err, ErrRefused):
		return answer{status: statusRefused, payload: []byte(strings.TrimPrefix(err.Error(), ErrRefused.Error()+": "))}
	}
	return answer{status: statusUnknown, payload: []byte(err.Error())}
}

// changeGroupHere makes a change as the leader. Two at a time do no harm: each
// applies to the configuration that it was checked against, or not at all.
func (n *Node) changeGroupHere(ctx context.Context, req *clusterpb.MemberRequest) (*clusterpb.MemberReply, error) {
	if !n.Leads() {
		return nil, ErrNoLeader
	}
	if !n.machine.view().formed {
		return nil, fmt.Errorf("%w: the cluster is still forming: wait until namesrv cluster members shows all peers of --join", ErrRefused)
	}
	switch kind := req.Kind.(type) {
	case *clusterpb.MemberRequest_Join:
		return n.joinHere(ctx, kind.Join)
	case *clusterpb.MemberRequest_Remove:
		return n.removeHere(ctx, kind.Remove)
	case *clusterpb.MemberRequest_Transfer:
		return n.transferHere(ctx, kind.Transfer)
	}
	return nil, fmt.Errorf("%w: the leader does not know this change: is it of an older version?", ErrRefused)
}

// memberError keeps apart why a configuration change was not made.
func memberError(err error) error {
	switch {
	case err == nil:
		return nil
	case strings.HasPrefix(err.Error(), "configuration changed since"): // Raft has no sentinel for it
		return fmt.Errorf("%w: %s", ErrRefused, anotherAdminAdvice)
	}
	return translate(err)
}

func serverOf(c raft.Configuration, member string) (raft.Server, bool) {
	for _, s := range c.Servers {
		if string(s.ID) == member {
			return s, true
		}
	}
	return raft.Server{}, false
}

func votersOf(c raft.Configuration) (voters []raft.Server) {
	for _, s := range c.Servers {
		if s.Suffrage == raft.Voter {
			voters = append(voters, s)
		}
	}
	return voters
}

// majority is how many of n voters decide.
func majority(n int) int { return n/2 + 1 }

// sizeWarnings says what is unwise about a number of voters.
func sizeWarnings(voters int) []string {
	switch {
	case voters == 2:
		return []string{"A group of two stops as soon as either peer is lost: add a third."}
	case voters > 0 && voters%2 == 0:
		return []string{fmt.Sprintf("%d voters survive the loss of %d, no more than %d would: an odd number is better.", voters, voters-majority(voters), voters-1)}
	}
	return nil
}
