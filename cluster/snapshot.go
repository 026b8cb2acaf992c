package cluster

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"slices"

	"github.com/hashicorp/raft"
	"google.golang.org/protobuf/proto"

	"namesrv/cluster/clusterpb"
)

// A snapshot file is: magic, format version (1 byte), length of the cluster's
// own State (4 bytes, big endian), its CRC-32C (4 bytes), the State, and then
// what the state machine writes, which guards itself.
const (
	snapshotMagic   = "namesrv\x00"
	snapshotVersion = 1
	maxStateSize    = 16 << 20
)

// ErrNewerSnapshot is what a StateMachine wraps when it is to restore what a newer
// binary wrote. The member then ends: Raft by itself would go on without the snapshot
// or ask for it again and again.
var ErrNewerSnapshot = errors.New("snapshot of a newer version")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

type snapshot struct {
	own []byte
	app func(io.Writer) error
}

func encodeState(v view, index uint64) []byte {
	st := &clusterpb.State{Uuid: v.uuid, Formed: v.formed, Applied: index, Level: v.level}
	for _, id := range slices.Sorted(maps.Keys(v.peers)) {
		st.Peers = append(st.Peers, v.peers[id])
	}
	v.group.store(st)
	raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(st)
	if err != nil {
		panic(fmt.Sprintf("cluster: encode own state: %v", err)) // strings were valid UTF-8 when they were decoded
	}
	out := append([]byte(snapshotMagic), snapshotVersion)
	out = binary.BigEndian.AppendUint32(out, uint32(len(raw)))
	out = binary.BigEndian.AppendUint32(out, crc32.Checksum(raw, castagnoli))
	return append(out, raw...)
}

func readState(r io.Reader) (*clusterpb.State, error) {
	head := make([]byte, len(snapshotMagic)+9)
	if _, err := io.ReadFull(r, head); err != nil {
		return nil, fmt.Errorf("%w: %w", errSnapshotDamaged, err)
	}
	if string(head[:len(snapshotMagic)]) != snapshotMagic {
		return nil, fmt.Errorf("%w: not a namesrv snapshot", errSnapshotDamaged)
	}
	rest := head[len(snapshotMagic):]
	switch {
	case rest[0] > snapshotVersion:
		return nil, fmt.Errorf("%w: format %d, this binary knows %d: use a newer namesrv", ErrNewerSnapshot, rest[0], snapshotVersion)
	case rest[0] == 0:
		return nil, fmt.Errorf("%w: format 0", errSnapshotDamaged)
	}
	size := binary.BigEndian.Uint32(rest[1:])
	if size > maxStateSize {
		return nil, fmt.Errorf("%w: state of %d bytes", errSnapshotDamaged, size)
	}
	raw := make([]byte, size)
	if _, err := io.ReadFull(r, raw); err != nil {
		return nil, fmt.Errorf("%w: %w", errSnapshotDamaged, err)
	}
	if crc32.Checksum(raw, castagnoli) != binary.BigEndian.Uint32(rest[5:]) {
		return nil, fmt.Errorf("%w: checksum differs", errSnapshotDamaged)
	}
	st := new(clusterpb.State)
	if err := proto.Unmarshal(raw, st); err != nil {
		return nil, fmt.Errorf("%w: %w", errSnapshotDamaged, err)
	}
	return st, nil
}

// Persist implements raft.FSMSnapshot.
func (s *snapshot) Persist(sink raft.SnapshotSink) error {
	_, err := sink.Write(s.own)
	if err == nil {
		err = s.app(sink)
	}
	if err != nil {
		sink.Cancel()
		return fmt.Errorf("write snapshot: %w", err)
	}
	return sink.Close()
}

// Release implements raft.FSMSnapshot.
func (s *snapshot) Release() {}
