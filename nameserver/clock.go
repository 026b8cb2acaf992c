package nameserver

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/protobuf/proto"

	"namesrv/cluster"
	"namesrv/cluster/liveness"
	"namesrv/fsm"
	"namesrv/nameserver/reportpb"
)

const (
	reportEvery   = 500 * time.Millisecond
	reportLimit   = time.Second
	reportAgain   = 200 * time.Millisecond // after something closed: the leader trusts the second report since a renewal
	nextRound     = time.Second            // between two removals when one round could not take all
	expireTimeout = 5 * time.Second
)

// Clock decides, while this peer leads, which broker addresses are gone. At
// every peer it sends the leader what this one knows of its connections.
type Clock struct {
	tables   *Tables
	sessions *Sessions
	sender   Sender
	interval time.Duration
	log      hclog.Logger
	wake     chan struct{}

	mu    sync.Mutex // guards the fields below
	table *liveness.Table
	lives fsm.Version // of the tables that table was last synced with
	saved string      // id of the last restore that they had seen

	silent, ended, held atomic.Uint64 // addresses: removed for silence, for a lost connection; given more time
}

// ClockConfig is what a Clock is made with.
type ClockConfig struct {
	Interval time.Duration // between two scans
	Sender   Sender        // for notices to brokers; nil sends none
	Logger   hclog.Logger
}

// NewClock makes the clock of one peer.
func NewClock(cfg ClockConfig, tables *Tables, sessions *Sessions) *Clock {
	return &Clock{tables: tables, sessions: sessions, sender: cfg.Sender, interval: cfg.Interval, log: cfg.Logger, wake: make(chan struct{}, 1)}
}

func keysOf(s *fsm.State) iter.Seq[liveness.Key] {
	return func(yield func(liveness.Key) bool) {
		for key, l := range s.Lives() {
			if !yield(liveness.Key{ID: key, Registered: l.Registered, Timeout: time.Duration(l.TimeoutMillis) * time.Millisecond}) {
				return
			}
		}
	}
}

// current returns the clock of this term, in step with the newest tables; nil
// while this peer does not lead.
func (c *Clock) current() *liveness.Table {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.table == nil {
		return nil
	}
	state := c.tables.State()
	if v := state.LivesVersion(); v != c.lives {
		c.table.Sync(keysOf(state))
		if id := state.Restored(); id != c.saved {
			c.table.Grace()
			c.saved = id
		}
		c.lives = v
	}
	return c.table
}

// Renew implements cluster.Renewer. Before the clock of a new term is set
// nothing is refused: every address is about to get its full time anyway.
func (c *Clock) Renew(member string, keys []string) (refused []string) {
	t := c.current()
	if t == nil {
		return nil
	}
	return t.Renew(member, keys)
}

// Lead is cluster.Config.Lead: it runs the clock until the leadership ends.
func (c *Clock) Lead(ctx context.Context, lead cluster.Leadership) {
	var beside sync.WaitGroup
	defer beside.Wait()
	from := lead.Node.Applied()
	beside.Go(func() { c.notify(ctx, from) })
	beside.Go(func() { c.dropUploads(ctx, lead) })
	beside.Go(func() { c.beat(ctx) })
	state := c.tables.State()
	c.mu.Lock()
	c.table, c.lives, c.saved = liveness.New(liveness.Config{}, keysOf(state)), state.LivesVersion(), state.Restored()
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		c.table = nil
		c.mu.Unlock()
	}()
	tick := time.NewTimer(c.interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-c.wake:
		}
		next := c.interval
		if c.scan(ctx, lead) {
			next = min(next, nextRound)
		}
		tick.Reset(next)
	}
}

// beat keeps the table's time until ctx ends, also while a scan waits for the others.
func (c *Clock) beat(ctx context.Context) {
	tick := time.NewTicker(liveness.Beat)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if t := c.current(); t != nil {
			c.tell(liveness.Lapsed{Moved: t.Beat()}, t.Len())
		}
	}
}

// scan removes what has lapsed and says whether there is more to do soon.
func (c *Clock) scan(ctx context.Context, lead cluster.Leadership) (more bool) {
	t := c.current()
	if t == nil {
		return false
	}
	members := lead.Node.MemberIDs()
	lapsed := t.Scan(members)
	c.tell(lapsed, t.Len())
	keys := append(lapsed.Closed, lapsed.Late...)
	if len(keys) == 0 {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, expireTimeout)
	defer cancel()
	if _, err := lead.Node.Confirm(ctx); err != nil {
		c.log.Warn("nobody is removed: this peer cannot confirm that it leads", "error", err)
		return true
	}
	if c.current() != t {
		return false
	}
	marked := t.Mark(keys, members)
	if len(marked) == 0 {
		return false
	}
	c.expire(ctx, lead, t, marked, lapsed.Closed)
	return len(marked) < len(keys)
}

func (c *Clock) tell(l liveness.Lapsed, all int) {
	if l.Moved > 0 {
		c.log.Warn("this process stood still; all deadlines moved", "by", l.Moved)
	}
	if l.Held > 0 {
		c.held.Add(uint64(l.Held))
		c.log.Error("more than half of all brokers fell silent together; they get one timeout more", "silent", l.Held, "of", all)
	}
}

// expire proposes the removal of marked addresses as this term's leader, naming
// the registration of each that was judged.
func (c *Clock) expire(ctx context.Context, lead cluster.Leadership, t *liveness.Table, marked []liveness.Key, closed []string) {
	list := make([]fsm.Expired, len(marked))
	for i, k := range marked {
		list[i] = fsm.Expired{Key: k.ID, Registered: k.Registered}
	}
	before := c.tables.State()
	_, err := lead.Node.ProposeInTerm(ctx, lead.Term, fsm.EncodeExpire(list))
	c.current()
	if err == nil || errors.Is(err, cluster.ErrFenced) || errors.Is(err, cluster.ErrNoLeader) {
		t.Release(marked)
	}
	if err != nil {
		c.log.Warn("removal of silent brokers failed", "brokers", len(marked), "error", err)
		return
	}
	state := c.tables.State()
	for _, k := range marked {
		if state.LiveByKey(k.ID) == nil { // else it registered again first
			why, count := "it was silent for "+k.Timeout.String(), &c.silent
			if slices.Contains(closed, k.ID) {
				why, count = "its last connection ended", &c.ended
			}
			count.Add(1)
			c.log.Info("broker removed", append(liveFields(before, k.ID), "because", why, "index", lead.Node.Applied())...)
		}
	}
}

// liveFields names an address for the log, as a registration does.
func liveFields(st *fsm.State, key string) []any {
	l := st.LiveByKey(key)
	if l == nil {
		return []any{"broker", describe(key)}
	}
	return []any{"broker", l.Broker, "cluster", l.Cluster, "id", l.ID, "address", l.Addr}
}

// Serve is cluster.Config.Serve: it takes a peer's report.
func (c *Clock) Serve(from string, payload []byte) ([]byte, error) {
	var in reportpb.Report
	if err := proto.Unmarshal(payload, &in); err != nil {
		return nil, err
	}
	t := c.current()
	if t == nil {
		return nil, nil
	}
	r := liveness.Report{Run: in.Run, Seq: in.Seq, Ran: millisToDuration(in.RanMillis), Sessions: make(map[string]liveness.Session, len(in.Sessions))}
	for _, s := range in.Sessions {
		r.Sessions[string(s.Key)] = liveness.Session{State: liveness.SessionState(s.State), Heard: millisToDuration(s.HeardAgoMillis)}
	}
	if t.Report(from, r) {
		select { // any report may be the last that a closed connection waited for
		case c.wake <- struct{}{}:
		default:
		}
	}
	return nil, nil
}

func millisToDuration(ms uint64) time.Duration {
	return time.Duration(min(ms, uint64(1<<40))) * time.Millisecond
}

// Reporter is where reports go.
type Reporter interface {
	AskLeader(ctx context.Context, payload []byte) ([]byte, error)
}

// Report sends this peer's reports until ctx ends: twice a second, and at once
// when a broker's connection ended.
func (c *Clock) Report(ctx context.Context, leader Reporter) {
	t := time.NewTimer(0)
	defer t.Stop()
	for {
		next := reportEvery
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		case <-c.sessions.poke:
			next = reportAgain
		}
		state := c.tables.State()
		report := c.sessions.report(func(key string) bool { return state.LiveByKey(key) != nil })
		rctx, cancel := context.WithTimeout(ctx, reportLimit)
		if _, err := leader.AskLeader(rctx, report); err != nil {
			c.log.Debug("report to the leader", "error", err)
		}
		cancel()
		t.Reset(next)
	}
}
