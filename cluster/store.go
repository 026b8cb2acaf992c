package cluster

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
	"go.etcd.io/bbolt"
)

const (
	logFile      = "raft.db"
	snapshotsDir = "snapshots"
	lockWait     = 5 * time.Second
)

// disk is what Raft keeps: log, term and vote in one bbolt file, snapshots as files.
type disk struct {
	bolt      *raftboltdb.BoltStore
	guard     *guard
	snapshots raft.SnapshotStore
}

func (n *Node) openDisk() (*disk, error) {
	bolt, err := raftboltdb.New(raftboltdb.Options{
		Path: filepath.Join(n.cfg.DataDir, logFile),
		BoltOptions: &bbolt.Options{
			Timeout:        lockWait,
			NoFreelistSync: true, // the list of free pages is rebuilt at start; written with each commit it makes large logs slow
			FreelistType:   bbolt.FreelistMapType,
		},
	})
	if err != nil {
		return nil, fmt.Errorf("open the Raft log: %w", err)
	}
	snaps, err := raft.NewFileSnapshotStoreWithLogger(n.cfg.DataDir, snapshotsKept, n.log.Named("snapshot"))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open snapshots: %w", err), bolt.Close())
	}
	return &disk{bolt: bolt, guard: newGuard(bolt, n.fail), snapshots: snaps}, nil
}
