package liveness

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

const timeout = 120 * time.Second

var peers = []string{"p1", "p2", "p3"}

func keys(n int) iter.Seq[Key] {
	return func(yield func(Key) bool) {
		for i := range n {
			if !yield(Key{ID: fmt.Sprint("k", i), Registered: 1, Timeout: timeout}) {
				return
			}
		}
	}
}

// world drives a Table: reports of the given sessions every second, a scan after them.
type world struct {
	t      *testing.T
	table  *Table
	seq    map[string]uint64
	ran    map[string]time.Duration
	at     map[string]map[string]SessionState // peer -> key -> state
	silent map[string]bool                    // peers that send no reports
}

func newWorld(t *testing.T, n int) *world {
	w := &world{t: t, table: New(Config{}, keys(n)), seq: map[string]uint64{}, ran: map[string]time.Duration{}, at: map[string]map[string]SessionState{}, silent: map[string]bool{}}
	for _, p := range peers {
		w.ran[p] = time.Hour
		w.at[p] = map[string]SessionState{}
	}
	return w
}

// elapse lets time pass in which this process runs and nobody is heard.
func elapse(table *Table, d time.Duration) {
	for range d / Beat {
		time.Sleep(Beat)
		table.Beat()
	}
}

func (w *world) report(peer string) {
	w.seq[peer]++
	r := Report{Seq: w.seq[peer], Ran: w.ran[peer], Sessions: map[string]Session{}}
	for k, s := range w.at[peer] {
		r.Sessions[k] = Session{State: s, Heard: time.Hour} // long ago: no renewal by report
	}
	w.table.Report(peer, r)
}

// run lets time pass and returns what lapsed, in order of time.
func (w *world) run(d time.Duration) (closed, late []string) {
	for end := time.Now().Add(d); time.Now().Before(end); {
		time.Sleep(time.Second)
		for _, p := range peers {
			w.ran[p] += time.Second
			if !w.silent[p] {
				w.report(p)
			}
		}
		l := w.table.Scan(peers)
		closed, late = append(closed, l.Closed...), append(late, l.Late...)
		for _, k := range w.table.Mark(append(l.Closed, l.Late...), peers) {
			w.table.Sync(without(w.table, k.ID))
		}
	}
	return closed, late
}

func without(t *Table, gone string) iter.Seq[Key] {
	t.mu.Lock()
	defer t.mu.Unlock()
	var left []Key
	for id, e := range t.entries {
		if id != gone {
			left = append(left, Key{ID: id, Registered: e.registered, Timeout: e.timeout})
		}
	}
	return slices.Values(left)
}

func TestNewLeaderGivesFullTimeoutAndGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		if closed, late := w.run(timeout + 29*time.Second); len(closed)+len(late) > 0 {
			t.Fatalf("removed %v %v before timeout and grace were over", closed, late)
		}
		if _, late := w.run(3 * time.Second); !slices.Equal(late, []string{"k0"}) {
			t.Errorf("late: %v", late)
		}
	})
}

func TestRenewedStaysAndSilentGoesNotEarlier(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		w.run(140 * time.Second)
		w.table.Renew("p2", []string{"k0"})
		if closed, late := w.run(timeout - time.Second); len(closed)+len(late) > 0 {
			t.Fatalf("removed %v %v within its timeout", closed, late)
		}
		if _, late := w.run(3 * time.Second); len(late) != 1 {
			t.Error("still there after its timeout")
		}
	})
}

func TestReportOfASignOfLifeRenews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		for range 40 {
			w.run(10 * time.Second)
			w.seq["p1"]++
			w.table.Report("p1", Report{Seq: w.seq["p1"], Ran: w.ran["p1"], Sessions: map[string]Session{"k0": {State: Silent, Heard: 500 * time.Millisecond}}})
		}
		if w.table.Len() != 1 {
			t.Error("removed although a peer hears it")
		}
	})
}

func TestConnections(t *testing.T) {
	type at = map[string]SessionState
	tests := []struct {
		name string
		at   map[string]SessionState // peer -> state of k0; absent = not named
		when func(w *world)
		want bool // goes at once
	}{
		{"closed everywhere", at{"p1": Closed, "p2": Closed, "p3": Closed}, nil, true},
		{"closed at the only one that had it", at{"p1": Closed}, nil, true},
		{"one of three closed", at{"p1": Closed, "p2": Open, "p3": Open}, nil, false},
		{"open at one", at{"p1": Closed, "p2": Closed, "p3": Open}, nil, false},
		{"never connected", at{"p1": Silent}, nil, false},
		{"a young peer may have it", at{"p1": Closed}, func(w *world) { w.ran["p3"] = 10 * time.Second }, false},
		{"a young peer that names it closed", at{"p1": Closed, "p3": Closed}, func(w *world) { w.ran["p3"] = 10 * time.Second }, true},
		{"a peer that is gone for half a minute", at{"p1": Closed}, func(w *world) { w.silent["p3"] = true; w.run(35 * time.Second) }, true},
		{"a peer that is gone for a moment", at{"p1": Closed, "p3": Open}, func(w *world) { w.run(time.Second); w.silent["p3"] = true }, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, 20)
				w.run(40 * time.Second) // the leader has heard everybody
				if tt.when != nil {
					if s, ok := tt.at["p3"]; ok {
						w.at["p3"]["k0"] = s
					}
					tt.when(w)
				}
				for p, s := range tt.at {
					w.at[p]["k0"] = s
				}
				closed, _ := w.run(3 * time.Second)
				if got := slices.Contains(closed, "k0"); got != tt.want {
					t.Errorf("goes at once: %v, want %v", got, tt.want)
				}
			})
		})
	}
}

func TestCloseReportedToANewLeaderBeforeTheOthersReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		w.at["p1"]["k0"] = Closed
		w.silent["p2"], w.silent["p3"] = true, true
		if closed, _ := w.run(20 * time.Second); len(closed) > 0 {
			t.Fatal("removed before p2 and p3 could say that the broker is connected to them")
		}
		w.silent["p2"], w.silent["p3"] = false, false
		w.at["p2"]["k0"] = Open
		if closed, _ := w.run(60 * time.Second); len(closed) > 0 {
			t.Error("removed although p2 has it open")
		}
	})
}

func TestRenewalThroughAPeerWhoseReportWasOnItsWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		w.run(40 * time.Second)
		w.at["p1"]["k0"] = Closed
		w.table.Renew("p2", []string{"k0"}) // it has moved to p2
		w.report("p1")
		w.report("p2") // made before the renewal: does not name it
		if l := w.table.Scan(peers); len(l.Closed) > 0 {
			t.Fatal("removed by a report that is older than the renewal")
		}
		w.at["p2"]["k0"] = Open
		w.report("p2")
		w.report("p2")
		if l := w.table.Scan(peers); len(l.Closed) > 0 {
			t.Error("removed although p2 has it open")
		}
	})
}

func TestLateScanMovesDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		w.run(140 * time.Second)
		time.Sleep(3 * time.Minute) // the process stood still
		if l := w.table.Scan(peers); len(l.Late) > 0 || l.Moved < 170*time.Second {
			t.Errorf("%+v: removed for a silence in which nobody could be heard", l)
		}
	})
}

func TestCrowdGetsPatienceOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 40)
		if _, late := w.run(timeout + 40*time.Second); len(late) > 0 {
			t.Fatalf("%d removed together without patience", len(late))
		}
		if _, late := w.run(timeout); len(late) == 0 {
			t.Error("never removed")
		}
		if w.table.Len() != 0 {
			t.Errorf("%d left", w.table.Len())
		}
	})
}

func TestFewAreRemovedARound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := New(Config{}, keys(100))
		time.Sleep(timeout + time.Minute)
		all := slices.Collect(maps.Keys(table.entries))
		if got := len(table.Mark(all, peers)); got != 25 {
			t.Errorf("%d marked of 100, want a quarter", got)
		}
		if got := New(Config{}, keys(12)); true {
			time.Sleep(timeout + time.Minute)
			if n := len(got.Mark(slices.Collect(maps.Keys(got.entries)), peers)); n != 10 {
				t.Errorf("%d marked of 12, want 10", n)
			}
		}
	})
}

func TestMarkChecksAgainUnderTheLockOfRenew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := New(Config{}, keys(2))
		elapse(table, timeout+time.Minute)
		table.Renew("p1", []string{"k0"})
		marked := table.Mark([]string{"k0", "k1"}, peers)
		if diff := cmp.Diff([]Key{{ID: "k1", Registered: 1, Timeout: timeout}}, marked); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]string{"k1", "stranger"}, table.Renew("p1", []string{"k0", "k1", "stranger"})); diff != "" {
			t.Errorf("refused: %s", diff)
		}
		table.Release(marked)
		if refused := table.Renew("p1", []string{"k1"}); len(refused) > 0 {
			t.Error("still marked after its release")
		}
	})
}

func TestOldReportIsIgnored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := New(Config{}, keys(1))
		if !table.Report("p1", Report{Run: 7, Seq: 5, Ran: time.Hour}) {
			t.Error("first report ignored")
		}
		time.Sleep(3 * time.Second) // the link stalled; what it held comes in any order
		if table.Report("p1", Report{Run: 7, Seq: 4, Ran: time.Hour}) {
			t.Error("an older report was taken")
		}
		if !table.Report("p1", Report{Run: 8, Seq: 1, Ran: time.Second}) {
			t.Error("the first report of a restarted process was ignored")
		}
		if table.Report("p1", Report{Run: 7, Seq: 6, Ran: time.Hour}) {
			t.Error("a report of a process that has ended was taken")
		}
	})
}

func TestGraceAfterTheTablesWereReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		w.run(140 * time.Second)
		w.table.Grace()
		if closed, late := w.run(timeout + 29*time.Second); len(closed)+len(late) > 0 {
			t.Fatalf("removed %v %v before timeout and grace were over", closed, late)
		}
		if _, late := w.run(3 * time.Second); len(late) != 1 {
			t.Error("still there after timeout and grace")
		}
	})
}

func TestRemovalNamesTheRegistrationThatWasJudged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := New(Config{}, keys(1))
		time.Sleep(timeout + time.Minute)
		marked := table.Mark([]string{"k0"}, peers)
		table.Sync(slices.Values([]Key{{ID: "k0", Registered: 2, Timeout: timeout}})) // registers at this very moment
		if diff := cmp.Diff([]Key{{ID: "k0", Registered: 1, Timeout: timeout}}, marked); diff != "" {
			t.Error(diff)
		}
		if refused := table.Renew("p1", []string{"k0"}); len(refused) > 0 {
			t.Error("a logged registration did not end the mark")
		}
	})
}

func TestMarkStaysWhileTheOutcomeIsUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := New(Config{}, keys(1))
		time.Sleep(timeout + time.Minute)
		table.Mark([]string{"k0"}, peers)
		if refused := table.Renew("p1", []string{"k0"}); len(refused) != 1 {
			t.Error("renewed, so not logged: the removal that is still under way would take it")
		}
	})
}

func TestStoppedLeaderStillKnowsItsPeers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 20)
		w.run(40 * time.Second)
		w.at["p2"]["k0"], w.at["p1"]["k0"] = Open, Closed
		w.run(3 * time.Second)
		time.Sleep(time.Minute) // this process stood still
		if l := w.table.Scan(peers); slices.Contains(l.Closed, "k0") {
			t.Error("removed since the others, who have it open, seemed to be gone")
		}
	})
}

// TestRenewalAfterAStopGetsNoMoreThanItsTimeout promises that what is heard first after a stop is not given the time of
// the stop on top of its own, through whichever door it comes.
func TestRenewalAfterAStopGetsNoMoreThanItsTimeout(t *testing.T) {
	const stop = time.Hour
	key := Key{ID: "k", Registered: 1, Timeout: timeout}
	for name, hear := range map[string]func(*Table){
		"renewal": func(table *Table) { table.Renew("p1", []string{"k"}) },
		"report": func(table *Table) {
			table.Report("p1", Report{Run: 1, Seq: 9, Sessions: map[string]Session{"k": {State: Open}}})
		},
		"new registration": func(table *Table) {
			table.Sync(slices.Values([]Key{{ID: "k", Registered: 2, Timeout: timeout}}))
		},
		"replaced tables": func(table *Table) { table.Grace() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				table := New(Config{Grace: time.Second}, slices.Values([]Key{key}))
				time.Sleep(stop)
				hear(table)
				if moved := table.Beat(); moved != stop-Beat {
					t.Errorf("moved by %v, want %v", moved, stop-Beat)
				}
				elapse(table, 2*timeout)
				if marked := table.Mark([]string{"k"}, peers); len(marked) != 1 {
					t.Error("it is silent for twice its timeout, and stays")
				}
			})
		})
	}
}

// TestStopOfAFewSecondsMovesDeadlines promises that a broker with a short timeout outlives every stop of the leader's
// process: nobody could be heard meanwhile, and what was sent is read only after it.
func TestStopOfAFewSecondsMovesDeadlines(t *testing.T) {
	for _, stop := range []time.Duration{3 * time.Second, 5 * time.Second, 9 * time.Second, 11 * time.Second, time.Minute} {
		t.Run(stop.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const short = 4 * time.Second
				table := New(Config{Grace: time.Second}, slices.Values([]Key{{ID: "k", Registered: 1, Timeout: short}}))
				for range 20 {
					time.Sleep(time.Second)
					table.Renew("p1", []string{"k"})
					if l := table.Scan(peers); len(l.Late) > 0 {
						t.Fatal("late although it is heard every second")
					}
				}
				time.Sleep(stop)
				l := table.Scan(peers)
				if marked := table.Mark([]string{"k"}, peers); len(l.Late)+len(marked) > 0 {
					t.Error("judged for a silence in which nobody could be heard")
				}
				time.Sleep(2 * short)
				if marked := table.Mark([]string{"k"}, peers); len(marked) != 1 {
					t.Error("never judged")
				}
			})
		})
	}
}
