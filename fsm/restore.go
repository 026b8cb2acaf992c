package fsm

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"

	"google.golang.org/protobuf/proto"

	"namesrv/fsm/fsmpb"
)

// Errors of snapshots that cannot be restored.
var (
	// ErrSnapshotVersion says that a snapshot was written by a newer binary.
	ErrSnapshotVersion = errors.New("snapshot of a newer version: use a newer namesrv")

	// ErrBadSnapshot says that a snapshot is damaged, cut short, followed by
	// something else, or contradicts itself.
	ErrBadSnapshot = errors.New("snapshot is damaged")
)

// maxRecord is far above any record written; memory is taken as data arrives.
const maxRecord = 1 << 30

// RestoreSnapshot replaces the state by one that [State.WriteSnapshot] wrote,
// and returns the index given there. The stream must end with the snapshot.
// Everything is read and checked first: after an error, which wraps
// [ErrBadSnapshot], [ErrSnapshotVersion] or what r returned, the state is what
// it was.
func (f *FSM) RestoreSnapshot(r io.Reader) (index uint64, err error) {
	s, index, err := readSnapshot(r)
	if err != nil {
		return 0, fmt.Errorf("restore: %w", err)
	}
	f.state.Store(s)
	return index, nil
}

func readSnapshot(r io.Reader) (*State, uint64, error) {
	sr := &snapshotReader{r: bufio.NewReaderSize(r, 64<<10), sum: crc32.New(castagnoli)}
	index, err := sr.header()
	if err != nil {
		return nil, 0, err
	}
	l := newLoader()
	for {
		m, err := sr.record()
		if err != nil {
			return nil, 0, err
		}
		if m == nil {
			break
		}
		if err := l.add(m); err != nil {
			return nil, 0, fmt.Errorf("%w: %w", ErrBadSnapshot, err)
		}
	}
	if err := sr.trailer(); err != nil {
		return nil, 0, err
	}
	s, err := l.finish()
	if err != nil {
		return nil, 0, fmt.Errorf("%w: %w", ErrBadSnapshot, err)
	}
	return s, index, nil
}

// snapshotReader takes the stream apart and sums up what it read.
type snapshotReader struct {
	r   *bufio.Reader
	sum hash.Hash32
	buf bytes.Buffer
}

// Read and ReadByte make the sum complete whichever way bytes are read.
func (sr *snapshotReader) Read(p []byte) (int, error) {
	n, err := sr.r.Read(p)
	sr.sum.Write(p[:n])
	return n, err
}

func (sr *snapshotReader) ReadByte() (byte, error) {
	b, err := sr.r.ReadByte()
	if err == nil {
		sr.sum.Write([]byte{b})
	}
	return b, err
}

func (sr *snapshotReader) header() (uint64, error) {
	head := make([]byte, len(snapshotMagic)+4+8)
	if _, err := io.ReadFull(sr, head); err != nil {
		return 0, cutShort(err)
	}
	magic, rest := head[:len(snapshotMagic)], head[len(snapshotMagic):]
	if string(magic) != snapshotMagic {
		return 0, fmt.Errorf("%w: it does not begin as one", ErrBadSnapshot)
	}
	switch version := binary.BigEndian.Uint32(rest); {
	case version > snapshotVersion:
		return 0, fmt.Errorf("%w: format %d, newest known %d", ErrSnapshotVersion, version, snapshotVersion)
	case version == 0:
		return 0, fmt.Errorf("%w: format 0", ErrBadSnapshot)
	}
	return binary.BigEndian.Uint64(rest[4:]), nil
}

// record returns the next record, nil at the end mark.
func (sr *snapshotReader) record() (*fsmpb.Record, error) {
	n, err := binary.ReadUvarint(sr)
	if err != nil {
		return nil, cutShort(err)
	}
	if n == 0 {
		return nil, nil
	}
	if n > maxRecord {
		return nil, fmt.Errorf("%w: record of %d bytes", ErrBadSnapshot, n)
	}
	sr.buf.Reset()
	if _, err := io.CopyN(&sr.buf, sr, int64(n)); err != nil {
		return nil, cutShort(err)
	}
	m := new(fsmpb.Record)
	if err := proto.Unmarshal(sr.buf.Bytes(), m); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBadSnapshot, err)
	}
	if hasUnknown(m.ProtoReflect()) {
		return nil, fmt.Errorf("%w: a record has unknown fields", ErrSnapshotVersion)
	}
	return m, nil
}

func (sr *snapshotReader) trailer() error {
	want := sr.sum.Sum32()
	var sum [4]byte
	if _, err := io.ReadFull(sr.r, sum[:]); err != nil {
		return cutShort(err)
	}
	if binary.BigEndian.Uint32(sum[:]) != want {
		return fmt.Errorf("%w: wrong checksum", ErrBadSnapshot)
	}
	switch _, err := sr.r.ReadByte(); {
	case err == nil:
		return fmt.Errorf("%w: it goes on after its end", ErrBadSnapshot)
	case err != io.EOF:
		return err
	}
	return nil
}

func cutShort(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: cut short", ErrBadSnapshot)
	}
	return err
}
