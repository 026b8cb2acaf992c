package fsm

import (
	"slices"

	"namesrv/remoting/protocol"
)

// deleteTopic is code 216. With a cluster only the entries of its brokers go; an
// unknown cluster has no effect. Static mappings stay while their broker does.
func (s *State) deleteTopic(name, cluster string) (*State, Result) {
	t := s.Topic(name)
	if t == nil {
		return s, Result{Code: protocol.Success}
	}
	next := t.withoutQueues(func(broker string) bool {
		if cluster == "" {
			return true
		}
		g := s.Broker(broker)
		return g != nil && g.Cluster == cluster
	})
	d := s.edit()
	d.replaceTopic(t, next)
	for _, e := range t.Queues {
		if !next.has(e.Broker) {
			d.entriesRemoved(e.Broker)
		}
	}
	return d.commit(), Result{
		Code:    protocol.Success,
		Count:   len(t.Queues) - len(next.Queues),
		Changed: d.dirty(),
	}
}

// registerTopic is code 217: all entries are stored, or none when one of them
// names an unknown broker. It succeeds either way, as the stock server does.
func (s *State) registerTopic(name string, queues []protocol.QueueData) (*State, Result) {
	unknown := func(q protocol.QueueData) bool { return s.Broker(q.BrokerName) == nil }
	if slices.ContainsFunc(queues, unknown) {
		return s, Result{Code: protocol.Success}
	}
	d := s.edit()
	for _, q := range queues {
		t := d.topic(name)
		want := QueueSettings{Read: q.Read, Write: q.Write, Perm: q.Perm, SysFlag: q.SysFlag}
		at, found := t.find(q.BrokerName, 0)
		if found && t.Queues[at].Settings == want {
			continue
		}
		entries := d.entriesOf(s.Broker(q.BrokerName).Name)
		d.replaceTopic(t, t.withQueue(at, found, entries.get(want)))
		entries.keep()
	}
	return d.commit(), Result{Code: protocol.Success, Count: len(queues), Changed: d.dirty()}
}

// setPerm is codes 205 and 327. Its count is that of the entries visited, changed
// or not, so that each of several equal requests gets the same answer.
func (s *State) setPerm(broker string, addWrite bool) (*State, Result) {
	change := withoutWrite
	if addWrite {
		change = readWrite // exactly 6, whatever it was
	}
	d := s.edit()
	entries := d.entriesOf(broker)
	count := 0
	for t := range s.topics.all() {
		if t.has(broker) {
			count++
			d.replaceTopic(t, t.withPerm(entries, change))
		}
	}
	entries.keep()
	return d.commit(), Result{Code: protocol.Success, Count: count, Changed: d.dirty()}
}
