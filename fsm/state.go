package fsm

import (
	"iter"
	"slices"
	"strings"

	"namesrv/remoting/protocol"
)

// State is one version of all tables. It never changes; a command makes a new
// one that shares what the command did not touch. The zero value is not usable:
// see [New].
type State struct {
	topics  table[*Topic]
	brokers table[*BrokerGroup]
	lives   table[*Live]
	kv      table[*Namespace]
	filters Version // changes whenever a live entry's filter servers do

	entriesOf table[brokerEntries] // by broker name

	options     Options
	initialized bool
	upload      *upload // a restore that is under way, or nil
	restored    string  // id of the restore that was committed last

	routed int // topics with at least one queue entry
	queues int // queue entries of all topics
}

func emptyState() *State {
	return &State{
		topics:  newTable[*Topic](),
		brokers: newTable[*BrokerGroup](),
		lives:   newTable[*Live](),
		kv:      newTable[*Namespace](),
		filters: newVersion(),
		options: DefaultOptions(),

		entriesOf: newTable[brokerEntries](),
	}
}

// Topic returns the topic, or nil. A topic may have static mappings and no queue
// entry: such a one has no route and is in no list.
func (s *State) Topic(name string) *Topic {
	t, _ := s.topics.get(name)
	return t
}

// Topics returns the topics that have a queue entry, by name.
func (s *State) Topics() iter.Seq[*Topic] {
	return func(yield func(*Topic) bool) {
		for t := range s.topics.all() {
			if len(t.Queues) > 0 && !yield(t) {
				return
			}
		}
	}
}

// TopicsOf returns the names of the topics that have a queue entry of one of the
// brokers, sorted.
func (s *State) TopicsOf(brokers []string) []string {
	var names []string
	for t := range s.topics.all() {
		if slices.ContainsFunc(brokers, t.has) {
			names = append(names, t.Name)
		}
	}
	return names
}

// Broker returns the group with that broker name, or nil.
func (s *State) Broker(name string) *BrokerGroup {
	g, _ := s.brokers.get(name)
	return g
}

// Brokers returns the groups by name.
func (s *State) Brokers() iter.Seq[*BrokerGroup] { return s.brokers.all() }

// Clusters returns the clusters by name, each with its broker names sorted.
func (s *State) Clusters() []protocol.Cluster {
	at := make(map[string]int)
	var clusters []protocol.Cluster
	for g := range s.brokers.all() {
		i, ok := at[g.Cluster]
		if !ok {
			i = len(clusters)
			at[g.Cluster] = i
			clusters = append(clusters, protocol.Cluster{Name: g.Cluster})
		}
		clusters[i].Brokers = append(clusters[i].Brokers, g.Name)
	}
	slices.SortFunc(clusters, func(a, b protocol.Cluster) int { return strings.Compare(a.Name, b.Name) })
	return clusters
}

// ClusterBrokers returns the broker names of one cluster, sorted; none when the
// cluster is unknown.
func (s *State) ClusterBrokers(cluster string) []string {
	var names []string
	for g := range s.brokers.all() {
		if g.Cluster == cluster {
			names = append(names, g.Name)
		}
	}
	return names
}

// Live returns the live entry of an address in a cluster, or nil.
func (s *State) Live(cluster, addr string) *Live { return s.LiveByKey(Key(cluster, addr)) }

// LiveByKey is Live for a key made by [Key].
func (s *State) LiveByKey(key string) *Live {
	l, _ := s.lives.get(key)
	return l
}

// Lives returns the live entries with their keys, by key.
func (s *State) Lives() iter.Seq2[string, *Live] { return s.lives.pairs() }

// LiveOf returns the live entry behind an address listed in the group, or nil
// when it is not listed. Its cluster may differ from the group's for as long as
// the members of a renamed cluster register one after another.
func (s *State) LiveOf(g *BrokerGroup, addr string) *Live {
	if l := s.Live(g.Cluster, addr); l != nil && l.Broker == g.Name {
		return l
	}
	for l := range s.lives.all() {
		if l.Addr == addr && l.Broker == g.Name {
			return l
		}
	}
	return nil
}

// Master returns what a registration of id under broker is told about its
// master: address and HA address of id 0. It is false for a master itself, and
// when the group has no master that is live in the same cluster.
func (s *State) Master(cluster, broker string, id int64) (addr, haAddr string, ok bool) {
	g := s.Broker(broker)
	if id == masterID || g == nil {
		return "", "", false
	}
	addr, ok = g.Addr(masterID)
	if !ok {
		return "", "", false
	}
	l := s.Live(cluster, addr)
	if l == nil {
		return "", "", false
	}
	return addr, l.HAServerAddr, true
}

// KV returns one KV value.
func (s *State) KV(namespace, key string) (string, bool) {
	ns := s.Namespace(namespace)
	if ns == nil {
		return "", false
	}
	return ns.Get(key)
}

// Namespace returns the KV table of a namespace, or nil when the namespace was
// never used. It stays, empty, when its last key is deleted.
func (s *State) Namespace(name string) *Namespace {
	ns, _ := s.kv.get(name)
	return ns
}

// Namespaces returns the KV namespaces by name.
func (s *State) Namespaces() iter.Seq[*Namespace] { return s.kv.all() }

// Options returns the cluster-wide settings.
func (s *State) Options() Options { return s.options }

// Counts are the sizes of the tables.
type Counts struct {
	Topics       int // topics with a route
	QueueEntries int // (topic, broker) pairs
	Brokers      int // broker names
	Addresses    int // live entries
	Namespaces   int
}

// Counts returns the sizes of the tables without walking them.
func (s *State) Counts() Counts {
	return Counts{
		Topics:       s.routed,
		QueueEntries: s.queues,
		Brokers:      s.brokers.len(),
		Addresses:    s.lives.len(),
		Namespaces:   s.kv.len(),
	}
}

// TopicsVersion identifies the topic table.
func (s *State) TopicsVersion() Version { return s.topics.version }

// BrokersVersion identifies the table of groups.
func (s *State) BrokersVersion() Version { return s.brokers.version }

// LivesVersion identifies the table of live entries. Every logged registration
// changes it, also one that changes nothing but its index.
func (s *State) LivesVersion() Version { return s.lives.version }

// FiltersVersion identifies the filter servers of all live entries.
func (s *State) FiltersVersion() Version { return s.filters }

// KVVersion identifies the KV table.
func (s *State) KVVersion() Version { return s.kv.version }
