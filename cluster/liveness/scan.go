package liveness

import (
	"slices"
	"time"
)

// Lapsed is what a scan found.
type Lapsed struct {
	Closed []string      // go at once
	Late   []string      // deadline passed
	Held   int           // late keys that were given one timeout more, since too many lapsed together
	Moved  time.Duration // as with Beat
}

// Beat is how often Beat or Scan is to be called: what happens in a longer silence of both
// is that this process stands still.
const Beat = time.Second

// Beat takes note that this process runs. When it did not for more than a Beat it moves
// every deadline by as much, which it returns: nobody could be heard meanwhile.
func (t *Table) Beat() (moved time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.nowLocked()
	return t.toldLocked()
}

// toldLocked is by how much deadlines moved since it was told last.
func (t *Table) toldLocked() (moved time.Duration) {
	moved, t.moved = t.moved, 0
	return moved
}

// nowLocked is the time, after deadlines have moved by what this process stood still:
// whatever comes first after that must not get the time of the stop on top.
func (t *Table) nowLocked() time.Time {
	now := time.Now()
	late := now.Sub(t.lastBeat) - Beat
	t.lastBeat = now
	if late <= Beat {
		return now
	}
	t.moved += late
	for _, e := range t.entries {
		e.deadline = e.deadline.Add(late)
	}
	t.began = t.began.Add(late)
	for _, p := range t.peers {
		p.at = p.at.Add(late)
	}
	return now
}

// Scan finds what has lapsed; it is a Beat too. members are those of the newest
// configuration.
func (t *Table) Scan(members []string) Lapsed {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.nowLocked()
	l := Lapsed{Moved: t.toldLocked()}
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
//
// What it returns names the registration that was judged: another may be made
// before the removal is proposed, and must not be removed for the older one's silence.
func (t *Table) Mark(keys []string, members []string) []Key {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	most := max(t.cfg.MinRound, len(t.entries)/4)
	var marked []Key
	for _, id := range keys {
		e := t.entries[id]
		if e == nil || e.expiring || !now.After(e.deadline) && !t.isClosed(id, e, members, now) {
			continue
		}
		if len(marked) == most {
			break
		}
		e.expiring = true
		marked = append(marked, Key{ID: id, Registered: e.registered, Timeout: e.timeout})
	}
	return marked
}

// Release takes the marks away when a removal was committed, or surely will not
// be. While that is unknown they must stay: a registration would be taken for
// renewed, not logged, and then removed. A logged one ends the mark by itself.
func (t *Table) Release(keys []Key) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, k := range keys {
		if e := t.entries[k.ID]; e != nil && e.registered == k.Registered {
			e.expiring = false
		}
	}
}
