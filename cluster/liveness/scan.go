package liveness

import (
	"slices"
	"time"
)

// Lapsed is what a scan found.
type Lapsed struct {
	Closed []string // go at once
	Late   []string // deadline passed
	Held   int      // late keys that were given one timeout more, since too many lapsed together
	Moved  time.Duration
}

// Scan is to be called every interval, and may be called more often. members
// are those of the newest configuration. A scan that runs more than one interval
// late moves every deadline by the delay: nobody could have been heard meanwhile.
func (t *Table) Scan(members []string, interval time.Duration) Lapsed {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	var l Lapsed
	if delay := now.Sub(t.lastScan) - interval; delay > interval {
		l.Moved = delay
		for _, e := range t.entries {
			e.deadline = e.deadline.Add(delay)
		}
	}
	t.lastScan = now
	for id, e := range t.entries {
		switch {
		case e.expiring:
		case t.isClosed(id, e, members, now):
			l.Closed = append(l.Closed, id)
		case now.After(e.deadline):
			l.Late = append(l.Late, id)
		}
	}
	slices.Sort(l.Closed)
	slices.Sort(l.Late)
	if len(l.Late) >= t.cfg.MinRound && 2*len(l.Late) > len(t.entries) {
		l.Late, l.Held = t.holdLocked(l.Late, now)
	}
	return l
}

// holdLocked gives keys that lapsed in a crowd one timeout more: that many brokers
// rarely die together, but a network often does.
func (t *Table) holdLocked(late []string, now time.Time) (rest []string, held int) {
	for _, id := range late {
		e := t.entries[id]
		if e.patient {
			rest = append(rest, id)
			continue
		}
		e.patient, e.deadline = true, now.Add(e.timeout)
		held++
	}
	return rest, held
}

// Mark checks again, under the lock that Renew takes, that keys have still
// lapsed, and marks them: from then on they are not renewed. At most a quarter
// of all keys, but at least MinRound, are marked at a time.
func (t *Table) Mark(keys []string, members []string) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	most := max(t.cfg.MinRound, len(t.entries)/4)
	var marked []string
	for _, id := range keys {
		e := t.entries[id]
		if e == nil || e.expiring || !now.After(e.deadline) && !t.isClosed(id, e, members, now) {
			continue
		}
		if len(marked) == most {
			break
		}
		e.expiring = true
		marked = append(marked, id)
	}
	return marked
}

// Registered is the generation of a key as it was at the last Sync; 0 when unknown.
func (t *Table) Registered(key string) uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e := t.entries[key]; e != nil {
		return e.registered
	}
	return 0
}

// Release takes the marks away after a removal was committed or given up. What
// is still there gets one timeout to be heard again.
func (t *Table) Release(keys []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	for _, id := range keys {
		if e := t.entries[id]; e != nil && e.expiring {
			e.expiring = false
			e.deadline = later(e.deadline, now)
		}
	}
}
