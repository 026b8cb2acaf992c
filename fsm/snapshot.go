package fsm

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"

	"google.golang.org/protobuf/proto"

	"namesrv/fsm/fsmpb"
)

const (
	snapshotMagic   = "NSRVSNAP"
	snapshotVersion = 1 // of the layout; a new field in a record needs no new one, but the commands of a restore a new version
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// WriteSnapshot writes the state as it was after the log entry at index. Equal
// states give equal bytes. The state may be written by several goroutines at once.
func (s *State) WriteSnapshot(w io.Writer, index uint64) error {
	sum := crc32.New(castagnoli)
	sw := &snapshotWriter{w: bufio.NewWriterSize(io.MultiWriter(w, sum), 64<<10)}
	sw.header(index)
	sw.record(&fsmpb.Record{Kind: &fsmpb.Record_Meta{Meta: &fsmpb.Meta{
		Initialized: s.initialized,
		Options:     storeAllOptions(s.options),
		Restored:    []byte(s.restored),
	}}})
	sw.brokers(s)
	sw.topics(s)
	sw.kv(s)
	sw.upload(s.upload)
	sw.length(0)
	if sw.err == nil {
		sw.err = sw.w.Flush()
	}
	if sw.err == nil {
		_, sw.err = w.Write(binary.BigEndian.AppendUint32(nil, sum.Sum32()))
	}
	if sw.err != nil {
		return fmt.Errorf("write snapshot: %w", sw.err)
	}
	return nil
}

// snapshotWriter writes records until the first error.
type snapshotWriter struct {
	w   *bufio.Writer
	buf []byte
	pos map[string]uint32 // broker name -> position among the broker records
	err error
}

func (sw *snapshotWriter) header(index uint64) {
	head := append([]byte(nil), snapshotMagic...)
	head = binary.BigEndian.AppendUint32(head, snapshotVersion)
	head = binary.BigEndian.AppendUint64(head, index)
	sw.write(head)
}

func (sw *snapshotWriter) write(b []byte) {
	if sw.err == nil {
		_, sw.err = sw.w.Write(b)
	}
}

func (sw *snapshotWriter) length(n int) {
	var head [binary.MaxVarintLen64]byte
	sw.write(head[:binary.PutUvarint(head[:], uint64(n))])
}

func (sw *snapshotWriter) record(m *fsmpb.Record) {
	if sw.err != nil {
		return
	}
	sw.buf, sw.err = proto.MarshalOptions{Deterministic: true}.MarshalAppend(sw.buf[:0], m)
	sw.length(len(sw.buf))
	sw.write(sw.buf)
}

func (sw *snapshotWriter) brokers(s *State) {
	sw.pos = make(map[string]uint32, s.brokers.len())
	for g := range s.brokers.all() {
		sw.pos[g.Name] = uint32(len(sw.pos))
		m := &fsmpb.Broker{
			Name:    []byte(g.Name),
			Cluster: []byte(g.Cluster),
			Zone:    []byte(g.Zone),
			Acting:  g.Acting,
		}
		for _, a := range g.Addrs {
			m.Ids = append(m.Ids, a.ID)
			m.Addrs = append(m.Addrs, []byte(a.Addr))
		}
		sw.record(&fsmpb.Record{Kind: &fsmpb.Record_Broker{Broker: m}})
	}
	for l := range s.lives.all() {
		sw.record(&fsmpb.Record{Kind: &fsmpb.Record_Live{Live: storeLive(l)}})
	}
}

func storeLive(l *Live) *fsmpb.Live {
	return &fsmpb.Live{
		Cluster:       []byte(l.Cluster),
		Addr:          []byte(l.Addr),
		Broker:        []byte(l.Broker),
		Id:            l.ID,
		Registered:    l.Registered,
		Birth:         l.Birth,
		TimeoutMillis: l.TimeoutMillis,
		DataVersion:   storeDataVersion(l.DataVersion),
		HaServerAddr:  []byte(l.HAServerAddr),
		Filters:       toBytes(l.Filters),
	}
}

func (sw *snapshotWriter) topics(s *State) {
	for t := range s.topics.all() {
		m := &fsmpb.Topic{Name: []byte(t.Name), Queues: new(fsmpb.Queues)}
		for _, e := range t.Queues {
			m.Brokers = append(m.Brokers, sw.pos[e.Broker])
			appendRow(m.Queues, e.Settings)
		}
		for _, mapping := range t.Mappings {
			m.Mappings = append(m.Mappings, storeMapping(mapping))
		}
		sw.record(&fsmpb.Record{Kind: &fsmpb.Record_Topic{Topic: m}})
	}
}

func (sw *snapshotWriter) kv(s *State) {
	for ns := range s.kv.all() {
		sw.record(&fsmpb.Record{Kind: &fsmpb.Record_Namespace{Namespace: []byte(ns.Name)}})
		for key, value := range ns.All() {
			pair := &fsmpb.Pair{Key: []byte(key), Value: []byte(value)}
			sw.record(&fsmpb.Record{Kind: &fsmpb.Record_Value{Value: pair}})
		}
	}
}
