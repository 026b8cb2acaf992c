package fsm

import (
	"bytes"
	"compress/flate"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"namesrv/fsm/fsmpb"
	"namesrv/remoting/protocol"
)

const (
	// MaxUpload is how long a saved snapshot may be, in bytes as it travels through
	// the log.
	MaxUpload = 512 << 20

	// UploadPart is the size of the parts it is cut into, in bytes: small beside
	// what one log entry may hold, since other entries wait behind each.
	UploadPart = 1 << 20

	maxInflatedUpload = 4 << 30
)

// Remarks of refused steps of a restore.
const (
	remarkUploadLarge   = "restore refused: the snapshot is too large"
	remarkUploadUnknown = "restore refused: another one has begun since, or none"
	remarkUploadOffset  = "restore refused: a part is missing"
	remarkUploadBad     = "restore refused: "
)

// upload is a saved snapshot on its way through the log. It never changes; a part
// makes a new one that shares the parts before.
type upload struct {
	id       string
	size     uint64 // bytes of all parts
	checksum uint32
	inflated uint64

	have  uint64
	parts [][]byte
}

func newUpload(m *fsmpb.RestoreBegin) *upload {
	return &upload{id: string(m.Id), size: m.Size, checksum: m.Checksum, inflated: m.Inflated}
}

func (u *upload) tooLarge() bool { return u.size > MaxUpload || u.inflated > maxInflatedUpload }

// announces tells whether two uploads began alike.
func (u *upload) announces(o *upload) bool {
	return u.id == o.id && u.size == o.size && u.checksum == o.checksum && u.inflated == o.inflated
}

// with returns the upload with one more part, nil when that is more than announced.
func (u *upload) with(data []byte) *upload {
	if u.size-u.have < uint64(len(data)) {
		return nil
	}
	next := *u
	next.have += uint64(len(data))
	next.parts = append(u.parts[:len(u.parts):len(u.parts)], data)
	return &next
}

// state decodes the complete snapshot.
func (u *upload) state() (*State, error) {
	if u.have != u.size {
		return nil, fmt.Errorf("%w: %d bytes of %d", ErrBadSnapshot, u.have, u.size)
	}
	sum := uint32(0)
	readers := make([]io.Reader, len(u.parts))
	for i, part := range u.parts {
		sum = crc32.Update(sum, castagnoli, part)
		readers[i] = bytes.NewReader(part)
	}
	if sum != u.checksum {
		return nil, fmt.Errorf("%w: wrong checksum of the parts", ErrBadSnapshot)
	}
	plain := &io.LimitedReader{R: flate.NewReader(io.MultiReader(readers...)), N: int64(u.inflated)}
	s, _, err := readSnapshot(plain)
	return s, err
}

// UploadStep is one command of a restore.
type UploadStep struct {
	Command []byte
	Have    uint64 // bytes of the upload that there are after it; see [State.Uploading]
	Last    bool   // it puts the tables in place; see [State.Restored]
}

// EncodeUpload returns the commands that restore a saved snapshot, as
// [State.WriteSnapshot] wrote it, in the order in which they are to be logged. The
// id must be another one each time. It refuses what could not be restored.
func EncodeUpload(id string, snapshot []byte) ([]UploadStep, error) {
	if _, _, err := readSnapshot(bytes.NewReader(snapshot)); err != nil {
		return nil, fmt.Errorf("restore: %w", err)
	}
	data := deflate(snapshot)
	begin := &fsmpb.RestoreBegin{Id: []byte(id), Size: uint64(len(data)), Checksum: crc32.Checksum(data, castagnoli), Inflated: uint64(len(snapshot))}
	if newUpload(begin).tooLarge() {
		return nil, fmt.Errorf("restore: %w: %d bytes, compressed to %d", ErrTooLarge, len(snapshot), len(data))
	}
	steps := []UploadStep{{Command: encodeCommand(&fsmpb.Command{Kind: &fsmpb.Command_RestoreBegin{RestoreBegin: begin}})}}
	for at := 0; at < len(data); at += UploadPart {
		part := &fsmpb.RestorePart{Id: []byte(id), Offset: uint64(at), Data: data[at:min(at+UploadPart, len(data))]}
		steps = append(steps, UploadStep{
			Command: encodeCommand(&fsmpb.Command{Kind: &fsmpb.Command_RestorePart{RestorePart: part}}),
			Have:    uint64(at + len(part.Data)),
		})
	}
	commit := &fsmpb.RestoreCommit{Id: []byte(id)}
	return append(steps, UploadStep{
		Command: encodeCommand(&fsmpb.Command{Kind: &fsmpb.Command_RestoreCommit{RestoreCommit: commit}}),
		Have:    uint64(len(data)), Last: true,
	}), nil
}

// EncodeDropUpload returns the command that ends a restore which nobody goes on
// with. It has no effect on another one, nor on one of which more than haveAtMost
// bytes have arrived.
func EncodeDropUpload(id string, haveAtMost uint64) []byte {
	return encodeCommand(&fsmpb.Command{Kind: &fsmpb.Command_RestoreDrop{
		RestoreDrop: &fsmpb.RestoreDrop{Id: []byte(id), HaveAtMost: haveAtMost},
	}})
}

// ErrTooLarge says that a snapshot is over [MaxUpload].
var ErrTooLarge = errors.New("snapshot too large")

// Uploading returns the id of the restore that is under way and how many bytes of
// it there are; an empty id when none is.
func (s *State) Uploading() (id string, bytes uint64) {
	if s.upload == nil {
		return "", 0
	}
	return s.upload.id, s.upload.have
}

// Restored returns the id of the restore that was committed last, "" when none was.
func (s *State) Restored() string { return s.restored }

// WithoutUpload returns the state without anything about restores: what a backup
// holds.
func (s *State) WithoutUpload() *State {
	d := s.edit()
	d.upload, d.restored = nil, ""
	return d.commit()
}

type restoreBegin struct{ *upload }

// apply drops a restore that had begun before: whoever began it is told with its
// next step. A late copy of the beginning of the one that is under way, or of the one
// that was committed last, does nothing.
func (c restoreBegin) apply(s *State, _ uint64) (*State, Result) {
	if c.tooLarge() {
		return s, Result{Code: protocol.SystemError, Remark: remarkUploadLarge}
	}
	if old := s.upload; s.restored == c.id || old != nil && old.announces(c.upload) {
		return s, Result{Code: protocol.Success}
	}
	d := s.edit()
	d.upload = c.upload
	return d.commit(), Result{Code: protocol.Success, Changed: true}
}

type restorePart struct {
	id     string
	offset uint64
	data   []byte
}

func (c restorePart) apply(s *State, _ uint64) (*State, Result) {
	switch u := s.upload; {
	case u == nil || u.id != c.id:
		return s, Result{Code: protocol.SystemError, Remark: remarkUploadUnknown}
	case u.have != c.offset || len(c.data) == 0:
		return s, Result{Code: protocol.SystemError, Remark: remarkUploadOffset}
	}
	next := s.upload.with(c.data)
	if next == nil {
		return s, Result{Code: protocol.SystemError, Remark: remarkUploadLarge}
	}
	d := s.edit()
	d.upload = next
	return d.commit(), Result{Code: protocol.Success, Changed: true}
}

type restoreDrop struct {
	id         string
	haveAtMost uint64
}

func (c restoreDrop) apply(s *State, _ uint64) (*State, Result) {
	if s.upload == nil || s.upload.id != c.id || s.upload.have > c.haveAtMost {
		return s, Result{Code: protocol.Success}
	}
	d := s.edit()
	d.upload = nil
	return d.commit(), Result{Code: protocol.Success, Changed: true}
}

type restoreCommit struct{ id string }

// apply puts the tables of the snapshot in the place of those that are there; the
// settings stay. A snapshot of a newer binary panics as an unknown command does:
// peers that understand it take it.
func (c restoreCommit) apply(s *State, index uint64) (*State, Result) {
	if s.upload == nil || s.upload.id != c.id {
		return s, Result{Code: protocol.SystemError, Remark: remarkUploadUnknown}
	}
	saved, err := s.upload.state()
	if errors.Is(err, ErrSnapshotVersion) {
		panic(fmt.Errorf("%w: %w", ErrUnknownCommand, err))
	}
	if err != nil {
		d := s.edit()
		d.upload = nil
		return d.commit(), Result{Code: protocol.SystemError, Remark: remarkUploadBad + err.Error(), Changed: true}
	}
	return s.restoredFrom(saved, c.id, index), Result{Code: protocol.Success, Count: saved.lives.len(), Changed: true}
}

// restoredFrom returns the saved tables under the settings of s. Every address
// begins anew at index: what was decided about it before has no effect.
func (s *State) restoredFrom(saved *State, id string, index uint64) *State {
	d := saved.edit()
	for key, l := range saved.lives.pairs() {
		next := *l
		next.Registered, next.Birth = index, index
		d.lives.put(key, &next)
	}
	d.options, d.initialized, d.upload, d.restored = s.options, s.initialized, nil, id
	return d.commit()
}

func (sw *snapshotWriter) upload(u *upload) {
	if u == nil {
		return
	}
	sw.record(&fsmpb.Record{Kind: &fsmpb.Record_Restoring{Restoring: &fsmpb.RestoreBegin{
		Id: []byte(u.id), Size: u.size, Checksum: u.checksum, Inflated: u.inflated,
	}}})
	for _, part := range u.parts {
		sw.record(&fsmpb.Record{Kind: &fsmpb.Record_RestorePart{RestorePart: part}})
	}
}
