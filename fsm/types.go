package fsm

import (
	"iter"
	"slices"
	"strings"

	"namesrv/remoting/protocol"
)

// masterID is the broker id of a master. Slaves have higher ones; -1 is a
// DLedger member that has not been given a role yet.
const masterID = 0

// QueueSettings are what one broker says about the queues of one topic.
type QueueSettings struct {
	Read    int32 // number of read queues
	Write   int32 // number of write queues
	Perm    int32 // bits: 4 read, 2 write, 1 inherit
	SysFlag int32 // bits: 1 unit, 2 has unit subscriptions
}

// QueueEntry is the part of a topic that lives on one broker name. Topics that
// have equal settings on a broker share the entry.
type QueueEntry struct {
	Broker   string
	Settings QueueSettings
}

// Topic is one topic with all that brokers said about it.
type Topic struct {
	Name     string
	Queues   []*QueueEntry           // sorted by broker name
	Mappings []protocol.QueueMapping // static mappings, sorted by broker name
}

// Queue returns the settings of the topic on a broker name, or nil.
func (t *Topic) Queue(broker string) *QueueSettings {
	if i, ok := t.find(broker, 0); ok {
		return &t.Queues[i].Settings
	}
	return nil
}

func (t *Topic) has(broker string) bool {
	_, ok := t.find(broker, 0)
	return ok
}

// find returns where the broker's entry is or belongs. The hint is looked at
// first: a broker is mostly at the same place in all its topics.
func (t *Topic) find(broker string, hint int) (int, bool) {
	if hint < len(t.Queues) && t.Queues[hint].Broker == broker {
		return hint, true
	}
	return slices.BinarySearchFunc(t.Queues, broker, func(e *QueueEntry, name string) int {
		return strings.Compare(e.Broker, name)
	})
}

// withQueue returns the topic with an entry put at the place that find gave.
func (t *Topic) withQueue(at int, found bool, e *QueueEntry) *Topic {
	next := *t
	if found {
		next.Queues = slices.Clone(t.Queues)
		next.Queues[at] = e
		return &next
	}
	next.Queues = make([]*QueueEntry, 0, len(t.Queues)+1)
	next.Queues = append(next.Queues, t.Queues[:at]...)
	next.Queues = append(next.Queues, e)
	next.Queues = append(next.Queues, t.Queues[at:]...)
	return &next
}

// withoutQueues returns the topic without the entries for which gone is true,
// itself when there is none.
func (t *Topic) withoutQueues(gone func(broker string) bool) *Topic {
	if !slices.ContainsFunc(t.Queues, func(e *QueueEntry) bool { return gone(e.Broker) }) {
		return t
	}
	next := *t
	next.Queues = nil
	for _, e := range t.Queues {
		if !gone(e.Broker) {
			next.Queues = append(next.Queues, e)
		}
	}
	return &next
}

// withMapping returns the topic with one static mapping stored, itself when
// exactly that mapping is there.
func (t *Topic) withMapping(m protocol.QueueMapping) *Topic {
	at, found := slices.BinarySearchFunc(t.Mappings, m.BrokerName, func(e protocol.QueueMapping, name string) int {
		return strings.Compare(e.BrokerName, name)
	})
	if found && sameMapping(t.Mappings[at], m) {
		return t
	}
	next := *t
	next.Mappings = slices.Clone(t.Mappings)
	if found {
		next.Mappings[at] = m
	} else {
		next.Mappings = slices.Insert(next.Mappings, at, m)
	}
	return &next
}

// withoutMappings returns the topic without the static mappings of brokers for
// which gone is true, itself when there is none.
func (t *Topic) withoutMappings(gone func(broker string) bool) *Topic {
	if !slices.ContainsFunc(t.Mappings, func(m protocol.QueueMapping) bool { return gone(m.BrokerName) }) {
		return t
	}
	next := *t
	next.Mappings = nil
	for _, m := range t.Mappings {
		if !gone(m.BrokerName) {
			next.Mappings = append(next.Mappings, m)
		}
	}
	return &next
}

func sameMapping(a, b protocol.QueueMapping) bool {
	return a.Topic == b.Topic && a.Scope == b.Scope && a.TotalQueues == b.TotalQueues &&
		a.BrokerName == b.BrokerName && a.Epoch == b.Epoch && a.Dirty == b.Dirty &&
		slices.Equal(a.CurrIDs, b.CurrIDs)
}

// BrokerGroup is one broker name: a master and its slaves.
type BrokerGroup struct {
	Name    string
	Cluster string                // of the latest registration
	Zone    string                // of the latest registration; "" = none
	Acting  bool                  // the latest registration asked for slave acting master
	Addrs   []protocol.BrokerAddr // never empty; sorted by id, each address once
}

// Addr returns the address listed under id.
func (g *BrokerGroup) Addr(id int64) (string, bool) {
	for _, a := range g.Addrs {
		if a.ID == id {
			return a.Addr, true
		}
	}
	return "", false
}

// IDOf returns the id under which an address is listed.
func (g *BrokerGroup) IDOf(addr string) (int64, bool) {
	for _, a := range g.Addrs {
		if a.Addr == addr {
			return a.ID, true
		}
	}
	return 0, false
}

// MinID returns the smallest id of the group.
func (g *BrokerGroup) MinID() int64 { return g.Addrs[0].ID }

// without returns the addresses of the group apart from one.
func (g *BrokerGroup) without(addr string) []protocol.BrokerAddr {
	addrs := make([]protocol.BrokerAddr, 0, len(g.Addrs)+1)
	for _, a := range g.Addrs {
		if a.Addr != addr {
			addrs = append(addrs, a)
		}
	}
	return addrs
}

// masterless tells whether nobody of the group is a master or may become one
// without being promoted: acting-master groups then take no messages.
func (g *BrokerGroup) masterless() bool { return g.MinID() > masterID }

func (g *BrokerGroup) same(o *BrokerGroup) bool {
	return g.Name == o.Name && g.Cluster == o.Cluster && g.Zone == o.Zone && g.Acting == o.Acting &&
		slices.Equal(g.Addrs, o.Addrs)
}

// Live is the registration of one address in one cluster.
type Live struct {
	Cluster       string
	Addr          string
	Broker        string // the group that lists the address
	ID            int64  // the id under which it does
	Registered    uint64 // log index of the newest logged registration
	Birth         uint64 // log index of the first one of the current connection
	TimeoutMillis int64  // silence after which it may be expired
	DataVersion   protocol.DataVersion
	HAServerAddr  string
	Filters       []string // filter servers, as sent
}

// same tells whether two entries of one key differ in their indexes at most.
func (l *Live) same(o *Live) bool {
	return l.Broker == o.Broker && l.ID == o.ID && l.TimeoutMillis == o.TimeoutMillis &&
		l.DataVersion == o.DataVersion && l.HAServerAddr == o.HAServerAddr && slices.Equal(l.Filters, o.Filters)
}

func (l *Live) key() string { return Key(l.Cluster, l.Addr) }

// Namespace is the KV table of one namespace.
type Namespace struct {
	Name   string
	values table[string]
}

// Get returns the value of a key.
func (n *Namespace) Get(key string) (string, bool) { return n.values.get(key) }

// Len returns the number of keys.
func (n *Namespace) Len() int { return n.values.len() }

// All returns keys and values by key.
func (n *Namespace) All() iter.Seq2[string, string] { return n.values.pairs() }
