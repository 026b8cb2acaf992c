package lab

import (
	"context"
	"fmt"
	"slices"

	"namesrv/systemtest"
)

// metricLeads is 1 at the peer that leads. Unlike the list of members it is readable from other hosts without a token.
const metricLeads = "namesrv_raft_is_leader"

// Leader waits until exactly one of the nodes says that it leads, and returns it with the others. Nodes given as gone are
// not asked, and are in neither.
func Leader(ctx context.Context, nodes []*systemtest.Node, gone ...*systemtest.Node) (leader *systemtest.Node, others []*systemtest.Node, err error) {
	err = systemtest.Poll(ctx, func() error {
		leader, others = nil, nil
		for _, n := range nodes {
			if slices.Contains(gone, n) {
				continue
			}
			leads, err := n.Metric(ctx, metricLeads)
			switch {
			case err != nil:
				return err
			case leads != 1:
				others = append(others, n)
			case leader != nil:
				return fmt.Errorf("both %s and %s say that they lead", leader.ID, n.ID)
			default:
				leader = n
			}
		}
		if leader == nil {
			return systemtest.ErrNoLeader
		}
		return nil
	})
	return leader, others, err
}
