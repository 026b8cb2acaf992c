package fsm

import (
	"cmp"
	"slices"

	"namesrv/remoting/protocol"
)

// DefaultTimeoutMillis is how long an address may be silent when its broker
// names no time of its own.
const DefaultTimeoutMillis = 120_000

// Remarks of refused registrations; the first is the stock server's.
const (
	remarkRefused    = "register broker failed"
	remarkIncomplete = "register broker failed: broker name, cluster name or address is missing"
)

// Acting is the header field enableActingMaster. It has three values, since its
// absence tells a 4.x broker.
type Acting int

// Values of Acting.
const (
	ActingAbsent Acting = iota
	ActingFalse
	ActingTrue
)

// Registration is what a broker says of itself in code 103.
type Registration struct {
	Broker        string
	Addr          string
	Cluster       string
	HAServerAddr  string
	ID            int64
	TimeoutMillis int64 // 0 or less: DefaultTimeoutMillis
	Acting        Acting
	Zone          string

	DataVersion protocol.DataVersion
	HasTable    bool // false: Topics and Mappings do not count
	Topics      []protocol.TopicConfig
	Mappings    []protocol.QueueMapping
	Filters     []string
	HasFilters  bool // false: the filter servers stay

	// NewBirth is set for the first registration of the address on a connection:
	// what earlier connections decide about it later has no effect.
	NewBirth bool
}

// RegisterOutcome is what a registration led to.
type RegisterOutcome struct {
	// Refused is the remark of a registration that is answered with SystemError
	// and changed nothing; "" when it was not refused.
	Refused string

	// Conflict is set when another address holds the id with a higher state
	// version. It is answered with Success and empty header values.
	Conflict bool

	// Changed is set when more than the indexes of the live entry differ.
	Changed bool

	First      bool   // the id of the group had no address before
	MinChanged bool   // the id is smaller than all of the group before
	Birth      uint64 // of the live entry; 0 when refused or in conflict

	Notices []MinIDNotice
}

// MinIDNotice tells members of a group about its smallest id (code 905).
type MinIDNotice struct {
	Broker      string
	MinID       int64
	MinAddr     string
	OfflineAddr string   // the address that left; "" after a registration
	HAAddr      string   // HA address of the one that registered; "" after a loss
	Recipients  []string // broker addresses, by id
}

// Register returns the state after a registration logged at index. It is the
// whole rule set for code 103: whoever wants to know whether a registration
// would change anything calls it and looks at Changed, and Apply calls it too.
// When Changed is false the new state differs in the indexes of one live entry
// at most. It follows RouteInfoManager.registerBroker of RocketMQ 5.x, but checks
// first and changes then.
func (s *State) Register(r *Registration, index uint64) (*State, RegisterOutcome) {
	if r.Broker == "" || r.Addr == "" || r.Cluster == "" {
		return s, RegisterOutcome{Refused: remarkIncomplete}
	}
	g := newRegistering(s, r, index)
	switch {
	case g.conflicts():
		return g.rejectConflict()
	case g.holder == "" && r.HasTable && len(r.Topics) == 1:
		// An increment from a broker whose full table is not known yet would
		// make clients believe that it has this one topic only.
		return s, RegisterOutcome{Refused: remarkRefused}
	}
	return g.accept()
}

// registering is one registration at work.
type registering struct {
	s     *State
	r     *Registration
	index uint64
	d     *draft

	before *BrokerGroup // nil when the broker name is new
	holder string       // address that had the id; "" when none had
	known  *Live        // the address as it was live under this broker, or nil
	after  *BrokerGroup // set by join
}

func newRegistering(s *State, r *Registration, index uint64) *registering {
	g := &registering{s: s, r: r, index: index, d: s.edit(), before: s.Broker(r.Broker)}
	if g.before != nil {
		g.holder, _ = g.before.Addr(r.ID)
	}
	if l := s.Live(r.Cluster, r.Addr); l != nil && l.Broker == r.Broker {
		g.known = l
	}
	return g
}

// conflicts tells whether another address holds the id and was elected later.
func (g *registering) conflicts() bool {
	if g.holder == "" || g.holder == g.r.Addr {
		return false
	}
	l := g.s.Live(g.r.Cluster, g.holder)
	return l != nil && l.Broker == g.r.Broker && l.DataVersion.StateVersion > g.r.DataVersion.StateVersion
}

// rejectConflict drops the live entry that the refused address may have, as the
// stock server does, with its listing: nothing would ever expire that alone.
func (g *registering) rejectConflict() (*State, RegisterOutcome) {
	l := g.s.Live(g.r.Cluster, g.r.Addr)
	if l == nil {
		return g.s, RegisterOutcome{Conflict: true}
	}
	rm := newRemoval(g.d)
	rm.drop(l)
	notices := rm.finish()
	return g.d.commit(), RegisterOutcome{Conflict: true, Changed: true, Notices: notices}
}

func (g *registering) accept() (*State, RegisterOutcome) {
	out := RegisterOutcome{First: g.holder == "", MinChanged: g.lowersMinID()}
	out.Notices = g.leaveOld()
	g.join()
	if g.suppliesTopics() {
		g.registerTopics(out.First)
	}
	live := g.enter()
	out.Birth = live.Birth
	out.Changed = g.d.topics.dirty() || g.d.brokers.dirty() || g.known == nil || !g.known.same(live)
	if out.MinChanged && g.before != nil && g.s.options.NotifyMinBrokerIDChanged {
		out.Notices = append(out.Notices, joinNotice(g.after, g.r.HAServerAddr))
	}
	return g.d.commit(), out
}

// lowersMinID is RouteInfoManager's test: an empty group counts as having 0.
func (g *registering) lowersMinID() bool {
	least := int64(masterID)
	if g.before != nil {
		least = g.before.MinID()
	}
	return g.r.ID < least
}

// leaveOld takes away what the registration makes untrue: the address under
// another broker name of the cluster, the same member in another cluster, and
// the live entry of the address that held the id until now.
func (g *registering) leaveOld() []MinIDNotice {
	rm := newRemoval(g.d)
	if l := g.s.Live(g.r.Cluster, g.r.Addr); l != nil && l.Broker != g.r.Broker {
		rm.drop(l)
	}
	if g.before == nil {
		return rm.finish()
	}
	if _, listed := g.before.IDOf(g.r.Addr); listed && g.known == nil {
		g.dropLiveOf(g.r.Addr)
	}
	if g.holder != "" && g.holder != g.r.Addr {
		g.dropLiveOf(g.holder)
	}
	return rm.finish()
}

// dropLiveOf drops the live entry of a member whose listing join replaces.
func (g *registering) dropLiveOf(addr string) {
	if l := g.s.LiveOf(g.before, addr); l != nil {
		g.d.dropLive(l)
	}
}

// join puts the address into its group. Cluster, zone and the acting flag follow
// every registration, those of slaves included.
func (g *registering) join() {
	next := &BrokerGroup{
		Name:    g.r.Broker,
		Cluster: g.r.Cluster,
		Zone:    g.r.Zone,
		Acting:  g.r.Acting == ActingTrue,
	}
	if g.before != nil {
		next.Name = g.before.Name // keeps the text that queue entries share
		next.Addrs = g.before.without(g.r.Addr)
	}
	at, taken := slices.BinarySearchFunc(next.Addrs, g.r.ID, func(a protocol.BrokerAddr, id int64) int {
		return cmp.Compare(a.ID, id)
	})
	member := protocol.BrokerAddr{ID: g.r.ID, Addr: g.r.Addr}
	if taken {
		next.Addrs[at] = member
	} else {
		next.Addrs = slices.Insert(next.Addrs, at, member)
	}
	g.after = next
	if g.before != nil && g.before.same(next) {
		g.after = g.before
		return
	}
	g.d.brokers.put(next.Name, next)
}

// enter writes the live entry.
func (g *registering) enter() *Live {
	live := &Live{
		Cluster:       g.r.Cluster,
		Addr:          g.r.Addr,
		Broker:        g.after.Name,
		ID:            g.r.ID,
		Registered:    g.index,
		Birth:         g.index,
		TimeoutMillis: g.r.TimeoutMillis,
		DataVersion:   g.r.DataVersion,
		HAServerAddr:  g.r.HAServerAddr,
		Filters:       g.r.Filters,
	}
	if live.TimeoutMillis <= 0 {
		live.TimeoutMillis = DefaultTimeoutMillis
	}
	if !g.r.HasFilters {
		live.Filters = nil
	}
	if g.known != nil {
		g.inherit(live)
	}
	g.d.putLive(g.known, live)
	return live
}

// inherit takes over from the entry before what the registration leaves as it is.
func (g *registering) inherit(live *Live) {
	if !g.r.NewBirth {
		live.Birth = g.known.Birth
	}
	if !g.r.HasFilters || slices.Equal(live.Filters, g.known.Filters) {
		live.Filters = g.known.Filters
	}
}
