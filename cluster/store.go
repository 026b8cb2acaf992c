package cluster

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
	"go.etcd.io/bbolt"
)

const (
	logFile  = "raft.db"
	lockWait = 5 * time.Second
)

// disk is what Raft keeps: log, term and vote in one bbolt file, snapshots as files.
type disk struct {
	bolt      *raftboltdb.BoltStore
	guard     *guard
	snapshots raft.SnapshotStore
}

func (n *Node) openDisk() (*disk, error) {
	d, err := openDisk(n.cfg.DataDir, n.log, n.fail)
	if err == nil {
		d.guard.wrote = n.stats.wrote
	}
	return d, err
}

func openDisk(dir string, log hclog.Logger, fail func(error)) (*disk, error) {
	path := filepath.Join(dir, logFile)
	if err := readable(path); err != nil {
		return nil, err
	}
	bolt, err := raftboltdb.New(raftboltdb.Options{
		Path: path,
		BoltOptions: &bbolt.Options{
			Timeout:        lockWait,
			NoFreelistSync: true, // the list of free pages is rebuilt at start; written with each commit it makes large logs slow
			FreelistType:   bbolt.FreelistMapType,
		},
	})
	if err != nil {
		return nil, fmt.Errorf("open the Raft log: %w", err)
	}
	snaps, err := raft.NewFileSnapshotStoreWithLogger(dir, snapshotsKept, log.Named("snapshot"))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open snapshots: %w", err), bolt.Close())
	}
	return &disk{bolt: bolt, guard: newGuard(bolt, fail), snapshots: snaps}, nil
}

// bootstrap writes the first configuration, with this member as the only voter,
// into an empty log. Raft writes the term first and the configuration in a second
// step: a directory where only the first happened has state enough to be refused
// by Raft, and none to run with, so the second is done here.
func (d *disk) bootstrap(rc *raft.Config, trans raft.Transport, addr string) error {
	self := raft.Configuration{Servers: []raft.Server{{ID: rc.LocalID, Address: raft.ServerAddress(addr)}}}
	err := raft.BootstrapCluster(rc, d.guard, d.guard, d.snapshots, trans, self)
	if !errors.Is(err, raft.ErrCantBootstrap) {
		return err
	}
	last, err := d.guard.LastIndex()
	if err != nil || last > 0 {
		return err
	}
	snaps, err := d.snapshots.List()
	if err != nil || len(snaps) > 0 {
		return err
	}
	return d.guard.StoreLog(&raft.Log{Index: 1, Term: 1, Type: raft.LogConfiguration, Data: raft.EncodeConfiguration(self)})
}
