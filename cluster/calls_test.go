package cluster

import (
	"context"
	"errors"
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
