package fsm

// maxShared is how many entries of a broker are remembered for sharing. Brokers
// use a handful of different settings; one that does not must not fill memory.
const maxShared = 64

// brokerEntries is what the state knows of the queue entries of one broker name
// without looking at the topics. It follows from the topics and is not stored.
type brokerEntries struct {
	shared  []*QueueEntry // one for each of the settings in use, up to maxShared
	version Version       // changes whenever an entry does
}

// entrySource hands out the queue entries of one broker name, so that topics
// with equal settings share one. Whoever changes entries of a broker calls keep
// at the end.
type entrySource struct {
	d       *draft
	broker  string
	known   map[QueueSettings]*QueueEntry // nil until the first get
	fresh   []*QueueEntry                 // made by this command
	changed bool
}

func (d *draft) entriesOf(broker string) *entrySource {
	return &entrySource{d: d, broker: broker}
}

// get returns the entry with settings v, for a topic that is about to change.
func (es *entrySource) get(v QueueSettings) *QueueEntry {
	es.changed = true
	if es.known == nil {
		es.known = make(map[QueueSettings]*QueueEntry)
		before, _ := es.d.entries.get(es.broker)
		for _, e := range before.shared {
			es.known[e.Settings] = e
		}
	}
	e, ok := es.known[v]
	if !ok {
		e = &QueueEntry{Broker: es.broker, Settings: v}
		es.known[v] = e
		es.fresh = append(es.fresh, e)
	}
	return e
}

// keep marks the entries as changed when they are, and remembers what was made
// as far as there is room.
func (es *entrySource) keep() {
	if !es.changed {
		return
	}
	before, _ := es.d.entries.get(es.broker)
	next := brokerEntries{shared: before.shared, version: newVersion()}
	room := maxShared - len(before.shared)
	if fresh := min(room, len(es.fresh)); fresh > 0 {
		next.shared = append(before.shared[:len(before.shared):len(before.shared)], es.fresh[:fresh]...)
	}
	es.d.entries.put(es.broker, next)
}

// entriesRemoved marks the entries of a broker as changed.
func (d *draft) entriesRemoved(broker string) {
	es := entrySource{d: d, broker: broker, changed: true}
	es.keep()
}

// Basis is what the outcome of a registration depends on, apart from the
// registration: see [State.Basis]. It is compared with ==.
type Basis struct {
	group   *BrokerGroup
	live    *Live
	entries Version
	options Options
}

// Basis returns the basis of a registration under these names. A registration
// that would have changed nothing (Changed false, neither refused nor in
// conflict) would still change nothing for as long as the basis is equal, so
// that whoever remembers both need not look at the topics again.
func (s *State) Basis(cluster, addr, broker string) Basis {
	entries, _ := s.entriesOf.get(broker)
	return Basis{
		group:   s.Broker(broker),
		live:    s.Live(cluster, addr),
		entries: entries.version,
		options: s.options,
	}
}
