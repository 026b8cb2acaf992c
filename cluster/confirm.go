package cluster

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/raft"
	"google.golang.org/protobuf/proto"

	"namesrv/cluster/clusterpb"
)

// Confirm returns once this peer's state machine shows everything that was
// committed anywhere before the call. Keys that were heard from are renewed at
// the leader on the way; expiring tells that at least one was not, being
// unknown to the leader or about to be removed.
//
// It returns ErrNoLeader at once when no leader was reached for two seconds, and
// after two seconds in any case.
//
// Raft's own VerifyLeader is not enough: it can credit answers to requests that
// were sent before the question, and it counts non-voters.
func (n *Node) Confirm(ctx context.Context, heard ...string) (expiring bool, err error) {
	if n.removed.Load() {
		return false, ErrRemoved
	}
	if n.reach.gone() {
		return false, n.noLeader()
	}
	began := time.Now()
	out, err := n.confirmOnce(ctx, heard...)
	if err != nil {
		if out, err = n.confirmAgain(ctx, time.Since(began), heard...); err != nil {
			return false, err
		}
	}
	n.reach.ok()
	return len(out.refused) > 0 && anyIn(heard, out.refused), n.catchUp(ctx, out.index)
}

// confirmAgain goes on after a first try that failed. Only here is a deadline
// needed: a round is bounded by itself, and most succeed.
func (n *Node) confirmAgain(outer context.Context, took time.Duration, heard ...string) (outcome, error) {
	ctx, cancel := context.WithTimeout(outer, noLeaderLimit-min(took, noLeaderLimit))
	defer cancel()
	for {
		err := n.reach.await(ctx, took)
		if err == nil {
			var out outcome
			if out, err = n.confirmOnce(ctx, heard...); err == nil {
				return out, nil
			}
		}
		if n.reach.gone() || ctx.Err() != nil && outer.Err() == nil {
			return outcome{}, n.noLeader()
		}
		if outer.Err() != nil || errors.Is(err, ErrStopped) || errors.Is(err, ErrRemoved) {
			return outcome{}, err
		}
	}
}

func anyIn(keys, set []string) bool {
	return slices.ContainsFunc(keys, func(k string) bool { return slices.Contains(set, k) })
}

// catchUp waits for an index that the leader confirmed.
func (n *Node) catchUp(ctx context.Context, index uint64) error {
	if n.applied.get() < index {
		ctx, cancel := context.WithTimeout(ctx, noLeaderLimit)
		defer cancel()
		began := time.Now()
		err := n.applied.wait(ctx, index)
		n.stats.awaited.Observe(time.Since(began).Seconds())
		if err != nil {
			return fmt.Errorf("waiting for log entry %d: %w", index, err)
		}
	}
	if !n.confirmed.Load() {
		n.confirmed.Store(true)
	}
	return nil
}

func (n *Node) confirmOnce(ctx context.Context, heard ...string) (outcome, error) {
	r := n.raft()
	if r == nil {
		return outcome{}, errOutside
	}
	keys := heardBy(n.identity().MemberID, heard)
	if r.State() == raft.Leader {
		return n.lead.join(ctx, keys...)
	}
	return n.follow.join(ctx, keys...)
}

func heardBy[K ~string | ~[]byte](member string, keys []K) []heardKey {
	if len(keys) == 0 {
		return nil
	}
	out := make([]heardKey, len(keys))
	for i, k := range keys {
		out[i] = heardKey{from: member, key: string(k)}
	}
	return out
}

// tryConfirm is one attempt that renews nothing.
func (n *Node) tryConfirm(ctx context.Context) error {
	out, err := n.confirmOnce(ctx)
	if err != nil {
		return err
	}
	return n.catchUp(ctx, out.index)
}

// Confirmed says whether this node is the whole group, right now: then what is
// applied here is all that anybody ever saw, and nobody need be asked. Beside a
// non-voter that does not hold: it may show an entry a moment before this one.
func (n *Node) Confirmed() bool {
	r := n.raft()
	if r == nil || n.removed.Load() || !n.leadsIn(n.machine.ownNoop.Load()) {
		return false
	}
	return n.changing.Load() == 0 && n.alone.Load()
}

// lookWhetherAlone notes whether this member is the whole configuration. Then it
// leads, and nobody else can change that.
func (n *Node) lookWhetherAlone() {
	servers := n.raft().GetConfiguration().Configuration().Servers
	n.alone.Store(len(servers) == 1 && string(servers[0].ID) == n.identity().MemberID)
}

// EverConfirmed says whether this process has once shown a confirmed state. Until
// then its tables may be older than what it answered before a restart.
func (n *Node) EverConfirmed() bool { return n.confirmed.Load() && !n.removed.Load() }

// leadsIn says whether this node leads in term and has applied its own first
// entry of it: then everything committed in earlier terms is in its tables.
func (n *Node) leadsIn(term uint64) bool {
	r := n.raft()
	return term != 0 && r != nil && r.State() == raft.Leader && r.CurrentTerm() == term
}

// confirmAsLeader asks the voters for their terms. While a majority is still in
// the term of this leader, no other leader can have committed anything before
// the question was sent.
func (n *Node) confirmAsLeader(ctx context.Context, heard []heardKey) (outcome, error) {
	term := n.machine.ownNoop.Load()
	if !n.leadsIn(term) {
		return outcome{}, ErrNoLeader
	}
	r := n.raft()
	index := r.CommitIndex()
	if !n.majorityIn(ctx, r, term) || !n.leadsIn(term) {
		return outcome{}, ErrNoLeader
	}
	return outcome{index: index, refused: n.renew(heard)}, nil
}

func (n *Node) renew(heard []heardKey) (refused []string) {
	if len(heard) == 0 {
		return nil
	}
	byMember := make(map[string][]string)
	for _, h := range heard {
		byMember[h.from] = append(byMember[h.from], h.key)
	}
	for from, keys := range byMember {
		refused = append(refused, n.cfg.Renewer.Renew(from, keys)...)
	}
	return refused
}

func (n *Node) majorityIn(ctx context.Context, r *raft.Raft, term uint64) bool {
	self := raft.ServerID(n.identity().MemberID)
	var others []raft.Server
	votes, voters := 0, 0
	for _, s := range r.GetConfiguration().Configuration().Servers {
		switch {
		case s.Suffrage != raft.Voter:
		case s.ID == self:
			voters++
			votes++
		default:
			voters++
			others = append(others, s)
		}
	}
	need := voters/2 + 1
	if votes >= need {
		return true
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // those still asked when the majority is there
	answers := make(chan bool, len(others))
	for _, s := range others {
		go func() { answers <- n.termOf(ctx, s) == term }()
	}
	for left := len(others); left > 0 && votes < need && votes+left >= need; left-- {
		select {
		case yes := <-answers:
			if yes {
				votes++
			}
		case <-ctx.Done():
			return false
		}
	}
	return votes >= need
}

// termOf asks a voter for its current term; 0 when it did not answer.
func (n *Node) termOf(ctx context.Context, s raft.Server) uint64 {
	a, err := n.peers.call(ctx, string(s.ID), string(s.Address), msgTerm, nil)
	if err != nil || a.status != statusOK || len(a.payload) != 8 {
		return 0
	}
	return binary.BigEndian.Uint64(a.payload)
}

// confirmAtLeader asks the leader once, for all that wait here.
func (n *Node) confirmAtLeader(ctx context.Context, heard []heardKey) (outcome, error) {
	q := new(clusterpb.ConfirmRequest)
	for _, h := range heard {
		q.Heard = append(q.Heard, []byte(h.key))
	}
	req, err := proto.Marshal(q)
	if err != nil {
		return outcome{}, err
	}
	a, err := n.callLeader(ctx, msgConfirm, req)
	if err != nil {
		return outcome{}, err
	}
	if a.status != statusOK {
		return outcome{}, told(ErrNoLeader, a.payload)
	}
	var reply clusterpb.ConfirmReply
	if err := proto.Unmarshal(a.payload, &reply); err != nil {
		return outcome{}, err
	}
	out := outcome{index: reply.Index}
	for _, k := range reply.Refused {
		out.refused = append(out.refused, string(k))
	}
	return out, nil
}

// callLeader sends one message to the leader that Raft names. It is never passed
// on from there.
func (n *Node) callLeader(ctx context.Context, kind byte, payload []byte) (answer, error) {
	r := n.raft()
	if r == nil {
		return answer{}, fmt.Errorf("%w: %w", errNotSent, errOutside)
	}
	addr, id := r.LeaderWithID()
	if id == "" || id == raft.ServerID(n.identity().MemberID) {
		return answer{}, fmt.Errorf("%w: %w", errNotSent, ErrNoLeader)
	}
	return n.peers.call(ctx, string(id), string(addr), kind, payload)
}
