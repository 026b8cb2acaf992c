package fsm

import "slices"

// draft is a state being changed by one command.
type draft struct {
	base    *State
	topics  edit[*Topic]
	brokers edit[*BrokerGroup]
	lives   edit[*Live]
	kv      edit[*Namespace]
	entries edit[brokerEntries]

	options     Options
	initialized bool
	upload      *upload
	restored    string

	filtersChanged bool
	routed, queues int
}

func (s *State) edit() *draft {
	return &draft{
		base:        s,
		topics:      edit[*Topic]{base: s.topics},
		brokers:     edit[*BrokerGroup]{base: s.brokers},
		lives:       edit[*Live]{base: s.lives},
		kv:          edit[*Namespace]{base: s.kv},
		entries:     edit[brokerEntries]{base: s.entriesOf},
		options:     s.options,
		initialized: s.initialized,
		upload:      s.upload,
		restored:    s.restored,
		routed:      s.routed,
		queues:      s.queues,
	}
}

// commit returns the changed state, the base itself when nothing was written.
func (d *draft) commit() *State {
	if !d.dirty() {
		return d.base
	}
	next := &State{
		topics:      d.topics.commit(),
		brokers:     d.brokers.commit(),
		lives:       d.lives.commit(),
		kv:          d.kv.commit(),
		entriesOf:   d.entries.commit(),
		filters:     d.base.filters,
		options:     d.options,
		initialized: d.initialized,
		upload:      d.upload,
		restored:    d.restored,
		routed:      d.routed,
		queues:      d.queues,
	}
	if d.filtersChanged {
		next.filters = newVersion()
	}
	return next
}

func (d *draft) dirty() bool {
	return d.topics.dirty() || d.brokers.dirty() || d.lives.dirty() || d.kv.dirty() ||
		d.options != d.base.options || d.initialized != d.base.initialized || d.upload != d.base.upload || d.restored != d.base.restored
}

// topic returns the topic as the command has left it so far, an empty one of
// that name when there is none.
func (d *draft) topic(name string) *Topic {
	if t, ok := d.topics.get(name); ok {
		return t
	}
	return &Topic{Name: name}
}

// replaceTopic puts next in the place of old, both of one name. What is left of
// a topic without queue entries are the static mappings of brokers that exist;
// without these the topic goes.
func (d *draft) replaceTopic(old, next *Topic) {
	if next == old {
		return
	}
	if len(next.Queues) == 0 {
		next = next.withoutMappings(func(broker string) bool {
			_, ok := d.brokers.get(broker)
			return !ok
		})
	}
	d.count(old, -1)
	if len(next.Queues) > 0 || len(next.Mappings) > 0 {
		d.topics.put(next.Name, next)
		d.count(next, +1)
		return
	}
	if len(old.Queues) > 0 || len(old.Mappings) > 0 {
		d.topics.delete(next.Name)
	}
}

func (d *draft) count(t *Topic, sign int) {
	d.queues += sign * len(t.Queues)
	if len(t.Queues) > 0 {
		d.routed += sign
	}
}

// putLive stores the live entry that follows old, which may be nil.
func (d *draft) putLive(old, next *Live) {
	var before []string
	if old != nil {
		before = old.Filters
	}
	if !slices.Equal(before, next.Filters) {
		d.filtersChanged = true
	}
	d.lives.put(next.key(), next)
}

func (d *draft) dropLive(l *Live) {
	if len(l.Filters) > 0 {
		d.filtersChanged = true
	}
	d.lives.delete(l.key())
}
