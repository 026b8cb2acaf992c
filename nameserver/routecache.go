package nameserver

import (
	"hash/maphash"
	"sync"
	"sync/atomic"

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
	limit  int                        // bytes a shard
	latest atomic.Pointer[routeBasis] // of who asked last
	shards [routeShards]routeShard
}

// routeBasis names the tables that routes are built from. Equal ones make equal routes.
type routeBasis struct {
	topics, brokers, filters, kv fsm.Version
	opts                         fsm.Options
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
	groups  []*fsm.BrokerGroup // of topic.Queues, in that order; nil where unknown
	order   string
	ordered bool
	fitted  atomic.Pointer[routeBasis] // the last that it was found to fit
}

func newRouteCache(limit int) *routeCache {
	c := &routeCache{seed: maphash.MakeSeed(), limit: limit / routeShards}
	for i := range c.shards {
		c.shards[i].byKey = make(map[routeKey]*routeEntry)
	}
	return c
}

// basisOf returns the same pointer for the same tables, as long as nobody asks with
// others in between.
func (c *routeCache) basisOf(state *fsm.State) *routeBasis {
	now := routeBasis{
		topics: state.TopicsVersion(), brokers: state.BrokersVersion(), filters: state.FiltersVersion(),
		kv: state.KVVersion(), opts: state.Options(),
	}
	if last := c.latest.Load(); last != nil && *last == now {
		return last
	}
	kept := now // not now itself, which would then be allocated for every question
	c.latest.Store(&kept)
	return &kept
}

// get returns the answer with the topic's route, or nil when it has none.
func (c *routeCache) get(state *fsm.State, topic string, d protocol.Dialect) *protocol.Command {
	k := routeKey{topic: topic, dialect: d}
	shard := &c.shards[maphash.String(c.seed, topic)%routeShards]
	shard.mu.Lock()
	e := shard.byKey[k]
	shard.mu.Unlock()
	now := c.basisOf(state)
	if e != nil && e.fitted.Load() == now {
		return e.answer // without a look into the tables
	}
	t := state.Topic(topic)
	if t == nil {
		return nil
	}
	if e != nil && e.fits(state, now, t) {
		return e.answer
	}
	r := buildRoute(state, topic)
	if r == nil {
		return nil
	}
	k.topic = t.Name // the table's string, not the request's frame
	e = newRouteEntry(state, now, t, r.AppendJSON(nil, d))
	shard.put(k, e, c.limit)
	return e.answer
}

func newRouteEntry(state *fsm.State, now *routeBasis, t *fsm.Topic, body []byte) *routeEntry {
	e := &routeEntry{answer: withBody(body), topic: t, groups: make([]*fsm.BrokerGroup, len(t.Queues))}
	for i, q := range t.Queues {
		e.groups[i] = state.Broker(q.Broker)
	}
	if now.opts.OrderMessageEnable {
		e.order, e.ordered = state.KV(orderNamespace, t.Name)
	}
	e.fitted.Store(now)
	return e
}

// fits says whether the route would be built from the very same values now, and
// remembers it when it would.
func (e *routeEntry) fits(state *fsm.State, now *routeBasis, t *fsm.Topic) bool {
	then := e.fitted.Load()
	if e.topic != t || then.opts != now.opts || then.filters != now.filters {
		return false
	}
	if now.opts.OrderMessageEnable && then.kv != now.kv {
		if order, ok := state.KV(orderNamespace, t.Name); order != e.order || ok != e.ordered {
			return false
		}
	}
	if then.brokers != now.brokers && !e.hasGroups(state) {
		return false
	}
	e.fitted.Store(now)
	return true
}

func (e *routeEntry) hasGroups(state *fsm.State) bool {
	for i, q := range e.topic.Queues {
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
