package nameserver

import (
	"hash/maphash"
	"sync"

	"namesrv/fsm"
	"namesrv/remoting/protocol"
)

// routeCacheBytes bounds the encoded routes that are kept, bodies and names.
const routeCacheBytes = 64 << 20

const routeShards = 32

// routeCache keeps answers with encoded routes beside the versions of the tables they were
// built from. Building one is the reader's work, never the writer's; a route is
// checked against its tables, not thrown away when some other topic changed.
type routeCache struct {
	seed   maphash.Seed
	limit  int // bytes a shard
	shards [routeShards]routeShard
}

type routeShard struct {
	mu    sync.Mutex // guards the fields below
	byKey map[routeKey]*routeEntry
	bytes int
}

type routeKey struct {
	topic   string
	dialect protocol.Dialect
}

// routeEntry is a route as it was built, and all it was built from.
type routeEntry struct {
	answer  *protocol.Command // shared by all who ask
	topic   *fsm.Topic
	topics  fsm.Version
	opts    fsm.Options
	brokers fsm.Version
	filters fsm.Version
	kv      fsm.Version
	groups  []*fsm.BrokerGroup // of topic.Queues, in that order; nil where unknown
	order   string
	ordered bool
}

func newRouteCache(limit int) *routeCache {
	c := &routeCache{seed: maphash.MakeSeed(), limit: limit / routeShards}
	for i := range c.shards {
		c.shards[i].byKey = make(map[routeKey]*routeEntry)
	}
	return c
}

// get returns the answer with the topic's route, or nil when it has none.
func (c *routeCache) get(state *fsm.State, topic string, d protocol.Dialect) *protocol.Command {
	k := routeKey{topic: topic, dialect: d}
	shard := &c.shards[maphash.String(c.seed, topic)%routeShards]
	shard.mu.Lock()
	e := shard.byKey[k]
	shard.mu.Unlock()
	if e != nil && e.isOf(state) {
		return e.answer
	}
	t := state.Topic(topic)
	if t == nil {
		return nil
	}
	if e != nil && e.fits(state, t) {
		return e.answer
	}
	r := buildRoute(state, topic)
	if r == nil {
		return nil
	}
	k.topic = t.Name // the table's string, not the request's frame
	e = newRouteEntry(state, t, r.AppendJSON(nil, d))
	shard.put(k, e, c.limit)
	return e.answer
}

// isOf says whether the tables are the very ones that the route was built from,
// without a look into them.
func (e *routeEntry) isOf(state *fsm.State) bool {
	return e.topics == state.TopicsVersion() && e.brokers == state.BrokersVersion() && e.filters == state.FiltersVersion() &&
		e.opts == state.Options() && (!e.opts.OrderMessageEnable || e.kv == state.KVVersion())
}

func newRouteEntry(state *fsm.State, t *fsm.Topic, body []byte) *routeEntry {
	e := &routeEntry{
		answer: withBody(body), topic: t, topics: state.TopicsVersion(), opts: state.Options(),
		brokers: state.BrokersVersion(), filters: state.FiltersVersion(), kv: state.KVVersion(),
	}
	e.groups = make([]*fsm.BrokerGroup, len(t.Queues))
	for i, q := range t.Queues {
		e.groups[i] = state.Broker(q.Broker)
	}
	if e.opts.OrderMessageEnable {
		e.order, e.ordered = state.KV(orderNamespace, t.Name)
	}
	return e
}

// fits says whether the route would be built from the very same values now.
func (e *routeEntry) fits(state *fsm.State, t *fsm.Topic) bool {
	if e.topic != t || e.opts != state.Options() || e.filters != state.FiltersVersion() {
		return false
	}
	if e.opts.OrderMessageEnable && e.kv != state.KVVersion() {
		if order, ok := state.KV(orderNamespace, t.Name); order != e.order || ok != e.ordered {
			return false
		}
	}
	if e.brokers == state.BrokersVersion() {
		return true
	}
	for i, q := range t.Queues {
		if state.Broker(q.Broker) != e.groups[i] {
			return false
		}
	}
	return true
}

// put stores an entry and makes room for it; which others go does not matter
// much, since each is rebuilt by its next reader.
func (s *routeShard) put(k routeKey, e *routeEntry, limit int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if old := s.byKey[k]; old != nil {
		s.bytes -= old.size(k)
	}
	s.byKey[k] = e
	s.bytes += e.size(k)
	for other, oe := range s.byKey {
		if s.bytes <= limit {
			break
		}
		delete(s.byKey, other)
		s.bytes -= oe.size(other)
	}
}

func (e *routeEntry) size(k routeKey) int {
	return len(e.answer.Body) + len(k.topic) + 8*len(e.groups) + 280
}
