package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/raft"
	"google.golang.org/protobuf/proto"

	"namesrv/cluster/clusterpb"
)

const (
	formPause  = 250 * time.Millisecond
	joinPause  = 2 * time.Second  // a newcomer asks to be admitted this often
	formRemind = 10 * time.Second // the same obstacle is told again this often

	// catchUpLimit is how soon a member that has caught up shows what is committed
	// at the moment.
	catchUpLimit = 500 * time.Millisecond
)

// form runs in a directory that belongs to no cluster yet. The first of the
// sorted list begins a cluster alone, once all of the list have shown the same
// list, empty directories and the same facts; the others wait to be admitted.
func (n *Node) form() {
	list := slices.Sorted(slices.Values(n.cfg.Join))
	first := n.cfg.Expect > 0 && list[0] == n.cfg.Advertise
	var told string
	var toldAt time.Time
	for {
		obstacle := n.formStep(list, first)
		if obstacle == "" && first {
			if err := n.beginCluster(); err != nil {
				n.fail(err)
			}
			return
		}
		if obstacle != "" && (obstacle != told || time.Since(toldAt) > formRemind) {
			n.log.Warn("not in a cluster yet", "because", obstacle)
			told, toldAt = obstacle, time.Now()
		}
		pause := formPause
		if n.cfg.Expect == 0 {
			pause = joinPause
		}
		select {
		case <-time.After(pause):
		case <-n.admitted:
			return
		case <-n.ctx.Done():
			return
		}
	}
}

// beginCluster makes this peer the first of a new cluster, unless it was admitted
// to one meanwhile.
func (n *Node) beginCluster() error {
	n.admitMu.Lock()
	defer n.admitMu.Unlock()
	if n.identity().UUID != "" {
		return nil
	}
	return n.startRaft(newUUID())
}

// formStep says what still stands in the way; empty on the first peer when
// nothing does.
func (n *Node) formStep(list []string, first bool) string {
	switch {
	case n.cfg.Expect == 0:
		waiting := "waiting to be admitted: on a member, run namesrv cluster join " + n.cfg.NodeID + " " + n.cfg.Advertise
		if said := n.askToJoin(list); said != "" {
			return waiting + " (" + said + ")"
		}
		return waiting
	case !first:
		return n.awaitFirst(list)
	}
	var obstacles []string
	facts := maps.Clone(n.cfg.Facts)
	nodes := map[string]string{n.cfg.NodeID: n.cfg.Advertise}
	for _, addr := range list {
		if addr == n.cfg.Advertise {
			continue
		}
		reply, err := n.askForm(addr, list)
		switch {
		case err != nil:
			obstacles = append(obstacles, err.Error())
		case reply.Uuid != "":
			obstacles = append(obstacles, n.lostDirectory(addr, reply.Uuid))
		case len(differing(facts, reply.Facts)) > 0:
			obstacles = append(obstacles, otherValues(addr, differing(facts, reply.Facts)))
		case nodes[reply.Node] != "":
			obstacles = append(obstacles, fmt.Sprintf("%s and %s have the same --node-id %s", nodes[reply.Node], addr, reply.Node))
		}
		if reply != nil {
			nodes[reply.Node] = addr
			facts = merged(facts, reply.Facts)
		}
	}
	if len(obstacles) == 0 {
		n.found.Store(&facts)
	}
	return strings.Join(obstacles, "; ")
}

// awaitFirst says why a peer that does not begin the cluster is not in it yet.
func (n *Node) awaitFirst(list []string) string {
	obstacle := "waiting for " + list[0] + " to begin it"
	for i, addr := range list {
		if addr == n.cfg.Advertise {
			continue
		}
		reply, err := n.askForm(addr, list)
		switch {
		case err == nil && reply.Uuid != "" && reply.Formed:
			return n.lostDirectory(addr, reply.Uuid)
		case err != nil && i == 0:
			obstacle = err.Error()
		}
	}
	return obstacle
}

// lostDirectory tells the way out to a peer that has an empty directory and the
// command line of a member.
func (n *Node) lostDirectory(addr, uuid string) string {
	return fmt.Sprintf("peer %s belongs to cluster %s already and this directory is empty: if this peer lost its directory, run on a member: namesrv cluster join %s %s --replace",
		addr, uuid, n.cfg.NodeID, n.cfg.Advertise)
}

// askForm fetches what a peer shows and compares it with what this one has.
func (n *Node) askForm(addr string, list []string) (*clusterpb.FormReply, error) {
	ctx, cancel := context.WithTimeout(n.ctx, dialTry)
	defer cancel()
	a, err := n.peers.ask(ctx, addr, msgForm, nil)
	if isUnresolved(err) {
		return nil, fmt.Errorf("the name of peer %s does not resolve yet", addr)
	}
	if err != nil {
		return nil, fmt.Errorf("peer %s does not answer (%w)", addr, err)
	}
	reply := new(clusterpb.FormReply)
	if err := proto.Unmarshal(a.payload, reply); err != nil || a.status != statusOK {
		return nil, fmt.Errorf("peer %s answers nonsense", addr)
	}
	if reply.Uuid != "" {
		return reply, nil
	}
	if reply.Address != addr {
		return nil, fmt.Errorf("peer %s calls itself %s: its --peer-advertise must be what --join says", addr, reply.Address)
	}
	if !slices.Equal(reply.List, list) {
		return nil, fmt.Errorf("peer %s was given another --join list (%s)", addr, strings.Join(reply.List, ","))
	}
	if keys := differing(n.cfg.Facts, reply.Facts); len(keys) > 0 {
		return nil, errors.New(otherValues(addr, keys))
	}
	return reply, nil
}

func otherValues(addr string, keys []string) string {
	return fmt.Sprintf("peer %s has other values of %s: these must be the same at every peer that forms the cluster", addr, strings.Join(keys, ", "))
}

// merged adds what only b has.
func merged(a, b map[string]string) map[string]string {
	out := maps.Clone(b)
	if out == nil {
		out = make(map[string]string)
	}
	maps.Copy(out, a)
	return out
}

// facts are those of all founders, as this peer has seen them.
func (n *Node) facts() map[string]string {
	if f := n.found.Load(); f != nil {
		return *f
	}
	return n.cfg.Facts
}

// differing names the keys that both have with different values. A key that one
// of them lacks is no opinion.
func differing(a, b map[string]string) []string {
	var keys []string
	for _, k := range slices.Sorted(maps.Keys(a)) {
		if v, ok := b[k]; ok && v != a[k] {
			keys = append(keys, k)
		}
	}
	return keys
}

func (n *Node) serveForm() answer {
	id := n.identity()
	return answerOf(&clusterpb.FormReply{Member: id.MemberID, Node: id.NodeID, Address: n.cfg.Advertise, Uuid: id.UUID,
		List: slices.Sorted(slices.Values(n.cfg.Join)), Facts: n.cfg.Facts,
		Waiting: n.cfg.Expect == 0 && !n.cfg.Single, Since: id.Since, Formed: n.machine.view().formed, Knows: n.cfg.Machine.Knows()})
}

// serveAdmit takes this empty directory into a cluster. Said twice, it changes
// nothing; said by another cluster, it is refused.
func (n *Node) serveAdmit(payload []byte) answer {
	var in clusterpb.Admit
	if err := proto.Unmarshal(payload, &in); err != nil || in.Uuid == "" {
		return answer{status: statusError, payload: []byte("admit without a cluster")}
	}
	n.admitMu.Lock()
	defer n.admitMu.Unlock()
	switch have := n.identity().UUID; {
	case have == in.Uuid:
		return answer{}
	case have != "":
		return answer{status: statusError, payload: []byte("this directory belongs to cluster " + have)}
	}
	if err := n.setUUID(in.Uuid); err != nil {
		n.fail(err)
		return answer{status: statusError, payload: []byte(err.Error())}
	}
	if err := n.startRaft(""); err != nil {
		n.fail(err)
		return answer{status: statusError, payload: []byte(err.Error())}
	}
	n.log.Info("admitted", "cluster", in.Uuid)
	return answer{}
}

// admitFounders runs at the leader until the first N peers are voters. After
// that a newcomer takes an admin's word, so that an emptied disk with its old
// command line does not walk in as somebody else.
func (n *Node) admitFounders(ctx context.Context) {
	if n.cfg.Expect <= 1 {
		return
	}
	for !n.machine.view().formed {
		if err := n.admitStep(ctx); err != nil && ctx.Err() == nil {
			n.log.Warn("the cluster is not complete yet", "because", err)
		}
		select {
		case <-time.After(formPause):
		case <-ctx.Done():
			return
		}
	}
}

// admitStep does the next thing that is missing for each founder.
func (n *Node) admitStep(ctx context.Context) error {
	var errs []error
	voters := 0
	for _, addr := range slices.Sorted(slices.Values(n.cfg.Join)) {
		server, known := n.serverAt(addr)
		switch {
		case !known:
			errs = append(errs, n.admit(ctx, addr))
		case server.Suffrage == raft.Voter:
			voters++
		case n.caughtUp(ctx, server):
			errs = append(errs, n.changeMembers(ctx, func(r *raft.Raft, prev uint64) raft.IndexFuture {
				return r.AddVoter(server.ID, server.Address, prev, 0)
			}))
		}
	}
	if voters < n.cfg.Expect {
		return errors.Join(errs...)
	}
	raw, err := encodeEnvelope(&clusterpb.Envelope{Kind: clusterpb.Envelope_KIND_FORMED})
	if err != nil {
		return err
	}
	_, _, err = n.applyHere(ctx, raw)
	return err
}

func (n *Node) serverAt(addr string) (raft.Server, bool) {
	for _, s := range n.raft().GetConfiguration().Configuration().Servers {
		if string(s.Address) == addr {
			return s, true
		}
	}
	return raft.Server{}, false
}

// admit tells a founder which cluster it belongs to, then adds it without a vote.
func (n *Node) admit(ctx context.Context, addr string) error {
	list := slices.Sorted(slices.Values(n.cfg.Join))
	reply, err := n.askForm(addr, list)
	if err != nil {
		return err
	}
	if reply.Uuid != "" && reply.Uuid != n.identity().UUID {
		return fmt.Errorf("peer %s belongs to cluster %s", addr, reply.Uuid)
	}
	if err := n.sendAdmit(ctx, addr); err != nil {
		return err
	}
	n.log.Info("admitting", "member", reply.Member, "peer", addr)
	return n.changeMembers(ctx, func(r *raft.Raft, prev uint64) raft.IndexFuture {
		return r.AddNonvoter(raft.ServerID(reply.Member), raft.ServerAddress(addr), prev, 0)
	})
}

// caughtUp says whether a member has applied what was committed when it was asked.
func (n *Node) caughtUp(ctx context.Context, s raft.Server) bool {
	want := n.raft().CommitIndex()
	ctx, cancel := context.WithTimeout(ctx, catchUpLimit)
	defer cancel()
	st, err := n.statusOf(ctx, s, want)
	return err == nil && st.Applied >= want
}

// changeMembers makes one change on the newest committed configuration; a change
// made meanwhile by somebody else makes it fail instead of undoing that.
func (n *Node) changeMembers(ctx context.Context, do func(r *raft.Raft, prev uint64) raft.IndexFuture) error {
	return n.changeMembersAt(ctx, n.machine.view().group.index, do)
}

// changeMembersAt is changeMembers for a decision that rests on the configuration
// at log index prev. Raft's own GetConfiguration tells no index.
func (n *Node) changeMembersAt(ctx context.Context, prev uint64, do func(r *raft.Raft, prev uint64) raft.IndexFuture) error {
	n.changing.Add(1)
	return await(ctx, n.ctx.Done(), do(n.raft(), prev), func() {
		n.lookWhetherAlone()
		n.changing.Add(-1) // after the look: what it found holds until the next change
	})
}

// Formed waits until the first peers of the cluster are all in. In a directory
// that was admitted later it returns as soon as the log has said so.
func (n *Node) Formed(ctx context.Context) error {
	for {
		v := n.machine.view()
		if v.formed {
			return nil
		}
		select {
		case <-v.news:
		case <-n.failed:
			return ErrStopped
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
