package fsm

import (
	"bytes"
	"maps"
	"slices"

	"namesrv/remoting/protocol"
)

// model is the rule set once more, with plain maps and one rule after another,
// to compare the tables with.
type model struct {
	Topics   map[string]map[string]QueueSettings
	Mappings map[string]map[string]protocol.QueueMapping
	Groups   map[string]*modelGroup
	Lives    map[modelAddr]Live
	KV       map[string]map[string]string
	Options  Options
	Init     bool
	Upload   *modelUpload
	Restored string // id of the last restore
}

// modelUpload is a restore that is under way.
type modelUpload struct {
	ID             string
	Size, Inflated uint64
	Checksum       uint32
	Data           string
}

type modelGroup struct {
	Cluster, Zone string
	Acting        bool
	Addrs         map[int64]string
}

type modelAddr struct{ Cluster, Addr string }

func newModel() *model {
	return &model{
		Topics:   map[string]map[string]QueueSettings{},
		Mappings: map[string]map[string]protocol.QueueMapping{},
		Groups:   map[string]*modelGroup{},
		Lives:    map[modelAddr]Live{},
		KV:       map[string]map[string]string{},
		Options:  DefaultOptions(),
	}
}

// modelOf reads a state into the form of a model.
func modelOf(s *State) *model {
	m := newModel()
	for t := range s.topics.all() {
		for _, e := range t.Queues {
			put(m.Topics, t.Name, e.Broker, e.Settings)
		}
		for _, x := range t.Mappings {
			put(m.Mappings, t.Name, x.BrokerName, x)
		}
	}
	for g := range s.Brokers() {
		mg := &modelGroup{Cluster: g.Cluster, Zone: g.Zone, Acting: g.Acting, Addrs: map[int64]string{}}
		for _, a := range g.Addrs {
			mg.Addrs[a.ID] = a.Addr
		}
		m.Groups[g.Name] = mg
	}
	for _, l := range s.Lives() {
		m.Lives[modelAddr{l.Cluster, l.Addr}] = *l
	}
	for ns := range s.Namespaces() {
		m.KV[ns.Name] = maps.Collect(ns.All())
	}
	m.Options, m.Init, m.Restored = s.Options(), s.initialized, s.Restored()
	if u := s.upload; u != nil {
		m.Upload = &modelUpload{ID: u.id, Size: u.size, Inflated: u.inflated, Checksum: u.checksum, Data: string(bytes.Join(u.parts, nil))}
	}
	return m
}

func put[V any](table map[string]map[string]V, a, b string, v V) {
	if table[a] == nil {
		table[a] = map[string]V{}
	}
	table[a][b] = v
}

// withoutIndexes is the model as a registration that changes nothing leaves it.
func (m *model) withoutIndexes() *model {
	next := *m
	next.Lives = map[modelAddr]Live{}
	for key, l := range m.Lives {
		l.Registered, l.Birth = 0, 0
		next.Lives[key] = l
	}
	return &next
}

func (m *model) register(r *Registration, index uint64) (code protocol.Code) {
	g := m.Groups[r.Broker]
	if g == nil {
		g = &modelGroup{Addrs: map[int64]string{}}
	}
	here := modelAddr{r.Cluster, r.Addr}
	holder := g.Addrs[r.ID]
	if there, ok := m.Lives[modelAddr{r.Cluster, holder}]; holder != "" && holder != r.Addr && ok &&
		there.Broker == r.Broker && there.DataVersion.StateVersion > r.DataVersion.StateVersion {
		m.remove(here)
		return protocol.Success
	}
	if holder == "" && r.HasTable && len(r.Topics) == 1 {
		return protocol.SystemError
	}
	// The address leaves whatever else it was.
	known, wasLive := m.Lives[here]
	if wasLive && known.Broker != r.Broker {
		m.remove(here)
		wasLive = false
	}
	for key, l := range m.Lives {
		moved := key.Addr == r.Addr && l.Broker == r.Broker && key != here
		if moved || l.Broker == r.Broker && l.ID == r.ID && key.Addr != r.Addr {
			delete(m.Lives, key)
		}
	}
	maps.DeleteFunc(g.Addrs, func(_ int64, addr string) bool { return addr == r.Addr })
	g.Addrs[r.ID] = r.Addr
	g.Cluster, g.Zone, g.Acting = r.Cluster, r.Zone, r.Acting == ActingTrue
	m.Groups[r.Broker] = g

	changed := holder == "" || !wasLive || known.DataVersion != r.DataVersion
	prime := r.Acting != ActingAbsent && r.ID != 0 && r.ID == slices.Min(slices.Collect(maps.Keys(g.Addrs)))
	if r.HasTable && (r.ID == 0 || prime) {
		m.registerTopics(r, g, changed, prime)
	}
	m.enter(r, index, known, wasLive)
	return protocol.Success
}

func (m *model) registerTopics(r *Registration, g *modelGroup, changed, prime bool) {
	named := map[string]QueueSettings{}
	for _, t := range r.Topics {
		q := QueueSettings{Read: t.ReadQueueNums, Write: t.WriteQueueNums, Perm: t.Perm, SysFlag: t.SysFlag}
		if prime && g.Acting && g.Addrs[0] == "" {
			q.Perm &^= permWrite
		}
		named[t.Name] = q
	}
	if m.Options.DeleteTopicWithBrokerRegistration && len(r.Mappings) == 0 {
		for topic := range m.Topics {
			if _, ok := named[topic]; !ok {
				delete(m.Topics[topic], r.Broker)
			}
		}
	}
	for topic, q := range named {
		if _, ok := m.Topics[topic][r.Broker]; !ok || changed {
			put(m.Topics, topic, r.Broker, q)
		}
	}
	if changed {
		for _, x := range r.Mappings {
			put(m.Mappings, x.Topic, x.BrokerName, x)
		}
	}
	m.tidy()
}

func (m *model) enter(r *Registration, index uint64, known Live, wasLive bool) {
	l := Live{
		Cluster: r.Cluster, Addr: r.Addr, Broker: r.Broker, ID: r.ID, Registered: index, Birth: index,
		TimeoutMillis: r.TimeoutMillis, DataVersion: r.DataVersion, HAServerAddr: r.HAServerAddr,
	}
	if l.TimeoutMillis <= 0 {
		l.TimeoutMillis = 120_000
	}
	if wasLive && !r.NewBirth {
		l.Birth = known.Birth
	}
	switch {
	case r.HasFilters:
		l.Filters = r.Filters
	case wasLive:
		l.Filters = known.Filters
	}
	m.Lives[modelAddr{r.Cluster, r.Addr}] = l
}

// remove takes one address out, with what follows for its group's topics.
func (m *model) remove(key modelAddr) {
	l, ok := m.Lives[key]
	if !ok {
		return
	}
	delete(m.Lives, key)
	g := m.Groups[l.Broker]
	delete(g.Addrs, l.ID)
	if len(g.Addrs) == 0 {
		delete(m.Groups, l.Broker)
		for topic := range m.Topics {
			delete(m.Topics[topic], l.Broker)
		}
		for topic := range m.Mappings {
			delete(m.Mappings[topic], l.Broker)
		}
	} else if g.Acting && slices.Min(slices.Collect(maps.Keys(g.Addrs))) > 0 {
		m.setPerm(l.Broker, func(p int32) int32 { return p &^ 2 })
	}
	m.tidy()
}

func (m *model) setPerm(broker string, change func(int32) int32) (count int) {
	for _, queues := range m.Topics {
		if q, ok := queues[broker]; ok {
			q.Perm = change(q.Perm)
			queues[broker] = q
			count++
		}
	}
	return count
}

func (m *model) unregister(u Unregistration) {
	key := modelAddr{u.Cluster, u.Addr}
	l, ok := m.Lives[key]
	if ok && l.Broker == u.Broker && l.ID == u.ID && l.Birth <= u.BirthAtMost {
		m.remove(key)
	}
}

func (m *model) deleteTopic(topic, cluster string) {
	for broker := range m.Topics[topic] {
		if cluster == "" || m.Groups[broker].Cluster == cluster {
			delete(m.Topics[topic], broker)
		}
	}
	m.tidy()
}

func (m *model) registerTopic(topic string, queues []protocol.QueueData) {
	for _, q := range queues {
		if m.Groups[q.BrokerName] == nil {
			return
		}
	}
	for _, q := range queues {
		put(m.Topics, topic, q.BrokerName, QueueSettings{q.Read, q.Write, q.Perm, q.SysFlag})
	}
}

func (m *model) putKV(ns, key string, value *string) {
	if m.KV[ns] == nil {
		m.KV[ns] = map[string]string{}
	}
	delete(m.KV[ns], key)
	if value != nil {
		m.KV[ns][key] = *value
	}
}

// tidy drops what is empty, and the mappings of unknown brokers in topics that
// have no queue.
func (m *model) tidy() {
	maps.DeleteFunc(m.Topics, func(_ string, q map[string]QueueSettings) bool { return len(q) == 0 })
	for topic, list := range m.Mappings {
		if len(m.Topics[topic]) == 0 {
			maps.DeleteFunc(list, func(broker string, _ protocol.QueueMapping) bool { return m.Groups[broker] == nil })
		}
		if len(list) == 0 {
			delete(m.Mappings, topic)
		}
	}
}
