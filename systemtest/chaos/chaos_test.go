package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"namesrv/systemtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestChaos promises that no schedule of faults loses a write, shows an old state or removes a live broker. Three seeds
// take a minute together; NAMESRV_LONG=1 asks for twenty, of half a minute each.
func TestChaos(t *testing.T) {
	seeds, lasts := 3, 20*time.Second
	if os.Getenv("NAMESRV_LONG") == "1" {
		seeds, lasts = 20, 30*time.Second
	}
	binary, err := systemtest.Build(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for seed := uint64(1); seed <= uint64(seeds); seed++ {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), lasts+5*time.Minute)
			defer cancel()
			v, err := run(ctx, options{binary: binary, dir: t.TempDir(), seed: seed, lasts: lasts})
			if err != nil {
				t.Fatal(err)
			}
			var text strings.Builder
			v.print(&text)
			t.Log(text.String())
			if len(v.violations) > 0 {
				t.Errorf("%d violations", len(v.violations))
			}
		})
	}
}

// TestScheduleComesFromTheSeed promises that a seed that failed can be tried again.
func TestScheduleComesFromTheSeed(t *testing.T) {
	a, b := fmt.Sprint(schedule(7, time.Minute, true)), fmt.Sprint(schedule(7, time.Minute, true))
	if a != b {
		t.Errorf("two schedules of one seed:\n%s\n%s", a, b)
	}
	if a == fmt.Sprint(schedule(8, time.Minute, true)) {
		t.Error("two seeds with one schedule")
	}
	for _, f := range schedule(7, 10*time.Minute, false) {
		if f.links {
			t.Errorf("%s without a network to cut", f)
		}
	}
}

// TestJudgeFindsWhatIsWrong holds the judge itself: one that finds nothing looks like a server without faults.
func TestJudgeFindsWhatIsWrong(t *testing.T) {
	type op struct {
		in         input
		call, end  int64
		value      string
		unanswered bool
	}
	put := func(v string, call, end int64) op {
		return op{in: input{op: "put", value: v}, call: call, end: end}
	}
	get := func(v string, call, end int64) op {
		return op{in: input{op: "get"}, call: call, end: end, value: v}
	}
	remove := func(maybe bool, call, end int64) op {
		return op{in: input{op: "delete", maybe: maybe}, call: call, end: end}
	}
	lost := op{in: input{op: "put", value: "x"}, call: 5, unanswered: true}
	tests := []struct {
		name string
		ops  []op
		good bool
	}{
		{"read after write", []op{put("a", 1, 2), get("a", 3, 4)}, true},
		{"lost write", []op{put("a", 1, 2), get("", 3, 4)}, false},
		{"old value", []op{put("a", 1, 2), put("b", 3, 4), get("a", 5, 6)}, false},
		{"reads go back", []op{put("a", 1, 2), put("b", 3, 10), get("b", 4, 5), get("a", 6, 7)}, false},
		{"overlapping", []op{put("a", 1, 4), put("b", 2, 3), get("a", 5, 6)}, true},
		{"deleted", []op{put("a", 1, 2), remove(false, 3, 4), get("a", 5, 6)}, false},
		{"deleted or not", []op{put("a", 1, 2), remove(true, 3, 4), get("a", 5, 6)}, true},
		{"unanswered, seen later", []op{put("a", 1, 2), lost, get("a", 6, 7), get("x", 8, 9)}, true},
		{"unanswered, never seen", []op{put("a", 1, 2), lost, get("a", 6, 7)}, true},
		{"unanswered, seen and gone", []op{put("a", 1, 2), lost, get("x", 6, 7), get("a", 8, 9)}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := newHistory()
			for i, o := range tt.ops {
				o.in.key = "k"
				how := done
				if o.unanswered {
					how = unknown
				}
				h.add(i, o.call, o.in, o.value, how)
				if how == done {
					h.ops["k"][len(h.ops["k"])-1].Return = o.end
				}
			}
			if j := h.judge(10 * time.Second); (len(j.broken) == 0) != tt.good || len(j.undecided) > 0 {
				t.Errorf("broken %v, undecided %v; want good %v", j.broken, j.undecided, tt.good)
			}
		})
	}
}
