package cluster

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/raft"
	"google.golang.org/protobuf/proto"

	"namesrv/cluster/clusterpb"
)

// Member is one peer as this one sees it.
type Member struct {
	ID        string // node id, as given by --node-id
	Member    string // full Raft id
	Peer      string // HOST:PORT of its peer port
	Client    string
	Admin     string
	Voter     bool
	Leader    bool
	Reachable bool
	LastIndex uint64
	Lag       uint64 // log entries behind the one that is furthest
	Version   string
}

// Status is this peer's own view of the group.
type Status struct {
	ID, Member, UUID string
	State            string // Raft's name for the role: Leader, Follower, Candidate; Waiting outside a cluster
	Term             uint64
	Leader           string // node id; empty when none is known
	Applied          uint64
	Commit           uint64
	LastIndex        uint64
	Members, Voters  int
	LastContact      time.Duration // since this peer heard from the leader; 0 at the leader, negative before the first time
	Snapshot         uint64        // index of the last entry in the newest snapshot; 0: none
	LogBytes         int64         // size of the log's file
	Formed           bool
	FeatureLevel     uint32 // what every voter's binary knows: log entries of a higher one are refused
	Knows            uint32 // the newest level of this peer's binary
	Linearizable     bool   // a leader was reached within the last two seconds of running time
}

const statusLimit = time.Second

// Members asks every member for its state; one that does not answer within a
// second is listed as not reachable.
func (n *Node) Members(ctx context.Context) ([]Member, error) {
	r := n.raft()
	if r == nil {
		return nil, ErrNoLeader
	}
	servers := r.GetConfiguration().Configuration().Servers
	out := make([]Member, len(servers))
	_, leader := r.LeaderWithID()
	known := n.machine.view().peers
	var wg sync.WaitGroup
	for i, s := range servers {
		m := &out[i]
		*m = Member{ID: nodeOf(string(s.ID)), Member: string(s.ID), Peer: string(s.Address), Voter: s.Suffrage == raft.Voter, Leader: s.ID == leader}
		if p := known[m.Member]; p != nil {
			m.ID, m.Client, m.Admin, m.Version = p.Node, p.Client, p.Admin, p.Version
		}
		wg.Go(func() {
			if st, err := n.statusOf(ctx, s, 0); err == nil {
				m.Reachable, m.LastIndex, m.Version = true, st.LastIndex, st.Version
			}
		})
	}
	wg.Wait()
	var furthest uint64
	for i := range out {
		furthest = max(furthest, out[i].LastIndex)
	}
	for i := range out {
		if out[i].Reachable {
			out[i].Lag = furthest - out[i].LastIndex
		}
	}
	return out, nil
}

// nodeOf cuts the directory's random part off a member id.
func nodeOf(member string) string {
	if i := strings.LastIndexByte(member, '-'); i > 0 {
		return member[:i]
	}
	return member
}

// statusOf asks a member for its state, as soon as its tables show an index.
func (n *Node) statusOf(ctx context.Context, s raft.Server, atLeast uint64) (*clusterpb.StatusReply, error) {
	if string(s.ID) == n.identity().MemberID {
		return n.ownStatus(), nil
	}
	ctx, cancel := context.WithTimeout(ctx, statusLimit)
	defer cancel()
	q, err := proto.Marshal(&clusterpb.StatusRequest{AtLeast: atLeast})
	if err != nil {
		return nil, err
	}
	a, err := n.peers.call(ctx, string(s.ID), string(s.Address), msgStatus, q)
	if err != nil {
		return nil, err
	}
	if a.status != statusOK {
		return nil, errors.New(string(a.payload))
	}
	st := new(clusterpb.StatusReply)
	return st, proto.Unmarshal(a.payload, st)
}

func (n *Node) ownStatus() *clusterpb.StatusReply {
	g := n.machine.view().group
	st := &clusterpb.StatusReply{Member: n.identity().MemberID, Version: n.cfg.Version, Applied: n.applied.get(),
		ConfigurationIndex: g.index, Members: g.members()}
	if r := n.raft(); r != nil {
		_, leader := r.LeaderWithID()
		st.Term, st.LastIndex, st.Leader = r.CurrentTerm(), r.LastIndex(), string(leader)
	}
	return st
}

// Status never waits.
func (n *Node) Status() Status {
	id := n.identity()
	s := Status{ID: id.NodeID, Member: id.MemberID, UUID: id.UUID, State: "Waiting", LastContact: -time.Millisecond, Applied: n.applied.get(), Formed: n.machine.view().formed,
		FeatureLevel: n.machine.level(), Knows: n.cfg.Machine.Knows()}
	r := n.raft()
	if r == nil {
		return s
	}
	_, leader := r.LeaderWithID()
	s.State, s.Term, s.Commit, s.LastIndex = r.State().String(), r.CurrentTerm(), r.CommitIndex(), r.LastIndex()
	if leader != "" {
		s.Leader = nodeOf(string(leader))
	}
	servers := r.GetConfiguration().Configuration().Servers
	s.Members = len(servers)
	for _, srv := range servers {
		if srv.Suffrage == raft.Voter {
			s.Voters++
		}
	}
	s.Linearizable = n.confirmed.Load() && !n.reach.gone()
	n.measure(r, &s)
	return s
}

// measure adds what a person on call asks of the log and of the leader.
func (n *Node) measure(r *raft.Raft, s *Status) {
	if last := r.LastContact(); s.State == raft.Leader.String() {
		s.LastContact = 0
	} else if !last.IsZero() {
		s.LastContact = time.Since(last)
	}
	s.Snapshot, _ = strconv.ParseUint(r.Stats()["last_snapshot_index"], 10, 64) // always a number; only Stats tells it
	if info, err := os.Stat(filepath.Join(n.cfg.DataDir, logFile)); err == nil {
		s.LogBytes = info.Size()
	}
}

// MemberIDs are the members of the newest configuration known here.
func (n *Node) MemberIDs() []string {
	r := n.raft()
	if r == nil {
		return nil
	}
	var ids []string
	for _, s := range r.GetConfiguration().Configuration().Servers {
		ids = append(ids, string(s.ID))
	}
	return ids
}

// MemberID is this member's own Raft id.
func (n *Node) MemberID() string { return n.identity().MemberID }

// Applied is the index of the last log entry that this peer's tables show.
func (n *Node) Applied() uint64 { return n.applied.get() }

// AdmittedAtOpen says whether the directory belonged to a cluster when it was
// opened: then there is something to catch up with.
func (n *Node) AdmittedAtOpen() bool { return n.known }

// NotReady says why this peer should not be sent to, a reason an entry; empty
// when it knows a leader and has caught up with it.
func (n *Node) NotReady(ctx context.Context) []string {
	if n.raft() == nil {
		return []string{"not in a cluster yet"}
	}
	if err := n.tooOld.Load(); err != nil {
		return []string{(*err).Error()}
	}
	if _, err := n.Confirm(ctx); err != nil {
		return []string{"not caught up with a leader: " + err.Error()}
	}
	if !n.machine.view().formed {
		return []string{"the cluster is still forming"}
	}
	return nil
}
