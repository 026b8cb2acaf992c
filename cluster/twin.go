package cluster

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"namesrv/cluster/clusterpb"
)

const twinAdvice = "stop one of the two; a further peer needs an empty --data-dir and a --node-id of its own"

// checkTwin refuses to run beside another process of this very member: one of the two
// has a copy of the other's directory, and both voting could make two leaders. It asks
// where the group knew this member last, and where this process says it is. Nobody there
// means that the member moved, or that the address is not served yet.
func (n *Node) checkTwin() error {
	id := n.identity()
	addrs := []string{n.cfg.Advertise}
	if id.Address != "" && id.Address != n.cfg.Advertise {
		addrs = append(addrs, id.Address)
	}
	twins := make([]bool, len(addrs))
	var asking sync.WaitGroup
	for i, addr := range addrs {
		asking.Go(func() { twins[i] = n.isTwin(addr) })
	}
	asking.Wait()
	if i := slices.Index(twins, true); i >= 0 {
		return fmt.Errorf("%w: member %s runs already, at %s: %s", ErrTwin, id.MemberID, addrs[i], twinAdvice)
	}
	return nil
}

// isTwin says whether another process answers at an address as this member.
func (n *Node) isTwin(addr string) bool {
	instance := n.instanceAt(n.ctx, n.identity().MemberID, addr)
	return instance != 0 && instance != n.instance
}

// instanceAt tells which process answers at an address as a member; 0 = none does.
func (n *Node) instanceAt(ctx context.Context, member, addr string) uint64 {
	c, who, err := n.dial(ctx, addr, connCommands, "")
	if err != nil {
		return 0
	}
	c.Close()
	if who.member != member {
		return 0
	}
	return who.instance
}

// twinLimit is for the question below, which the one that dialled waits for.
const twinLimit = 300 * time.Millisecond

// refuseTwin decides between two processes of one member. There may be two where the
// sender is not at the address that the group knows, or where another process still has
// connections here. Whoever answers at that address is the member; if nobody does, it
// is the one that asks.
func (n *Node) refuseTwin(h *clusterpb.Hello) error {
	known, ok := n.knownServer(h.From)
	others := n.mux.others(h.From, h.Instance)
	if !ok || h.Instance == 0 || h.Address == string(known.Address) && len(others) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(n.ctx, twinLimit)
	defer cancel()
	switch n.instanceAt(ctx, h.From, string(known.Address)) {
	case 0:
	case h.Instance:
		for _, c := range others {
			c.Close()
		}
	default:
		n.log.Warn("two processes run as one member: refusing the one that the members do not know", "member", h.From, "refused", h.Address, "known", known.Address)
		return fmt.Errorf("%w: member %s runs already, at %s: %s", ErrTwin, h.From, known.Address, twinAdvice)
	}
	return nil
}

func (n *Node) knownServer(member string) (raft.Server, bool) {
	r := n.raft()
	if r == nil {
		return raft.Server{}, false
	}
	return serverOf(r.GetConfiguration().Configuration(), member)
}
