package fsm

import (
	"slices"
	"strings"

	"namesrv/remoting/protocol"
)

// removal takes members out of their groups and collects what follows for the
// topics, so that one pass over the topics serves a whole batch. Its draft must
// not have written any topic before finish.
type removal struct {
	d       *draft
	touched []string          // broker names that lost a member
	offline map[string]string // broker name -> last lost address that had the smallest id
}

func newRemoval(d *draft) *removal {
	return &removal{d: d, offline: make(map[string]string)}
}

// drop removes a live entry and its listing.
func (rm *removal) drop(l *Live) {
	rm.d.dropLive(l)
	g, ok := rm.d.brokers.get(l.Broker)
	if !ok {
		return
	}
	if l.ID == g.MinID() {
		rm.offline[g.Name] = l.Addr
	}
	rm.touched = append(rm.touched, g.Name)
	next := *g
	next.Addrs = g.without(l.Addr)
	if len(next.Addrs) == 0 {
		rm.d.brokers.delete(g.Name)
		if _, ok := rm.d.entries.get(g.Name); ok {
			rm.d.entries.delete(g.Name)
		}
		return
	}
	rm.d.brokers.put(g.Name, &next)
}

// finish cleans the topics and returns the notices that are due. Groups without
// an address take their topic entries with them; acting-master groups without a
// master stop taking messages.
func (rm *removal) finish() []MinIDNotice {
	if len(rm.touched) == 0 {
		return nil
	}
	slices.Sort(rm.touched)
	rm.touched = slices.Compact(rm.touched)
	var gone, mute []string
	var notices []MinIDNotice
	for _, name := range rm.touched {
		g, ok := rm.d.brokers.get(name)
		switch {
		case !ok:
			gone = append(gone, name)
		case g.Acting:
			if g.masterless() {
				mute = append(mute, name)
			}
			notices = rm.appendNotice(notices, g)
		}
	}
	rm.sweep(gone, mute)
	return notices
}

func (rm *removal) appendNotice(notices []MinIDNotice, g *BrokerGroup) []MinIDNotice {
	offline, lost := rm.offline[g.Name]
	if !lost || !rm.d.options.NotifyMinBrokerIDChanged {
		return notices
	}
	return append(notices, MinIDNotice{
		Broker:      g.Name,
		MinID:       g.MinID(),
		MinAddr:     g.Addrs[0].Addr,
		OfflineAddr: offline,
		Recipients:  addresses(g.Addrs),
	})
}

// joinNotice is the notice of a registration that has become the smallest id:
// all others are told, or the member itself when it is alone.
func joinNotice(g *BrokerGroup, haAddr string) MinIDNotice {
	told := g.Addrs
	if len(told) > 1 {
		told = told[1:]
	}
	return MinIDNotice{
		Broker:     g.Name,
		MinID:      g.MinID(),
		MinAddr:    g.Addrs[0].Addr,
		HAAddr:     haAddr,
		Recipients: addresses(told),
	}
}

func addresses(members []protocol.BrokerAddr) []string {
	addrs := make([]string, len(members))
	for i, m := range members {
		addrs[i] = m.Addr
	}
	return addrs
}

// sweep goes over all topics once; both lists are sorted.
func (rm *removal) sweep(gone, mute []string) {
	if len(gone) == 0 && len(mute) == 0 {
		return
	}
	muted := make([]*entrySource, len(mute))
	for i, broker := range mute {
		muted[i] = rm.d.entriesOf(broker)
	}
	isGone := func(broker string) bool {
		_, ok := slices.BinarySearchFunc(gone, broker, strings.Compare)
		return ok
	}
	for t := range rm.d.base.topics.all() {
		next := t
		if len(gone) > 0 && slices.ContainsFunc(gone, t.has) {
			next = next.withoutQueues(isGone)
		}
		if len(gone) > 0 {
			next = next.withoutMappings(isGone)
		}
		for _, entries := range muted {
			next = next.withPerm(entries, withoutWrite)
		}
		rm.d.replaceTopic(t, next)
	}
	for _, entries := range muted {
		entries.keep()
	}
}

func withoutWrite(perm int32) int32 { return perm &^ permWrite }

func readWrite(int32) int32 { return permReadWrite }

// withPerm returns the topic with a changed permission on the broker of the
// entries, itself when nothing changes.
func (t *Topic) withPerm(entries *entrySource, change func(int32) int32) *Topic {
	at, found := t.find(entries.broker, 0)
	if !found {
		return t
	}
	want := t.Queues[at].Settings
	want.Perm = change(want.Perm)
	if want == t.Queues[at].Settings {
		return t
	}
	return t.withQueue(at, true, entries.get(want))
}
