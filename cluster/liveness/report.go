package liveness

import (
	"slices"
	"time"
)

// Session is what a peer knows of a key's connections to it.
type Session struct {
	State SessionState
	Heard time.Duration // how long ago the key was last heard from at that peer
}

// SessionState is what became of the connection that registered a key last.
type SessionState int

// Values of SessionState.
const (
	Silent SessionState = iota // none was seen; the key was heard in other ways
	Open                       // it is open
	Closed                     // it was seen to end, not by the peer's own stop
)

// Report is everything that one peer knows. Each replaces the one before.
type Report struct {
	Run      uint64        // random number of that peer's process
	Seq      uint64        // grows by one with each of a run; an older one is ignored
	Ran      time.Duration // how long that peer's process has run
	Sessions map[string]Session
}

type peer struct {
	run    time.Time // when its process started, by this clock
	at     time.Time // when its last report came
	last   Report
	before []uint64 // runs that have ended; what they still have under way is old
}

// Report takes a peer's newest report and says whether it was newer than the
// last. Keys that it heard lately are renewed.
func (t *Table) Report(from string, r Report) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.nowLocked()
	p := t.peers[from]
	started := now.Add(-r.Ran)
	if p == nil {
		p = &peer{}
		t.peers[from] = p
	} else if r.Run == p.last.Run && r.Seq <= p.last.Seq || slices.Contains(p.before, r.Run) {
		return false
	} else if r.Run != p.last.Run {
		p.before = append(p.before, p.last.Run)
	}
	p.run, p.at, p.last = started, now, r
	for id, e := range t.entries {
		if n, ok := e.fresh[from]; ok {
			if n++; n >= reportsToTrust {
				delete(e.fresh, from)
			} else {
				e.fresh[from] = n
			}
		}
		if s, ok := r.Sessions[id]; ok && !e.expiring {
			t.heardAgo(e, now, s.Heard)
		}
	}
	return true
}

func (t *Table) heardAgo(e *entry, now time.Time, ago time.Duration) {
	if ago < 0 || ago > e.timeout {
		return
	}
	if d := now.Add(e.timeout - ago); d.After(e.deadline) {
		e.deadline, e.patient = d, false
	}
}

type presence int

const (
	none presence = iota
	open
	closed
	unknown
)

// at says what a member's report means for a key.
func (t *Table) at(member, id string, e *entry, now time.Time) presence {
	p := t.peers[member]
	switch {
	case p == nil && now.Sub(t.began) < t.cfg.ReportTTL:
		return unknown
	case p == nil || now.Sub(p.at) >= t.cfg.ReportTTL:
		return none
	}
	if _, wait := e.fresh[member]; wait {
		return unknown
	}
	s, named := p.last.Sessions[id]
	switch {
	case named && s.State == Open:
		return open
	case named && s.State == Closed:
		return closed
	case now.Sub(p.run) < t.cfg.Young:
		return unknown
	}
	return none
}

// isClosed says whether a key goes at once.
func (t *Table) isClosed(id string, e *entry, members []string, now time.Time) bool {
	seen := false
	for _, m := range members {
		switch t.at(m, id, e, now) {
		case open, unknown:
			return false
		case closed:
			seen = true
		}
	}
	return seen
}
