package cluster

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
)

// writeLimit is how long one write to the log may take. A leader whose disk
// hangs would stay leader for ever, since heartbeats run beside the disk.
const writeLimit = 10 * time.Second

type logAndStable interface {
	raft.LogStore
	raft.StableStore
}

// guard refuses everything after the first failed or late write: Raft cannot
// mend a half-known disk, its supervisor restarts it with a good one.
type guard struct {
	logAndStable
	fail   func(error)
	broken atomic.Pointer[error]
}

func newGuard(store logAndStable, fail func(error)) *guard {
	return &guard{logAndStable: store, fail: fail}
}

func (g *guard) write(what string, do func() error) error {
	if err := g.broken.Load(); err != nil {
		return *err
	}
	late := time.AfterFunc(writeLimit, func() {
		g.breakWith(fmt.Errorf("disk: %s took more than %v", what, writeLimit))
	})
	defer late.Stop()
	if err := do(); err != nil {
		return g.breakWith(fmt.Errorf("disk: %s: %w", what, err))
	}
	if err := g.broken.Load(); err != nil {
		return *err
	}
	return nil
}

func (g *guard) breakWith(err error) error {
	if g.broken.CompareAndSwap(nil, &err) {
		g.fail(err)
	}
	return err
}

func (g *guard) StoreLog(l *raft.Log) error { return g.StoreLogs([]*raft.Log{l}) }

func (g *guard) StoreLogs(ls []*raft.Log) error {
	return g.write("write log", func() error { return g.logAndStable.StoreLogs(ls) })
}

func (g *guard) DeleteRange(first, last uint64) error {
	return g.write("truncate log", func() error { return g.logAndStable.DeleteRange(first, last) })
}

func (g *guard) Set(key, val []byte) error {
	return g.write("write state", func() error { return g.logAndStable.Set(key, val) })
}

func (g *guard) SetUint64(key []byte, val uint64) error {
	return g.write("write term", func() error { return g.logAndStable.SetUint64(key, val) })
}
