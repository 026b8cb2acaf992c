package cluster

import "github.com/hashicorp/raft"

// ClientAddresses are the HOST:PORT of the voting members for clients and brokers,
// by member id, as far as they have told them. It never waits.
func (n *Node) ClientAddresses() []string {
	v := n.machine.view()
	var out []string
	for _, s := range sortedServers(v.group.conf) {
		if p := v.peers[string(s.ID)]; s.Suffrage == raft.Voter && p.GetClient() != "" {
			out = append(out, p.Client)
		}
	}
	return out
}
