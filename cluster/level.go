package cluster

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/raft"
	"google.golang.org/protobuf/proto"

	"namesrv/cluster/clusterpb"
)

// The feature level says which log entries a cluster may hold. Each binary tells in
// every handshake the newest level that it knows; once all voters know a higher one
// than the cluster has, the leader logs that, and only then entries that ask for it
// are taken. It never goes down: the log may hold such entries from then on. So peers
// can be upgraded one after another, and no entry ever meets a voter that must stop
// at it.

// firstLevel is what every binary knows, and where a cluster begins.
const firstLevel = 1

// levelPause is how often the leader looks whether the level can be raised.
const levelPause = 250 * time.Millisecond

// advertised is what the handshakes told of other members' binaries: the newest
// feature level that each knows.
type advertised struct {
	mu    sync.Mutex // guards knows
	knows map[string]uint32
}

func (a *advertised) note(member string, knows uint32) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.knows == nil {
		a.knows = make(map[string]uint32)
	}
	a.knows[member] = max(knows, firstLevel)
}

// of is 0 for a member that never told.
func (a *advertised) of(member string) uint32 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.knows[member]
}

// raiseLevel runs at the leader and logs a higher feature level whenever all voters
// of a complete cluster know one.
func (n *Node) raiseLevel(ctx context.Context, term uint64) {
	t := time.NewTicker(levelPause)
	defer t.Stop()
	for {
		if to := n.commonLevel(); to > n.machine.level() && n.machine.view().formed {
			err := n.proposeLevel(ctx, term, to)
			switch {
			case err == nil:
				n.log.Info("feature level raised: older binaries can no longer take part", "level", to)
			case ctx.Err() == nil:
				n.log.Warn("the feature level could not be raised", "level", to, "error", err)
			}
		}
		select {
		case <-t.C:
		case <-ctx.Done():
			return
		}
	}
}

func (n *Node) proposeLevel(ctx context.Context, term uint64, to uint32) error {
	payload, err := proto.Marshal(&clusterpb.Level{Level: to})
	if err != nil {
		return err
	}
	e, err := encodeEnvelope(&clusterpb.Envelope{Kind: clusterpb.Envelope_KIND_LEVEL, Payload: payload, Term: term})
	if err != nil {
		return err
	}
	_, _, err = n.applyHere(ctx, e)
	return err
}

// commonLevel is the newest level that every voter's binary is known to know; 0
// while one has not told.
func (n *Node) commonLevel() uint32 {
	lowest := n.cfg.Machine.Knows()
	for _, s := range votersOf(n.raft().GetConfiguration().Configuration()) {
		lowest = min(lowest, n.knows(s.ID))
	}
	return lowest
}

func (n *Node) knows(id raft.ServerID) uint32 {
	if string(id) == n.identity().MemberID {
		return n.cfg.Machine.Knows()
	}
	return n.told.of(string(id))
}

// checkLevel refuses an entry that some voter may not know yet. Only a leader that
// has applied all of earlier terms knows the level.
func (n *Node) checkLevel(needs uint32) error {
	if needs <= firstLevel {
		return nil
	}
	if !n.Leads() {
		return ErrNoLeader
	}
	if level := n.machine.level(); needs > level {
		return fmt.Errorf("%w: it needs feature level %d and the group is at %d%s", ErrTooNew, needs, level, n.heldBackBy(needs))
	}
	return nil
}

// heldBackBy names the voters whose binaries are not known to know a level.
func (n *Node) heldBackBy(level uint32) string {
	var old []string
	for _, s := range votersOf(n.raft().GetConfiguration().Configuration()) {
		if n.knows(s.ID) < level {
			old = append(old, nodeOf(string(s.ID)))
		}
	}
	if len(old) == 0 {
		return ""
	}
	slices.Sort(old)
	return ": install a newer namesrv at " + strings.Join(old, ", ")
}

// tooOldFor says why a binary that knows so much cannot take part at a level; nil
// when it can.
func tooOldFor(level, knows uint32) error {
	if knows = max(knows, firstLevel); level > knows {
		return fmt.Errorf("%w: the cluster's feature level is %d, this binary knows %d: install a newer namesrv", errTooOld, level, knows)
	}
	return nil
}

// judgeBinaries says why a member of this cluster and this one must not speak to each
// other.
func (n *Node) judgeBinaries(h *clusterpb.Hello) error {
	if err := n.judgeOwnBinary(h.Level); err != nil {
		return err
	}
	return tooOldFor(n.machine.level(), h.Knows)
}

// judgeOwnBinary compares this binary with the level that a member tells, and says
// once why the others do not speak to this peer. Only a newer binary, and so another
// process, changes that.
func (n *Node) judgeOwnBinary(level uint32) error {
	err := tooOldFor(level, n.cfg.Machine.Knows())
	if err != nil && n.tooOld.CompareAndSwap(nil, &err) {
		n.log.Error("this peer cannot take part in its cluster", "error", err)
	}
	return err
}

// level is the feature level as far as this member's log tells.
func (m *machine) level() uint32 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return max(m.lvl, firstLevel)
}

func (m *machine) applyLevel(payload []byte) error {
	var in clusterpb.Level
	if err := proto.Unmarshal(payload, &in); err != nil {
		return fmt.Errorf("decode level: %w", err)
	}
	if err := tooOldFor(in.Level, m.app.Knows()); err != nil {
		return err
	}
	m.change(func() { m.lvl = max(m.lvl, in.Level) })
	return nil
}
