package cluster

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
)

// Config is what a Node is opened with. It is not changed afterwards.
type Config struct {
	NodeID  string // name given by the operator; kept in the data directory
	DataDir string

	Listener  net.Listener // the peer port, already bound; the Node closes it
	Advertise string       // HOST:PORT at which other peers reach Listener; a name is resolved at each dial
	TLS       *tls.Config  // for both directions of the peer port; nil = plain

	// Expect and Join form a new cluster: the same list of exactly Expect
	// addresses at each peer, Advertise among them. Single makes a cluster of
	// one. With neither, the node waits to be admitted.
	Single bool
	Expect int
	Join   []string

	// Facts are what this peer would start a new cluster with. Peers that form one
	// may lack some of each other's, but not differ: a difference is refused with
	// its keys named.
	Facts map[string]string
	// Init makes the state machine's first command of the facts of all peers that
	// form the cluster. It is proposed once.
	Init func(facts map[string]string) []byte

	ClientAddr string // told to the other members
	AdminAddr  string
	Version    string

	Profile Profile // zero = LAN

	Machine StateMachine
	Renewer Renewer
	// Lead runs while this node leads and has applied an entry of its own term;
	// its context ends with the leadership. Required.
	Lead func(ctx context.Context, lead Leadership)
	// Serve answers messages that [Node.AskLeader] sends to this node.
	Serve func(from string, payload []byte) ([]byte, error)
	// Fatal is called once, when this process must not go on (a disk that
	// failed, a command from a newer version). It must not call Node methods.
	Fatal func(error)
	// Removed is called once, a second before Fatal, when the group has removed this
	// node: its clients had better go elsewhere. Optional; it must not wait.
	Removed func()

	Logger hclog.Logger
}

// StateMachine is what the log's commands change.
type StateMachine interface {
	// Knows is the newest feature level of which Apply takes commands; at least 1.
	Knows() uint32
	// Needs is the feature level that a command asks of every voter; at least 1.
	Needs(command []byte) uint32
	// Apply changes the state; it must be a pure function of all commands so far.
	// An error means that this binary cannot know what the command does: the
	// process stops rather than differ from its peers.
	Apply(index uint64, command []byte) (result []byte, err error)
	// Snapshot returns at once; the function it returns writes the state as it was
	// then, beside later calls of Apply.
	Snapshot() func(w io.Writer) error
	// Restore replaces the state, or changes nothing and returns an error.
	Restore(r io.Reader) error
}

// Renewer keeps the leader's clock of who was heard from.
type Renewer interface {
	// Renew moves the deadlines of keys that were heard by a member, and returns
	// those that it does not know or that are being removed.
	Renew(member string, keys []string) (refused []string)
}

// Leadership is one uninterrupted time of leading.
type Leadership struct {
	Node *Node
	Term uint64
}

// Profile holds Raft's timing.
type Profile struct {
	Heartbeat, Election, Lease time.Duration
}

// LAN and WAN are the profiles of --raft-profile. The lease is as long as Raft allows
// it to be: a busy machine misses a shorter one without any fault, which costs a
// leader. It has no part in what is called confirmed ([Node.Confirm]), nor in how
// soon a lost leader is replaced: that is the others' heartbeat timeout.
var (
	LAN = Profile{Heartbeat: 500 * time.Millisecond, Election: 500 * time.Millisecond, Lease: 500 * time.Millisecond}
	WAN = Profile{Heartbeat: 5 * time.Second, Election: 5 * time.Second, Lease: 5 * time.Second}
)

// Validate says what is wrong with a Config, in the words of the command line.
func (c *Config) Validate() error {
	if c.NodeID == "" || c.DataDir == "" || c.Listener == nil || c.Machine == nil || c.Init == nil || c.Renewer == nil || c.Lead == nil || c.Serve == nil || c.Fatal == nil || c.Logger == nil {
		return errors.New("cluster: NodeID, DataDir, Listener, Machine, Init, Renewer, Lead, Serve, Fatal and Logger are required")
	}
	if err := checkAdvertise(c.Advertise); err != nil {
		return err
	}
	if c.Single && (c.Expect != 0 || len(c.Join) != 0) {
		return errors.New("a cluster of one takes neither --bootstrap-expect nor --join")
	}
	if c.Expect == 0 {
		return nil
	}
	list := slices.Clone(c.Join)
	slices.Sort(list)
	list = slices.Compact(list)
	if len(list) != c.Expect || len(c.Join) != c.Expect {
		return fmt.Errorf("--bootstrap-expect %d needs a --join list of exactly %d different addresses, not %d", c.Expect, c.Expect, len(list))
	}
	if !slices.Contains(list, c.Advertise) {
		return fmt.Errorf("--join must name this peer too: %s (its --peer-advertise) is not in the list", c.Advertise)
	}
	return nil
}

func checkAdvertise(addr string) error {
	host, port, err := net.SplitHostPort(addr)
	if err != nil || port == "" || port == "0" {
		return fmt.Errorf("--peer-advertise %q is not HOST:PORT", addr)
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		return fmt.Errorf("--peer-advertise %q names no host that other peers could reach", addr)
	}
	return nil
}

const (
	commitTimeout    = 5 * time.Millisecond // a follower learns of a commit this soon after it when writes are sparse
	maxAppendEntries = 64                   // and maxAppendBytes
	transportTimeout = 30 * time.Second
	transportPool    = 3 // idle connections kept to each member
	snapshotEvery    = 8192
	trailingLogs     = 10240
	snapshotsKept    = 2
)

func (c *Config) profile() Profile {
	if c.Profile == (Profile{}) {
		return LAN
	}
	return c.Profile
}

func (c *Config) raftConfig(member string, notify chan<- bool) *raft.Config {
	p := c.profile()
	rc := raft.DefaultConfig()
	rc.LocalID = raft.ServerID(member)
	rc.HeartbeatTimeout, rc.ElectionTimeout, rc.LeaderLeaseTimeout = p.Heartbeat, p.Election, p.Lease
	rc.CommitTimeout = commitTimeout
	rc.MaxAppendEntries = maxAppendEntries
	rc.BatchApplyCh = true
	rc.SnapshotThreshold, rc.TrailingLogs = snapshotEvery, trailingLogs
	rc.ShutdownOnRemove = false
	rc.NoLegacyTelemetry = true
	rc.NotifyCh = notify
	rc.Logger = calmLogger{Logger: c.Logger.Named("raft")}
	return rc
}
