package admin

import (
	"context"
	"encoding/json"
	"errors"
	"time"
)

// ErrNoLeader is what a Cluster or Tables wraps when it could not reach a leader
// and therefore changed nothing; also found, by errors.Is, in a Client's error.
var ErrNoLeader = errors.New("no leader")

// ErrRefused is what a Cluster or Tables wraps when a change would do harm or makes
// no sense: nothing was changed, and the text says why and what to do instead.
var ErrRefused = errors.New("refused")

// Cluster is what the API asks about the group of peers, and of it.
type Cluster interface {
	// Members lists the peers of the group, sorted by id.
	Members(ctx context.Context) ([]Member, error)
	// Status describes this peer. It must answer without a leader. Ready and
	// NotReady are filled in by the handler.
	Status(ctx context.Context) (Status, error)
	// NotReady gives the reasons why this peer should get no requests, one short
	// line each; none when it is ready. It must not block.
	NotReady() []string
	// ClientAddresses are the HOST:PORT at which clients and brokers reach the
	// voting members, as far as known. It must not block.
	ClientAddresses() []string

	// Join makes a waiting peer a member, or gives a member a new address. It
	// returns when it is one; its vote follows when it has caught up.
	Join(ctx context.Context, req JoinRequest) (Change, error)
	// Remove takes a member out, named by its node id or full id. Without force it
	// refuses to leave fewer reachable voters than must be.
	Remove(ctx context.Context, id string, force bool) (Change, error)
	// Transfer gives the leadership to a member, or to any other when id is "".
	Transfer(ctx context.Context, id string) (Change, error)
}

// Tables is what the API reads and changes of the replicated tables. Changes
// return when this peer's own tables show them. The error of a change of what does
// not exist is an Error of KindNotFound.
type Tables interface {
	GetKV(ctx context.Context, namespace, key string) (value string, found bool, err error)
	PutKV(ctx context.Context, namespace, key, value string) error
	DeleteKV(ctx context.Context, namespace, key string) error
	// ListKV returns all keys of a namespace; found is false where there is no such namespace.
	ListKV(ctx context.Context, namespace string) (values map[string]string, found bool, err error)

	// Topics returns the names of all topics, sorted.
	Topics(ctx context.Context) ([]string, error)
	// Route returns the route of a topic in the standard dialect.
	Route(ctx context.Context, topic string) (route json.RawMessage, found bool, err error)
	// DeleteTopic removes a topic from one cluster, or from all when cluster is "".
	DeleteTopic(ctx context.Context, topic, cluster string) error

	// Brokers returns every registered broker address.
	Brokers(ctx context.Context) ([]Broker, error)
	// WipeWrite takes the write permission from a broker's queues, AddWrite gives
	// it back; both return how many topics were changed.
	WipeWrite(ctx context.Context, broker string) (int, error)
	AddWrite(ctx context.Context, broker string) (int, error)

	// AllKV returns the KV table of every namespace.
	AllKV(ctx context.Context) (map[string]map[string]string, error)
	// Settings returns what this peer uses, by name, without secrets.
	Settings(ctx context.Context) ([]Setting, error)
	// SetSettings changes all of the given settings, or none.
	SetSettings(ctx context.Context, changes map[string]string) error

	// SaveSnapshot copies the tables; they show everything that was committed before.
	// Its Cluster is filled in by the handler.
	SaveSnapshot(ctx context.Context) (Snapshot, error)
	// RestoreSnapshot replaces the tables at every peer, or nothing, and returns how
	// many broker addresses they hold. The id names the restore for RestoreState.
	RestoreSnapshot(ctx context.Context, id string, data []byte) (addresses int, err error)
	// RestoreState tells what became of restores.
	RestoreState(ctx context.Context) (RestoreState, error)
}

// Member is one peer of the group.
type Member struct {
	ID        string `json:"id"`         // as given by --node-id
	Member    string `json:"member"`     // id in the Raft configuration
	Peer      string `json:"peer"`       // address for other peers
	Client    string `json:"client"`     // address for clients and brokers, "" while unknown
	Admin     string `json:"admin"`      // address of its HTTP port, "" while unknown
	Voter     bool   `json:"voter"`      // counts for majorities
	Leader    bool   `json:"leader"`     // leads at the moment
	Reachable bool   `json:"reachable"`  // was heard by the leader lately
	LastIndex uint64 `json:"last_index"` // its newest log entry; 0 here and null in JSON where it cannot be reached
	Lag       uint64 `json:"lag"`        // entries it is behind the furthest; the same
	Version   string `json:"version"`    // of its program, "" while unknown
}

// Status is one peer's view of itself and of its group.
type Status struct {
	ID           string    `json:"id"`
	Member       string    `json:"member"`
	Cluster      string    `json:"cluster"` // UUID, "" before the group was formed
	State        string    `json:"state"`   // leader, follower, candidate, …
	Term         uint64    `json:"term"`
	Leader       string    `json:"leader"` // node id, "" when none is known
	AppliedIndex uint64    `json:"applied_index"`
	CommitIndex  uint64    `json:"commit_index"`
	LastIndex    uint64    `json:"last_index"`
	Voters       int       `json:"voters"`
	Formed       bool      `json:"formed"`              // false until all founders vote
	LastContact  int64     `json:"last_contact_ms"`     // since this peer heard from the leader; 0 at the leader, -1 before the first time
	Snapshot     uint64    `json:"snapshot_index"`      // last entry in the newest snapshot, 0 before the first
	LogBytes     int64     `json:"log_bytes"`           // size of the log's file
	Topics       int       `json:"topics"`              // with a route
	Brokers      int       `json:"broker_addresses"`    // registered
	Sessions     int       `json:"broker_sessions"`     // of them, those with a connection to this peer
	Connections  int       `json:"connections"`         // to the client port
	Unconfirmed  uint64    `json:"unconfirmed_answers"` // from the last known state, for want of a leader, since the start
	Ready        bool      `json:"ready"`
	NotReady     []string  `json:"not_ready"`     // why not, empty when ready
	FeatureLevel uint32    `json:"feature_level"` // what the binaries of all voters know; it never goes down
	KnownLevel   uint32    `json:"known_level"`   // the newest that this peer's binary knows
	Linearizable bool      `json:"linearizable"`  // false while answers come from the last known state
	Version      string    `json:"version"`
	Started      time.Time `json:"started"`
}

// Broker is one registered broker address.
type Broker struct {
	Name         string      `json:"name"`
	Cluster      string      `json:"cluster"`
	Zone         string      `json:"zone"`
	ActingMaster bool        `json:"acting_master"` // may stand in for a lost master
	ID           int64       `json:"id"`            // 0 is the master
	Address      string      `json:"address"`
	TimeoutMS    int64       `json:"timeout_ms"` // silence after which it is removed
	DataVersion  DataVersion `json:"data_version"`
	Registered   uint64      `json:"registered"` // log index of its last logged registration
}

// DataVersion is the version of a broker's topic table, as the broker counts it.
type DataVersion struct {
	StateVersion int64 `json:"state_version"`
	Timestamp    int64 `json:"timestamp"` // milliseconds since 1970
	Counter      int64 `json:"counter"`
}

// KV is one stored value.
type KV struct {
	Namespace string `json:"namespace"`
	Key       string `json:"key"`
	Value     string `json:"value"`
}

// putBody is the body of a KV put. A pointer tells a missing value from an empty one.
type putBody struct {
	Value *string `json:"value"`
}

// countBody is the answer to a change of permissions.
type countBody struct {
	Count int `json:"count"`
}
