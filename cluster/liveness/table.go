package liveness

import (
	"iter"
	"sync"
	"time"
)

// Config holds the Table's times. The zero value of each means its default.
type Config struct {
	Grace     time.Duration // added to every deadline when leadership is gained; 30 s
	ReportTTL time.Duration // a peer not heard for so long has no say; 30 s
	Young     time.Duration // a peer that has run for less may hold connections of keys it does not name yet; 60 s
	MinRound  int           // keys that one round may always remove; 10
}

func (c Config) withDefaults() Config {
	if c.Grace == 0 {
		c.Grace = 30 * time.Second
	}
	if c.ReportTTL == 0 {
		c.ReportTTL = 30 * time.Second
	}
	if c.Young == 0 {
		c.Young = 60 * time.Second
	}
	if c.MinRound == 0 {
		c.MinRound = 10
	}
	return c
}

// Key is one registration as the replicated tables have it.
type Key struct {
	ID         string
	Registered uint64        // its generation: a new one moves the deadline
	Timeout    time.Duration // how long it may be silent
}

// Table is the clock of one term of leading.
type Table struct {
	cfg Config

	mu       sync.Mutex // guards the fields below
	began    time.Time
	lastBeat time.Time
	moved    time.Duration // what Beat has not told yet
	entries  map[string]*entry
	peers    map[string]*peer
}

type entry struct {
	registered uint64
	timeout    time.Duration
	deadline   time.Time
	expiring   bool
	patient    bool // was given a second timeout and not heard since
	// fresh counts the reports that came since this key was heard through a
	// peer: the first may have been on its way before.
	fresh map[string]int
}

// reportsToTrust is how many reports of a peer must follow a renewal through it
// before its silence about the key, or its "closed", counts.
const reportsToTrust = 2

// New makes the clock of a term that begins now: every key gets its full timeout
// and the grace.
func New(cfg Config, keys iter.Seq[Key]) *Table {
	now := time.Now()
	t := &Table{cfg: cfg.withDefaults(), began: now, lastBeat: now, entries: make(map[string]*entry), peers: make(map[string]*peer)}
	for k := range keys {
		t.entries[k.ID] = &entry{registered: k.Registered, timeout: k.Timeout, deadline: now.Add(k.Timeout + t.cfg.Grace)}
	}
	return t
}

// Sync follows the replicated tables: new keys and new generations get a full
// timeout from now, keys that are gone are forgotten.
func (t *Table) Sync(keys iter.Seq[Key]) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.nowLocked()
	seen := make(map[string]struct{}, len(t.entries))
	for k := range keys {
		seen[k.ID] = struct{}{}
		e := t.entries[k.ID]
		if e == nil {
			e = &entry{}
			t.entries[k.ID] = e
		}
		e.timeout = k.Timeout
		if e.registered != k.Registered {
			e.registered, e.expiring = k.Registered, false
			e.heard(now, t.allPeers())
		}
	}
	for id := range t.entries {
		if _, ok := seen[id]; !ok {
			delete(t.entries, id)
		}
	}
}

// Grace gives every key its full timeout and the grace from now on, as a new term
// does: after the tables were replaced, nobody can have been heard under them.
func (t *Table) Grace() {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.nowLocked()
	for _, e := range t.entries {
		e.deadline, e.patient = later(e.deadline, now.Add(e.timeout+t.cfg.Grace)), false
	}
}

// heard moves the deadline; the named peers must report again before they count.
func (e *entry) heard(now time.Time, through map[string]int) {
	e.deadline = later(e.deadline, now.Add(e.timeout))
	e.patient = false
	if len(through) > 0 && e.fresh == nil {
		e.fresh = make(map[string]int, len(through))
	}
	for p := range through {
		e.fresh[p] = 0
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func (t *Table) allPeers() map[string]int {
	all := make(map[string]int, len(t.peers))
	for id := range t.peers {
		all[id] = 0
	}
	return all
}

// Renew moves the deadlines of keys that were heard through a peer, and returns
// those that are unknown or being removed: they were not renewed.
func (t *Table) Renew(from string, keys []string) (refused []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.nowLocked()
	for _, k := range keys {
		e := t.entries[k]
		if e == nil || e.expiring {
			refused = append(refused, k)
			continue
		}
		e.heard(now, map[string]int{from: 0})
	}
	return refused
}

// Len is the number of keys.
func (t *Table) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.entries)
}
