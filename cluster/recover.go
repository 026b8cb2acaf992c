package cluster

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"namesrv/cluster/clusterpb"
)

// ErrNothingToRecover says that a data directory holds no tables of a cluster.
var ErrNothingToRecover = errors.New("nothing to recover")

// Survey is what a data directory holds, seen while no process uses it. Of several
// survivors the one with the highest LastTerm, and among those with the highest
// LastIndex, has all that was ever acknowledged.
type Survey struct {
	NodeID, MemberID, UUID string
	Removed                bool // the cluster had removed this member
	LastTerm, LastIndex    uint64
	Members                []string // member ids of the newest configuration in the log
	Advertise              string   // HOST:PORT at which that configuration has this member; "" when it does not
}

// RecoverConfig is what a group is rebuilt with.
type RecoverConfig struct {
	DataDir   string
	Advertise string // HOST:PORT of this peer from now on; "" = as in the log
	Machine   StateMachine
	Logger    hclog.Logger
}

// SurveyDir looks into a data directory and changes nothing. ErrInUse says that a
// process has it open.
func SurveyDir(dir string, log hclog.Logger) (Survey, error) {
	o, err := openOffline(dir, log)
	if err != nil {
		return Survey{}, err
	}
	s, err := o.survey()
	return s, errors.Join(err, o.close())
}

// Recover makes of a data directory a cluster of its member alone, with all that
// its log holds, and returns what it found before. The cluster gets a new UUID: a
// lost majority that comes back is refused by it and cannot write into it. It may be
// run again after it was interrupted.
func Recover(cfg RecoverConfig) (before Survey, uuid string, err error) {
	o, err := openOffline(cfg.DataDir, cfg.Logger)
	if err != nil {
		return Survey{}, "", err
	}
	defer func() { err = errors.Join(err, o.close()) }()
	if before, err = o.survey(); err != nil {
		return before, "", err
	}
	advertise := cfg.Advertise
	if advertise == "" {
		advertise = before.Advertise
	}
	if err := checkAdvertise(advertise); err != nil {
		return before, "", fmt.Errorf("the log does not say where other peers reach this one: %w", err)
	}
	uuid = newUUID()
	if err := o.rewrite(cfg, before, uuid, advertise); err != nil {
		return before, "", err
	}
	// The identity comes last: until then the log and it name different clusters,
	// and the peer refuses to start.
	id := identity{NodeID: o.id.NodeID, MemberID: o.id.MemberID, UUID: uuid, Former: append(o.id.Former, o.id.UUID)}
	return before, uuid, id.save(cfg.DataDir)
}

// offline is a data directory opened without running Raft.
type offline struct {
	id   identity
	lock *os.File
	disk *disk
}

func openOffline(dir string, log hclog.Logger) (*offline, error) {
	id := peek(dir)
	if _, err := os.Stat(filepath.Join(dir, logFile)); err != nil || id.MemberID == "" || id.UUID == "" {
		return nil, fmt.Errorf("%w: %s is no data directory of a peer that was in a cluster", ErrNothingToRecover, dir)
	}
	lock, err := lockDir(dir)
	if errors.Is(err, ErrInUse) {
		return nil, fmt.Errorf("%w: stop the peer first", err)
	}
	if err != nil {
		return nil, err
	}
	d, err := openDisk(dir, log, func(error) {})
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return &offline{id: id, lock: lock, disk: d}, nil
}

func (o *offline) close() error { return errors.Join(o.disk.bolt.Close(), o.lock.Close()) }

// survey reads the newest snapshot's head and the log.
func (o *offline) survey() (Survey, error) {
	s := Survey{NodeID: o.id.NodeID, MemberID: o.id.MemberID, UUID: o.id.UUID, Removed: o.id.Removed}
	snapshots, err := o.disk.snapshots.List()
	if err != nil {
		return s, fmt.Errorf("list snapshots: %w", err)
	}
	var conf raft.Configuration
	if len(snapshots) > 0 {
		s.LastTerm, s.LastIndex, conf = snapshots[0].Term, snapshots[0].Index, snapshots[0].Configuration
	}
	last, err := o.disk.bolt.LastIndex()
	if err != nil {
		return s, fmt.Errorf("read the log: %w", err)
	}
	for index := s.LastIndex + 1; index <= last; index++ {
		var entry raft.Log
		if err := o.disk.bolt.GetLog(index, &entry); err != nil {
			return s, fmt.Errorf("read log entry %d: %w", index, err)
		}
		s.LastTerm, s.LastIndex = entry.Term, entry.Index
		if entry.Type == raft.LogConfiguration {
			conf = raft.DecodeConfiguration(entry.Data)
		}
	}
	if s.LastIndex == 0 {
		return s, fmt.Errorf("%w: its log is empty", ErrNothingToRecover)
	}
	for _, server := range sortedServers(conf) {
		s.Members = append(s.Members, string(server.ID))
		if string(server.ID) == s.MemberID {
			s.Advertise = string(server.Address)
		}
	}
	return s, nil
}

// rewrite replaces log and snapshots by one snapshot of all that they hold, in which
// this member is alone.
func (o *offline) rewrite(cfg RecoverConfig, found Survey, uuid, advertise string) error {
	conf := raft.Configuration{Servers: []raft.Server{{ID: raft.ServerID(o.id.MemberID), Address: raft.ServerAddress(advertise)}}}
	m := newMachine(cfg.Machine, identity{MemberID: o.id.MemberID}, new(applied), func(error) {})
	rec := &recovering{machine: m, conf: conf, uuid: uuid, index: found.LastIndex}
	rc := (&Config{Logger: cfg.Logger}).raftConfig(o.id.MemberID, nil)
	_, trans := raft.NewInmemTransport(raft.ServerAddress(advertise))
	defer trans.Close()
	if err := raft.RecoverCluster(rc, rec, o.disk.bolt, o.disk.bolt, o.disk.snapshots, trans, conf); err != nil {
		if broken := m.isBroken(); broken != nil {
			err = broken // Raft only says that no snapshot could be used
		}
		return fmt.Errorf("recover: %w", err)
	}
	return nil
}

// recovering is the machine while Raft replays the log into it.
type recovering struct {
	*machine
	conf  raft.Configuration
	uuid  string
	index uint64
}

// recoveredIndex is where Raft puts the configuration that it is given.
const recoveredIndex = 1

// Snapshot implements raft.FSM. It is called once, after the last entry.
func (r *recovering) Snapshot() (raft.FSMSnapshot, error) {
	if err := r.isBroken(); err != nil {
		return nil, err
	}
	if r.clusterUUID() == "" {
		return nil, fmt.Errorf("%w: its log does not even hold the first command of a cluster", ErrNothingToRecover)
	}
	self := r.conf.Servers[0].ID
	r.change(func() {
		r.machine.uuid, r.formed = r.uuid, true
		peers := make(map[string]*clusterpb.Peer)
		if p := r.peers[string(self)]; p != nil {
			peers[string(self)] = p
		}
		r.peers = peers
		r.group = membership{}
		r.group.follow(recoveredIndex, r.conf, string(self))
	})
	r.applied.set(r.index)
	return r.machine.Snapshot()
}
