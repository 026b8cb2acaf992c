package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/hashicorp/raft"
)

const (
	oldAddr = raft.ServerAddress("old:1")
	newAddr = raft.ServerAddress("new:1")
)

// brokenPipe is a pipeline that only can be closed.
type brokenPipe struct {
	raft.AppendPipeline
	closed int
}

func (b *brokenPipe) Close() error { b.closed++; return nil }

// barring begins to bar calls to m at its old address; the result comes when all is quiet.
func barring(t *testing.T, c *calls) (lifted <-chan func()) {
	t.Helper()
	done := make(chan func(), 1)
	go func() {
		lift, err := c.bar(t.Context(), "m", oldAddr)
		if err != nil {
			t.Errorf("bar: %v", err)
			return
		}
		done <- lift
	}()
	synctest.Wait()
	return done
}

func isDone(done <-chan func()) bool { return len(done) == 1 }

func answered() error { return nil }

func TestCallsWhileAnAddressChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := new(calls)
		if err := c.do("m", oldAddr, answered); err != nil {
			t.Fatal(err)
		}
		done := barring(t, c)
		if isDone(done) {
			t.Error("Raft may still be looking at an answer, and nobody waits for that")
		}
		if err := c.do("m", oldAddr, answered); !errors.Is(err, errAddressChanges) {
			t.Errorf("a call to the old address: %v", err)
		}
		synctest.Wait()
		if !isDone(done) {
			t.Fatal("Raft makes the next call and it is still waited for")
		}
		for addr, want := range map[raft.ServerAddress]error{oldAddr: errAddressChanges, newAddr: nil} {
			if err := c.do("m", addr, answered); !errors.Is(err, want) {
				t.Errorf("a call to %s: %v, want %v", addr, err, want)
			}
		}
		if err := c.do("other", oldAddr, answered); err != nil {
			t.Errorf("a call to another member: %v", err)
		}
		(<-done)()
		if err := c.do("m", oldAddr, answered); err != nil {
			t.Errorf("afterwards: %v", err)
		}
	})
}

func TestCallThatReachesOverAChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := new(calls)
		answer := make(chan error)
		result := make(chan error, 1)
		go func() { result <- c.do("m", oldAddr, func() error { return <-answer }) }()
		synctest.Wait()
		done := barring(t, c)
		if !isDone(done) {
			t.Fatal("waits for a call whose answer will not be handed on")
		}
		(<-done)()
		answer <- nil
		if err := <-result; !errors.Is(err, errAddressChanges) {
			t.Errorf("%v: an answer from before the change was handed on", err)
		}
	})
}

func TestPipelineEndsBeforeAnAddressChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, inner := new(calls), new(brokenPipe)
		p := &pipeline{AppendPipeline: inner, calls: c, to: "m"}
		c.callee("m").pipelines[p] = struct{}{}
		done := barring(t, c)
		if isDone(done) || inner.closed == 0 {
			t.Errorf("closed %d times, done %v: want it broken, and Raft's own Close waited for", inner.closed, isDone(done))
		}
		p.Close()
		synctest.Wait()
		if !isDone(done) {
			t.Error("not done after Raft closed it")
		}
	})
}

func TestBarGivesUp(t *testing.T) {
	c := new(calls)
	if err := c.do("m", oldAddr, answered); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.bar(ctx, "m", oldAddr); !errors.Is(err, context.Canceled) {
		t.Errorf("bar: %v", err)
	}
	if err := c.do("m", oldAddr, answered); err != nil {
		t.Errorf("still barred: %v", err)
	}
}

// doneFuture is a change that Raft has made.
type doneFuture struct{ raft.IndexFuture }

func (doneFuture) Error() error { return nil }

// TestBarIsLiftedWhenTheChangeIsDone: not earlier, whoever still waits for it, or a call to the old address would pass
// while Raft changes it.
func TestBarIsLiftedWhenTheChangeIsDone(t *testing.T) {
	c := new(calls)
	lift, err := c.bar(t.Context(), "m", oldAddr)
	if err != nil {
		t.Fatal(err)
	}
	change := lifting{doneFuture{}, lift}
	if err := c.do("m", oldAddr, answered); !errors.Is(err, errAddressChanges) {
		t.Errorf("before it is done: %v", err)
	}
	if err := change.Error(); err != nil {
		t.Fatal(err)
	}
	if err := c.do("m", oldAddr, answered); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// TestRequestsAreBoundedByBytes promises that no request to another member is so large that a slow link does not carry
// it in its time, over a pipeline or not, and that an entry larger than that still goes alone.
func TestRequestsAreBoundedByBytes(t *testing.T) {
	const part = maxAppendBytes / 4
	tests := map[string]struct {
		sizes []int
		sent  int
	}{
		"nothing":       {nil, 0},
		"small ones":    {[]int{10, 10, 10}, 3},
		"just enough":   {[]int{part, part, part, part}, 4},
		"one byte more": {[]int{part, part, part, part + 1}, 3},
		"large ones":    {[]int{3 * part, 3 * part, 3 * part}, 1},
		"too large":     {[]int{5 * part, 10}, 1},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			req := new(raft.AppendEntriesRequest)
			for i, size := range tt.sizes {
				req.Entries = append(req.Entries, &raft.Log{Index: uint64(i + 1), Data: make([]byte, size)})
			}
			sent := new(countingPipe)
			if _, err := (&pipeline{AppendPipeline: sent}).AppendEntries(req, nil); err != nil {
				t.Fatal(err)
			}
			if sent.entries != tt.sent || len(req.Entries) != tt.sent {
				t.Errorf("sent %d, Raft finds %d afterwards, want %d", sent.entries, len(req.Entries), tt.sent)
			}
		})
	}
}

// countingPipe is a pipeline that counts what it is to send.
type countingPipe struct {
	raft.AppendPipeline
	entries int
}

func (c *countingPipe) AppendEntries(req *raft.AppendEntriesRequest, _ *raft.AppendEntriesResponse) (raft.AppendFuture, error) {
	c.entries = len(req.Entries)
	return nil, nil
}

// TestFollowerThatWasDownGetsLargeEntries: Raft goes on where a request was cut.
func TestFollowerThatWasDownGetsLargeEntries(t *testing.T) {
	nodes := three(t)
	leader, rest := leaderOf(t, nodes...)
	down := rest[0]
	down.Close()
	const size, entries = 4_000_000, 6 // more than one request takes
	for i := range entries {
		propose(t, leader, fmt.Sprintf("%d%0*d", i, size, 0))
	}
	down = reopen(t, down)
	eventually(t, "it has all of them", func() bool { return len(down.machine.all()) == 1+entries })
	if !slices.Equal(down.machine.all(), leader.machine.all()) {
		t.Error("it has others than the leader")
	}
}
