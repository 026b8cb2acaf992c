package nameserver

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"namesrv/fsm"
)

// uploads is a leader's watch over restores, in the time of a synctest bubble.
type uploads struct {
	t      *testing.T
	tables *Tables

	mu    sync.Mutex // guards the fields below
	index uint64
	fail  error // of proposals
	asked int
}

func watchUploads(t *testing.T) *uploads {
	u := &uploads{t: t, tables: NewTables()}
	clock := NewClock(ClockConfig{Interval: time.Second, Logger: hclog.NewNullLogger()}, u.tables, NewSessions())
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		clock.watchUploads(ctx, func(_ context.Context, command []byte) error { return u.propose(command) })
	}()
	t.Cleanup(func() { cancel(); <-done })
	return u
}

func (u *uploads) propose(command []byte) error {
	u.mu.Lock()
	u.asked++
	err := u.fail
	u.mu.Unlock()
	if err == nil {
		u.apply(command)
	}
	return err
}

// failing makes proposals fail from now on, with nil no more.
func (u *uploads) failing(err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.fail = err
}

// proposed is how often something was proposed so far.
func (u *uploads) proposed() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.asked
}

func (u *uploads) apply(command []byte) {
	u.t.Helper()
	u.mu.Lock()
	defer u.mu.Unlock()
	u.index++
	if _, err := u.tables.Apply(u.index, command); err != nil {
		u.t.Error(err)
	}
}

// after lets time pass and returns the id of the restore that is under way then.
func (u *uploads) after(d time.Duration) string {
	time.Sleep(d)
	synctest.Wait()
	id, _ := u.tables.State().Uploading()
	return id
}

const staleAfter = uploadLooks*uploadLook + uploadLook

func TestRestoreThatNobodyGoesOnWithIsDropped(t *testing.T) {
	steps, err := fsm.EncodeUpload("r", saved(t, filled(t)))
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		u := watchUploads(t)
		u.apply(steps[0].Command)
		if id := u.after(staleAfter - uploadLook); id != "r" {
			t.Fatalf("dropped early: %q", id)
		}
		u.apply(steps[1].Command) // it goes on
		if id := u.after(staleAfter - uploadLook); id != "r" {
			t.Fatalf("dropped though it had gone on: %q", id)
		}
		u.failing(errors.New("not the leader any more"))
		if id := u.after(2 * uploadLook); id != "r" || u.proposed() == 0 {
			t.Fatalf("%q after %d failed tries", id, u.proposed())
		}
		u.failing(nil)
		if id := u.after(2 * uploadLook); id != "" {
			t.Errorf("%q is still under way", id)
		}
		if asked := u.proposed(); u.after(10*staleAfter) != "" || u.proposed() != asked {
			t.Errorf("proposed %d times more with nothing under way", u.proposed()-asked)
		}
	})
}

func TestRestoreThatWasReplacedHasItsOwnTime(t *testing.T) {
	snapshot := saved(t, filled(t))
	synctest.Test(t, func(t *testing.T) {
		u := watchUploads(t)
		for _, id := range []string{"a", "b", "c"} {
			steps, err := fsm.EncodeUpload(id, snapshot)
			if err != nil {
				t.Fatal(err)
			}
			u.apply(steps[0].Command)
			if got := u.after(staleAfter / 2); got != id {
				t.Fatalf("%q is under way, want %q", got, id)
			}
		}
		if got := u.after(staleAfter); got != "" || u.proposed() != 1 {
			t.Errorf("%q is under way after %d proposals", got, u.proposed())
		}
	})
}
