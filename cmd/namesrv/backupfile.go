package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"time"

	"namesrv/admin"
	"namesrv/fsm"
)

// A backup file is: magic, format version (4 bytes, big endian), length of the
// header (4 bytes), the header as JSON, length of the tables (8 bytes), the tables
// as the server writes its own snapshots, CRC-32C of all that (4 bytes).
const (
	backupMagic   = "NSRVSAVE"
	backupVersion = 1
	maxHeader     = 1 << 20
	maxBackup     = 1<<30 + 2*maxHeader // bytes: more than a server takes
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// errNoBackup says that a file cannot be used, whole or in part.
var errNoBackup = errors.New("no backup that could be used")

// backupHeader says where a backup is from.
type backupHeader struct {
	Cluster string    `json:"cluster"` // UUID
	Index   uint64    `json:"index"`   // log index that the tables show at least
	Saved   time.Time `json:"saved"`   // by the clock of the one who asked
	Program string    `json:"program"` // version that saved it
}

// backup is a file that was read and checked.
type backup struct {
	backupHeader
	Size   int // bytes of the file
	tables []byte
	counts fsm.Counts
	keys   int // of all namespaces
	digest string
}

// writeBackup writes a file that is whole or absent.
func writeBackup(path string, snapshot admin.Snapshot, now time.Time) (*backup, error) {
	b := &backup{backupHeader: backupHeader{Cluster: snapshot.Cluster, Index: snapshot.Index, Saved: now.UTC().Truncate(time.Second), Program: programVersion()}, tables: snapshot.Data}
	if err := b.check(); err != nil {
		return nil, err
	}
	header, err := json.Marshal(b.backupHeader)
	if err != nil {
		return nil, fmt.Errorf("encode header: %w", err)
	}
	file := binary.BigEndian.AppendUint32([]byte(backupMagic), backupVersion)
	file = append(binary.BigEndian.AppendUint32(file, uint32(len(header))), header...)
	file = append(binary.BigEndian.AppendUint64(file, uint64(len(b.tables))), b.tables...)
	file = binary.BigEndian.AppendUint32(file, crc32.Checksum(file, castagnoli))
	b.Size = len(file)
	if err := replaceFile(path, file, 0o600); err != nil {
		return nil, fmt.Errorf("write the backup: %w", err)
	}
	return b, nil
}

// check decodes the tables, which also checks their own checksum.
func (b *backup) check() error {
	m := fsm.New()
	if _, err := m.RestoreSnapshot(bytes.NewReader(b.tables)); err != nil {
		return fmt.Errorf("%w: %w", errNoBackup, err)
	}
	var err error
	b.counts = m.State().Counts()
	for namespace := range m.State().Namespaces() {
		b.keys += namespace.Len()
	}
	b.digest, err = m.State().Digest()
	return err
}

// readBackup reads a file and checks all of it.
func readBackup(path string) (*backup, error) {
	opened, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer opened.Close()
	r := bufio.NewReader(opened)
	begin, err := r.Peek(len(backupMagic))
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if string(begin) != backupMagic { // before a GiB of something else is read
		return nil, fmt.Errorf("%s: %w", path, errOtherFile)
	}
	file, err := readUpTo(r, maxBackup)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", path, errNoBackup, err)
	}
	b, err := parseBackup(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return b, nil
}

var errOtherFile = fmt.Errorf("%w: it does not begin as one that namesrv snapshot save wrote", errNoBackup)

func parseBackup(file []byte) (*backup, error) {
	r := bytes.NewReader(file)
	head := make([]byte, len(backupMagic)+8)
	if _, err := io.ReadFull(r, head); err != nil || string(head[:len(backupMagic)]) != backupMagic {
		return nil, errOtherFile
	}
	rest := head[len(backupMagic):]
	switch version := binary.BigEndian.Uint32(rest); {
	case version > backupVersion:
		return nil, fmt.Errorf("%w: it has the newer format %d, this program knows %d: use a newer namesrv", errNoBackup, version, backupVersion)
	case version == 0:
		return nil, fmt.Errorf("%w: it has format 0, which no namesrv wrote", errNoBackup)
	}
	size := binary.BigEndian.Uint32(rest[4:])
	if size > maxHeader {
		return nil, fmt.Errorf("%w: header of %d bytes", errNoBackup, size)
	}
	header, tables, err := partsOf(r, int(size))
	if err != nil {
		return nil, err
	}
	sum := len(file) - crc32.Size
	if crc32.Checksum(file[:sum], castagnoli) != binary.BigEndian.Uint32(file[sum:]) {
		return nil, fmt.Errorf("%w: wrong checksum", errNoBackup)
	}
	b := &backup{Size: len(file), tables: tables}
	if err := json.Unmarshal(header, &b.backupHeader); err != nil {
		return nil, fmt.Errorf("%w: header: %w", errNoBackup, err)
	}
	return b, b.check()
}

// partsOf reads what follows the fixed part; the checksum is what is left.
func partsOf(r *bytes.Reader, headerSize int) (header, tables []byte, err error) {
	var size [8]byte
	if headerSize > r.Len() {
		return nil, nil, fmt.Errorf("%w: it is cut short", errNoBackup)
	}
	header = make([]byte, headerSize)
	if _, err := io.ReadFull(r, header); err != nil {
		return nil, nil, err
	}
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return nil, nil, fmt.Errorf("%w: it is cut short", errNoBackup)
	}
	n := binary.BigEndian.Uint64(size[:])
	switch left := uint64(r.Len()); {
	case left < crc32.Size || n > left-crc32.Size:
		return nil, nil, fmt.Errorf("%w: it is cut short", errNoBackup)
	case n < left-crc32.Size:
		return nil, nil, fmt.Errorf("%w: it goes on after its end", errNoBackup)
	}
	tables = make([]byte, n)
	_, err = io.ReadFull(r, tables)
	return header, tables, err
}
