package cluster

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
)

// writeLimit is how long one write to the log may take. A leader whose disk
// hangs would stay leader for ever, since heartbeats run beside the disk.
const (
	writeLimit = 10 * time.Second // of running time
	writeTick  = time.Second
)

// What is written, in errors; each has its own time in the metrics.
const (
	writeLog      = "write log"
	writeTruncate = "truncate log"
	writeState    = "write state"
	writeTerm     = "write term"
)

type logAndStable interface {
	raft.LogStore
	raft.StableStore
}

// guard refuses everything after the first failed or late write: Raft cannot
// mend a half-known disk, its supervisor restarts it with a good one.
type guard struct {
	logAndStable
	fail   func(error)
	wrote  func(what string, took time.Duration) // nil: nobody asks
	broken atomic.Pointer[error]
}

func newGuard(store logAndStable, fail func(error)) *guard {
	return &guard{logAndStable: store, fail: fail}
}

func (g *guard) write(what string, do func() error) error {
	if err := g.broken.Load(); err != nil {
		return *err
	}
	done := g.watch(what)
	began := time.Now()
	err := do()
	done()
	if g.wrote != nil {
		g.wrote(what, time.Since(began))
	}
	if err != nil {
		return g.breakWith(fmt.Errorf("disk: %s: %w", what, err))
	}
	if err := g.broken.Load(); err != nil {
		return *err
	}
	return nil
}

// watch gives a write its time. It counts ticks that came when they were due: a
// process that was stopped for minutes in the middle of a write has not waited
// for its disk all that time.
func (g *guard) watch(what string) (done func()) {
	w := &watch{last: time.Now(), late: func() {
		g.breakWith(fmt.Errorf("disk: %s took more than %v", what, writeLimit))
	}}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer = time.AfterFunc(writeTick, w.tick)
	return w.stop
}

// watch is the clock of one write.
type watch struct {
	late func()

	mu    sync.Mutex // guards the fields below
	timer *time.Timer
	last  time.Time
	ticks int
	over  bool
}

func (w *watch) tick() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over {
		return
	}
	now := time.Now()
	if now.Sub(w.last) < 2*writeTick {
		w.ticks++
	}
	w.last = now
	if w.ticks < int(writeLimit/writeTick) {
		w.timer.Reset(writeTick)
		return
	}
	w.over = true
	go w.late() // not under the lock
}

func (w *watch) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
	w.timer.Stop()
}

func (g *guard) breakWith(err error) error {
	if g.broken.CompareAndSwap(nil, &err) {
		g.fail(err)
	}
	return err
}

func (g *guard) StoreLog(l *raft.Log) error { return g.StoreLogs([]*raft.Log{l}) }

func (g *guard) StoreLogs(ls []*raft.Log) error {
	return g.write(writeLog, func() error { return g.logAndStable.StoreLogs(ls) })
}

func (g *guard) DeleteRange(first, last uint64) error {
	return g.write(writeTruncate, func() error { return g.logAndStable.DeleteRange(first, last) })
}

func (g *guard) Set(key, val []byte) error {
	return g.write(writeState, func() error { return g.logAndStable.Set(key, val) })
}

func (g *guard) SetUint64(key []byte, val uint64) error {
	return g.write(writeTerm, func() error { return g.logAndStable.SetUint64(key, val) })
}
