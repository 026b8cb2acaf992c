package cluster

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"time"

	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// startAnew is the way out where a directory cannot be used any more.
const startAnew = "restore it from a copy made while this peer was stopped, or empty the directory and let the peer join anew (namesrv cluster join ID HOST:PORT --replace at another one)"

// ErrLogLost says that a directory's Raft log is not the one that its identity was
// written beside. Such a member may have voted for, and acknowledged, what it does not
// know any more, so it must not vote again.
var ErrLogLost = errors.New("the Raft log is gone, or older than what this member was part of")

// readable reads all of a log file before Raft does. The library that keeps it ends the
// process where it finds a broken page, some of the time in a goroutine of its own.
func readable(path string) (err error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0 {
		return nil // a new one is made
	}
	defer func() {
		if cause := recover(); cause != nil {
			if _, stray := cause.(runtime.Error); stray { // it followed a broken page
				cause = "its pages do not fit together"
			}
			err = damagedLog(path, cause)
		}
	}()
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true)) // a page beyond the end of a file that was cut
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{ReadOnly: true, Timeout: lockWait})
	switch {
	case errors.Is(err, bolterrors.ErrTimeout):
		return fmt.Errorf("open %s: another process has it open: nothing was changed", path)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("open %s: %w", path, err)
	case err != nil:
		return damagedLog(path, err)
	}
	return errors.Join(db.View(readAll), db.Close())
}

func damagedLog(path string, cause any) error {
	return fmt.Errorf("%s is damaged (%v): %s", path, cause, startAnew)
}

func readAll(tx *bbolt.Tx) error {
	return tx.ForEach(func(_ []byte, b *bbolt.Bucket) error {
		return b.ForEach(func(_, _ []byte) error { return nil })
	})
}

// currentTerm is Raft's name for the term in its stable store. It is there as long as
// a member has been one: the first term begins with it.
var currentTerm = []byte("CurrentTerm")

// checkLog refuses a log that knows less than the identity beside it. since is the index
// of a configuration that held this member and had been applied here; 0 = none was.
func (d *disk) checkLog(dir string, since uint64) error {
	if since == 0 {
		return nil
	}
	term, err := d.bolt.GetUint64(currentTerm)
	if err != nil && !errors.Is(err, raftboltdb.ErrKeyNotFound) {
		return fmt.Errorf("read the term: %w", err)
	}
	last, err := d.lastIndex()
	if err != nil {
		return err
	}
	if term == 0 || last < since {
		return fmt.Errorf("%w: %s in %s ends at %d in term %d and was written up to %d at least: %s", ErrLogLost, logFile, dir, last, term, since, startAnew)
	}
	return nil
}

// lastIndex is that of the newest entry in the log or in a snapshot.
func (d *disk) lastIndex() (uint64, error) {
	last, err := d.bolt.LastIndex()
	if err != nil {
		return 0, fmt.Errorf("read the Raft log: %w", err)
	}
	snaps, err := d.snapshots.List()
	if err != nil {
		return 0, fmt.Errorf("list snapshots: %w", err)
	}
	for _, s := range snaps {
		last = max(last, s.Index)
	}
	return last, nil
}

// snapshotAdvice adds the way out to an error of Raft's start where snapshots are there
// and none could be used, which Raft says without a cause.
func (d *disk) snapshotAdvice(dir string, err error) error {
	if snaps, lerr := d.snapshots.List(); lerr == nil && len(snaps) == 0 {
		return err
	}
	return fmt.Errorf("%w; if what is in %s is damaged: %s", err, filepath.Join(dir, "snapshots"), startAnew)
}

// watchLogFile ends the process when its log file is not in the directory any more: it
// would go on acknowledging what the next start cannot know.
func (n *Node) watchLogFile() {
	path := filepath.Join(n.cfg.DataDir, logFile)
	opened, err := os.Stat(path)
	tick := time.NewTicker(writeTick)
	defer tick.Stop()
	for err == nil {
		select {
		case <-tick.C:
		case <-n.ctx.Done():
			return
		}
		var now fs.FileInfo
		if now, err = os.Stat(path); err == nil && !os.SameFile(opened, now) {
			err = fs.ErrNotExist
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		n.fail(fmt.Errorf("disk: %s was removed or replaced while this peer runs", path))
	}
}
