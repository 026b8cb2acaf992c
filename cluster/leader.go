package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"namesrv/cluster/clusterpb"
)

// watchLeadership only records what Raft tells, since Raft waits for it, and
// starts and ends the terms of leading.
func (n *Node) watchLeadership(notify <-chan bool) {
	var done chan struct{}
	ended := make(chan struct{})
	close(ended)
	end := func() {
		if done != nil {
			close(done)
			done = nil
		}
	}
	defer func() { end(); <-ended }()
	for {
		select {
		case <-n.ctx.Done():
			return
		case leads := <-notify:
			end()
			n.stats.leadership.Inc()
			if !leads {
				continue
			}
			done = make(chan struct{})
			before := ended
			ended = make(chan struct{})
			go func(done <-chan struct{}, ended chan<- struct{}) {
				defer close(ended)
				n.leadTerm(done, before)
			}(done, ended)
		}
	}
}

// leadTerm commits this leader's own first entry and then leads, not before the
// term before has ended.
func (n *Node) leadTerm(done, before <-chan struct{}) {
	defer func() { <-before }()
	ctx, cancel := context.WithCancel(n.ctx)
	defer cancel()
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		select {
		case <-done:
			cancel()
		case <-stop:
		}
	}()
	term, err := n.firstEntry(ctx)
	if err != nil {
		return
	}
	n.lookWhetherAlone()
	if err := n.initCluster(ctx); err != nil {
		n.log.Error("first command of the cluster", "error", err)
		return
	}
	<-before
	n.log.Info("leading", "term", term, "member", n.identity().MemberID)
	admitting := make(chan struct{})
	go func() {
		defer close(admitting)
		n.admitFounders(ctx)
		n.promoteNewcomers(ctx)
	}()
	raising := make(chan struct{})
	go func() { defer close(raising); n.raiseLevel(ctx, term) }()
	n.cfg.Lead(ctx, Leadership{Node: n, Term: term})
	cancel()
	<-admitting
	<-raising
}

// firstEntry returns the term in which this node has applied a no-op of its own.
func (n *Node) firstEntry(ctx context.Context) (uint64, error) {
	raw, err := encodeEnvelope(&clusterpb.Envelope{Kind: clusterpb.Envelope_KIND_NOOP, Member: n.identity().MemberID})
	if err != nil {
		return 0, err
	}
	for {
		if _, _, err := n.applyHere(ctx, raw); err != nil {
			if ctx.Err() != nil {
				return 0, ctx.Err()
			}
			n.log.Debug("first entry of the term", "error", err)
		}
		if term := n.machine.ownNoop.Load(); n.leadsIn(term) {
			return term, nil
		}
		select {
		case <-n.machine.noop:
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

// initCluster proposes the first command where there is no UUID yet.
func (n *Node) initCluster(ctx context.Context) error {
	if n.machine.clusterUUID() == "" && n.cfg.Expect > 1 {
		if err := n.collectFacts(ctx); err != nil {
			return err
		}
	}
	for n.machine.clusterUUID() == "" {
		init, err := proto.Marshal(&clusterpb.Init{Uuid: n.identity().UUID, Payload: n.cfg.Init(n.facts()), Formed: n.cfg.Expect <= 1})
		if err != nil {
			return err
		}
		raw, err := encodeEnvelope(&clusterpb.Envelope{Kind: clusterpb.Envelope_KIND_INIT, Payload: init})
		if err != nil {
			return err
		}
		if _, _, err := n.applyHere(ctx, raw); err != nil && ctx.Err() != nil {
			return ctx.Err()
		}
	}
	if have, own := n.machine.clusterUUID(), n.identity().UUID; have != own {
		err := fmt.Errorf("the log belongs to cluster %s, %s says %s", have, identityFile, own)
		n.fail(err)
		return err
	}
	return nil
}

// collectFacts asks the founders again when this process was not the one that
// asked them first: it ended between the two first writes of a cluster.
func (n *Node) collectFacts(ctx context.Context) error {
	list := slices.Sorted(slices.Values(n.cfg.Join))
	for n.found.Load() == nil && n.formStep(list, true) != "" {
		select {
		case <-time.After(formPause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// Leads says whether this node leads and has applied everything of earlier terms.
func (n *Node) Leads() bool { return n.leadsIn(n.machine.ownNoop.Load()) }

// announce tells the other members this one's addresses, once and whenever the
// replicated ones differ from its own at a start.
func (n *Node) announce() {
	id := n.identity()
	me := &clusterpb.Peer{Member: id.MemberID, Node: id.NodeID, Client: n.cfg.ClientAddr, Admin: n.cfg.AdminAddr, Version: n.cfg.Version}
	for {
		v := n.machine.view()
		if v.uuid != "" && n.inConfiguration() && !proto.Equal(v.peers[id.MemberID], me) {
			if err := n.proposePeer(me); err != nil && !errors.Is(err, ErrNoLeader) {
				n.log.Debug("announce addresses", "error", err)
			}
		} else if v.uuid != "" && v.peers[id.MemberID] != nil {
			return
		}
		select {
		case <-v.news:
		case <-time.After(500 * time.Millisecond):
		case <-n.ctx.Done():
			return
		}
	}
}

func (n *Node) inConfiguration() bool {
	r := n.raft()
	return r != nil && hasServer(r.GetConfiguration().Configuration(), n.identity().MemberID)
}

func (n *Node) proposePeer(p *clusterpb.Peer) error {
	payload, err := proto.Marshal(p)
	if err != nil {
		return err
	}
	raw, err := encodeEnvelope(&clusterpb.Envelope{Kind: clusterpb.Envelope_KIND_PEER, Payload: payload})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(n.ctx, 5*time.Second)
	defer cancel()
	_, err = n.propose(ctx, raw)
	return err
}
