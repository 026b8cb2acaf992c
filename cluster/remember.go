package cluster

import (
	"slices"
	"strings"

	"github.com/hashicorp/raft"
)

// rememberGroup writes down what a start must know before the log is read: that this
// member is one, where the others reach it, and which --join list the group began with.
func (n *Node) rememberGroup(g membership) error {
	now := n.identity()
	next := now
	next.Since = g.since
	if self, ok := serverOf(g.conf, now.MemberID); ok {
		next.Address = string(self.Address)
	}
	if len(now.Join) == 0 && n.cfg.Expect > 1 {
		next.Join = slices.Sorted(slices.Values(n.cfg.Join))
	}
	if next.Since == now.Since && next.Address == now.Address && slices.Equal(next.Join, now.Join) {
		return nil
	}
	return n.changeIdentity(func(id *identity) { id.Since, id.Address, id.Join = next.Since, next.Address, next.Join })
}

// compareList says at a restart, once it is clear who belongs to the group, that a
// --join list which was changed since the group was formed means nothing any more.
func (n *Node) compareList() {
	listed := slices.Sorted(slices.Values(n.cfg.Join))
	if n.cfg.Expect <= 1 || slices.Equal(listed, n.identity().Join) || n.Formed(n.ctx) != nil {
		return
	}
	members := addressesOf(n.raft().GetConfiguration().Configuration())
	if !slices.Equal(listed, members) {
		n.log.Warn("--join was changed and is not the list of the members: the members count, since --join is read only while a cluster forms; change them with namesrv cluster join and namesrv cluster remove",
			"join", strings.Join(listed, ","), "members", strings.Join(members, ","))
	}
}

func addressesOf(c raft.Configuration) []string {
	var addrs []string
	for _, s := range c.Servers {
		addrs = append(addrs, string(s.Address))
	}
	slices.Sort(addrs)
	return addrs
}
