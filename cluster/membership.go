package cluster

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/raft"
	"google.golang.org/protobuf/proto"

	"namesrv/cluster/clusterpb"
)

// membership is who belongs to the group, as far as this peer's log is committed
// and applied. Raft itself tells only its latest configuration, which may never be
// committed, and does not tell at which index it stands. Its maps and slices are
// never written to once stored.
type membership struct {
	index     uint64 // log index of conf; 0 = none is known
	conf      raft.Configuration
	replacing map[string]string // newcomer -> member whose place it takes once it has caught up
	// since is the index of a configuration that held this member, 0 while it was in
	// none. A newcomer replays configurations that are older than its admission:
	// only one after since can have removed it.
	since uint64
}

// follow takes over a committed configuration.
func (g *membership) follow(index uint64, c raft.Configuration, self string) {
	g.index, g.conf = index, c.Clone()
	if g.since == 0 && hasServer(c, self) {
		g.since = index
	}
	left := maps.Clone(g.replacing)
	maps.DeleteFunc(left, func(newcomer, old string) bool { return !hasServer(c, newcomer) || !hasServer(c, old) })
	g.replacing = left
}

// replace notes that newcomer takes the place of old.
func (g *membership) replace(newcomer, old string) {
	next := maps.Clone(g.replacing)
	if next == nil {
		next = make(map[string]string)
	}
	next[newcomer] = old
	g.replacing = next
}

// without says whether a member that was in the group before is not any more.
func (g *membership) without(self string) bool {
	return g.since > 0 && g.index > g.since && !hasServer(g.conf, self)
}

func (g *membership) members() []string {
	ids := make([]string, 0, len(g.conf.Servers))
	for _, s := range g.conf.Servers {
		ids = append(ids, string(s.ID))
	}
	return ids
}

// store writes it into the cluster's part of a snapshot.
func (g *membership) store(st *clusterpb.State) {
	st.ConfigurationIndex = g.index
	for _, s := range g.conf.Servers {
		st.Servers = append(st.Servers, &clusterpb.Server{Member: string(s.ID), Address: string(s.Address), Voter: s.Suffrage == raft.Voter})
	}
	for _, newcomer := range slices.Sorted(maps.Keys(g.replacing)) {
		st.Replacing = append(st.Replacing, &clusterpb.Replace{Member: newcomer, Old: g.replacing[newcomer]})
	}
}

func (g *membership) restore(st *clusterpb.State, self string) {
	next := membership{index: st.ConfigurationIndex, since: g.since}
	for _, s := range st.Servers {
		server := raft.Server{Suffrage: raft.Nonvoter, ID: raft.ServerID(s.Member), Address: raft.ServerAddress(s.Address)}
		if s.Voter {
			server.Suffrage = raft.Voter
		}
		next.conf.Servers = append(next.conf.Servers, server)
	}
	if next.since == 0 && hasServer(next.conf, self) {
		next.since = next.index
	}
	for _, r := range st.Replacing {
		next.replace(r.Member, r.Old)
	}
	*g = next
}

func (m *machine) applyReplace(payload []byte) error {
	var in clusterpb.Replace
	if err := proto.Unmarshal(payload, &in); err != nil {
		return fmt.Errorf("decode replace: %w", err)
	}
	m.change(func() { m.group.replace(in.Member, in.Old) })
	return nil
}

// sortedServers are the members of a configuration by id.
func sortedServers(c raft.Configuration) []raft.Server {
	return slices.SortedFunc(slices.Values(c.Servers), func(a, b raft.Server) int { return cmp.Compare(a.ID, b.ID) })
}

// isMember says whether the newest configuration known here holds a member.
func (n *Node) isMember(member string) bool {
	r := n.raft()
	return r != nil && hasServer(r.GetConfiguration().Configuration(), member)
}
