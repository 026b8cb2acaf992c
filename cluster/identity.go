package cluster

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/google/renameio/v2"
)

const identityFile = "identity.json"

// identity says whose directory this is. UUID stays empty until the directory
// has formed a cluster or was admitted to one.
type identity struct {
	NodeID   string `json:"node_id"`
	MemberID string `json:"member_id"`
	UUID     string `json:"cluster_uuid,omitempty"`
	Alone    bool   `json:"formed_alone,omitempty"` // begun by a server that was told of no peers
	// Since is the log index of a committed configuration that held this member; 0
	// while it was in none.
	Since uint64 `json:"member_since,omitempty"`
	// Address is the HOST:PORT at which the group knew this member last.
	Address string `json:"peer_address,omitempty"`
	// Join is the sorted --join list with which the cluster was formed.
	Join []string `json:"formed_with,omitempty"`
	// Former are the clusters from which this one was recovered.
	Former []string `json:"recovered_from,omitempty"`
	// Removed says that a later one did not: the directory is of no use any more.
	Removed bool `json:"removed,omitempty"`
}

// NodeIDOf returns the node id that a data directory remembers; empty when it
// holds none.
func NodeIDOf(dir string) string { return peek(dir).NodeID }

// Admitted says whether a data directory belongs to a cluster.
func Admitted(dir string) bool { return peek(dir).UUID != "" }

// peek reads an identity without judging it; Open says what is wrong with it.
func peek(dir string) (id identity) {
	raw, err := os.ReadFile(filepath.Join(dir, identityFile))
	if err != nil || json.Unmarshal(raw, &id) != nil {
		return identity{}
	}
	return id
}

// loadIdentity reads the directory's identity, or makes a new one in an empty
// directory.
func loadIdentity(dir, nodeID string) (identity, error) {
	raw, err := os.ReadFile(filepath.Join(dir, identityFile))
	if errors.Is(err, os.ErrNotExist) {
		return newIdentity(dir, nodeID)
	}
	if err != nil {
		return identity{}, fmt.Errorf("read identity: %w", err)
	}
	var id identity
	if err := json.Unmarshal(raw, &id); err != nil || id.NodeID == "" || id.MemberID == "" {
		return identity{}, fmt.Errorf("%s in %s is damaged (%v): restore it from a backup, or empty the directory and let this peer join anew", identityFile, dir, err)
	}
	if id.NodeID != nodeID {
		return identity{}, fmt.Errorf("%w: %s holds node %q, this one is %q: give --node-id %s or another --data-dir", ErrOtherNode, dir, id.NodeID, nodeID, id.NodeID)
	}
	if id.Removed {
		return identity{}, removedError(id, dir)
	}
	return id, nil
}

func newIdentity(dir, nodeID string) (identity, error) {
	if _, err := os.Stat(filepath.Join(dir, logFile)); err == nil {
		return identity{}, fmt.Errorf("%s holds a Raft log but no %s: restore that file, or empty the directory and let this peer join anew", dir, identityFile)
	}
	id := identity{NodeID: nodeID, MemberID: nodeID + "-" + randomHex(4)}
	return id, id.save(dir)
}

func (id identity) save(dir string) error {
	raw, err := json.MarshalIndent(id, "", "  ")
	if err != nil {
		return fmt.Errorf("encode identity: %w", err)
	}
	if err := renameio.WriteFile(filepath.Join(dir, identityFile), append(raw, '\n'), 0o644); err != nil {
		return fmt.Errorf("write identity: %w", err)
	}
	return syncDir(dir)
}

// syncDir makes a rename in dir survive a power cut.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

func randomHex(n int) string {
	b := make([]byte, n)
	rand.Read(b) // never fails: crypto/rand ends the process instead
	return hex.EncodeToString(b)
}

// newUUID makes a random (version 4) UUID, RFC 9562.
func newUUID() string {
	b := make([]byte, 16)
	rand.Read(b)
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

func unwritable(dir string, err error) error {
	return fmt.Errorf("data directory %s cannot be written: %w: make it writable for this user, or give another --data-dir", dir, err)
}

// lockDir takes the directory for this process. The kernel lets go of it when
// the process ends, however it ends.
func lockDir(dir string) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, unwritable(dir, err)
	}
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, unwritable(dir, err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, fmt.Errorf("%w: %s", ErrInUse, dir)
	}
	return f, nil
}
