package cluster

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"namesrv/cluster/clusterpb"
)

// compareClusters asks the peers that the command line names which cluster they
// belong to: with the directory of another one this peer would go on alone beside
// them. One of its own cluster among them is enough; a stranger among them is only
// told of. It returns those that did not answer.
func (n *Node) compareClusters(addrs []string) (unanswered []string, err error) {
	own := n.identity().UUID
	replies := make([]*clusterpb.FormReply, len(addrs))
	var wg sync.WaitGroup
	for i, addr := range addrs {
		wg.Go(func() { replies[i], _ = n.askForm(addr, nil) })
	}
	wg.Wait()
	companions := 0
	for i, r := range replies {
		switch {
		case r == nil || r.Uuid == "":
			unanswered = append(unanswered, addrs[i])
		case r.Uuid == own:
			companions++
		case slices.Contains(n.identity().Former, r.Uuid):
			// This cluster was recovered from that one: the other peer is the one
			// that must come back empty, and is told so when it asks.
			n.log.Warn("a peer of --join has the directory of the cluster from which this one was recovered", "peer", addrs[i], "cluster", r.Uuid)
			unanswered = append(unanswered, addrs[i])
		default:
			err = fmt.Errorf("%w: %s belongs to cluster %s, but peer %s of --join to cluster %s: give the right --data-dir, or empty this one and let the peer join anew", ErrOtherCluster, n.cfg.DataDir, own, addrs[i], r.Uuid)
		}
	}
	if err != nil && companions > 0 {
		n.log.Warn("a peer of --join belongs to another cluster", "error", err)
		return unanswered, nil
	}
	return unanswered, err
}

// compareLater goes on asking while nobody has answered, until this member is one
// of several that agree.
func (n *Node) compareLater(addrs []string) {
	for pause := time.Second; ; pause = min(2*pause, time.Minute) {
		select {
		case <-time.After(pause):
		case <-n.ctx.Done():
			return
		}
		if n.confirmed.Load() && n.Status().Voters > 1 {
			return
		}
		unanswered, err := n.compareClusters(addrs)
		if err != nil {
			n.fail(err)
			return
		}
		if len(unanswered) < len(addrs) {
			return
		}
	}
}
