package fsm

import (
	"bytes"
	"encoding/binary"
	"errors"
	"flag"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"

	"namesrv/fsm/fsmpb"
)

var update = flag.Bool("update", false, "write the golden snapshot anew")

func reader(b []byte) io.Reader { return bytes.NewReader(b) }

// sample has something in every table.
func sample(t testing.TB) *world {
	w := newWorld(t)
	w.apply(EncodeInit(map[string]string{"supportActingMaster": "true"}, map[string]map[string]string{
		"ORDER_TOPIC_CONFIG": {"t1": "x:8", "t2": "y:4"}, "emptied": {},
	}))
	w.register(reg("x", 0, "A", filters("f1", "f2"), mappings(mapping("t1", "x", 7), mapping("static", "x", 1))))
	w.register(reg("x", 1, "B"))
	w.register(reg("x", -1, "D"))
	r := fullRegistration()
	r.Acting, r.ID = ActingTrue, 0
	w.register(r)
	w.register(reg("y", 0, "A", cluster("d"), topics("t1", "t3")))
	w.apply(EncodeWipeWrite("y"))
	return w
}

// TestGoldenSnapshot holds format version 1: what was written once must be
// readable for ever, and be written alike.
func TestGoldenSnapshot(t *testing.T) {
	golden := filepath.Join("testdata", "snapshot-v1.bin")
	w := sample(t)
	if *update {
		if err := os.WriteFile(golden, w.snapshot(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, w.snapshot()) {
		t.Error("the same tables are written differently")
	}
	f := New()
	index, err := f.RestoreSnapshot(bytes.NewReader(want))
	if err != nil || index != w.index {
		t.Fatalf("index %d, error %v", index, err)
	}
	if diff := cmp.Diff(modelOf(w.state()), modelOf(f.State())); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(w.state().Counts(), f.State().Counts()); diff != "" {
		t.Error(diff)
	}
}

func TestRestoreReplacesAndShares(t *testing.T) {
	w := sample(t)
	f := New()
	f.Apply(1, EncodePutKV("old", "k", "v"))
	if _, err := f.RestoreSnapshot(iotest.OneByteReader(reader(w.snapshot()))); err != nil {
		t.Fatal(err)
	}
	s := f.State()
	if s.Namespace("old") != nil {
		t.Error("the old state shows through")
	}
	if s.Topic("t2").Queues[0] == nil || s.Topic("t1").Queues[1] != s.Topic("t2").Queues[1] {
		t.Error("equal queue entries are not shared")
	}
	// It goes on as the original does.
	next := EncodeRegister(reg("x", 0, "A", topics("t1", "t9"), version(0, 9, 9)))
	if diff := cmp.Diff(w.f.Apply(50, next), f.Apply(50, next)); diff != "" {
		t.Error(diff)
	}
	if !bytes.Equal(snapshotOf(t, w.state(), 50), snapshotOf(t, f.State(), 50)) {
		t.Error("they differ after the next command")
	}
}

func TestRestoreRefuses(t *testing.T) {
	good := sample(t).snapshot()
	flip := func(at int) []byte {
		b := bytes.Clone(good)
		b[at] ^= 1
		return b
	}
	newer := bytes.Clone(good)
	binary.BigEndian.PutUint32(newer[len(snapshotMagic):], snapshotVersion+1)
	meta := &fsmpb.Record{Kind: &fsmpb.Record_Meta{Meta: &fsmpb.Meta{}}}
	broker := func(name, addr string) *fsmpb.Record {
		return &fsmpb.Record{Kind: &fsmpb.Record_Broker{Broker: &fsmpb.Broker{
			Name: []byte(name), Ids: []int64{0}, Addrs: [][]byte{[]byte(addr)},
		}}}
	}
	live := func(cluster, broker, addr string) *fsmpb.Record {
		return &fsmpb.Record{Kind: &fsmpb.Record_Live{Live: &fsmpb.Live{
			Cluster: []byte(cluster), Broker: []byte(broker), Addr: []byte(addr),
		}}}
	}
	topic := func(name string, brokers ...uint32) *fsmpb.Record {
		m := &fsmpb.Topic{Name: []byte(name), Brokers: brokers, Queues: new(fsmpb.Queues)}
		for range brokers {
			appendRow(m.Queues, QueueSettings{})
		}
		return &fsmpb.Record{Kind: &fsmpb.Record_Topic{Topic: m}}
	}
	unequal := topic("t", 0)
	unequal.GetTopic().Queues.Perm = nil
	value := &fsmpb.Record{Kind: &fsmpb.Record_Value{Value: &fsmpb.Pair{}}}
	namespace := &fsmpb.Record{Kind: &fsmpb.Record_Namespace{}}
	restoring := func(size uint64) *fsmpb.Record {
		return &fsmpb.Record{Kind: &fsmpb.Record_Restoring{Restoring: &fsmpb.RestoreBegin{Id: []byte("r"), Size: size}}}
	}
	part := func(data string) *fsmpb.Record {
		return &fsmpb.Record{Kind: &fsmpb.Record_RestorePart{RestorePart: []byte(data)}}
	}
	unknown := &fsmpb.Record{}
	unknown.ProtoReflect().SetUnknown(protowire.AppendVarint(protowire.AppendTag(nil, 99, protowire.VarintType), 1))

	for _, tc := range []struct {
		name string
		data []byte
		want error
	}{
		{"empty", nil, ErrBadSnapshot},
		{"magic only", good[:len(snapshotMagic)], ErrBadSnapshot},
		{"other magic", flip(0), ErrBadSnapshot},
		{"newer format", newer, ErrSnapshotVersion},
		{"index changed", flip(len(snapshotMagic) + 11), ErrBadSnapshot},
		{"checksum changed", flip(len(good) - 1), ErrBadSnapshot},
		{"last byte missing", good[:len(good)-1], ErrBadSnapshot},
		{"half", good[:len(good)/2], ErrBadSnapshot},
		{"something after it", append(bytes.Clone(good), 0), ErrBadSnapshot},
		{"huge record", []byte("NSRVSNAP\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x01\xff\xff\xff\xff\x0f"), ErrBadSnapshot},
		{"announced record that never comes", []byte("NSRVSNAP\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x01\xff\xff\xff\xff\x01x"), ErrBadSnapshot},
		{"no record", build(t), ErrBadSnapshot},
		{"broker without an address", build(t, meta, &fsmpb.Record{Kind: &fsmpb.Record_Broker{Broker: &fsmpb.Broker{}}}), ErrBadSnapshot},
		{"ids out of order", build(t, meta, &fsmpb.Record{Kind: &fsmpb.Record_Broker{Broker: &fsmpb.Broker{
			Ids: []int64{1, 0}, Addrs: [][]byte{{'A'}, {'B'}},
		}}}), ErrBadSnapshot},
		{"address twice", build(t, meta, &fsmpb.Record{Kind: &fsmpb.Record_Broker{Broker: &fsmpb.Broker{
			Ids: []int64{0, 1}, Addrs: [][]byte{{'A'}, {'A'}},
		}}}), ErrBadSnapshot},
		{"mapping of another topic", build(t, meta, &fsmpb.Record{Kind: &fsmpb.Record_Topic{Topic: &fsmpb.Topic{
			Name: []byte("t"), Mappings: []*fsmpb.Mapping{{Topic: []byte("u")}},
		}}}), ErrBadSnapshot},
		{"two meta records", build(t, meta, meta), ErrBadSnapshot},
		{"no meta record", build(t, broker("x", "A"), live("c", "x", "A")), ErrBadSnapshot},
		{"record of an unknown kind", build(t, meta, unknown), ErrSnapshotVersion},
		{"brokers out of order", build(t, meta, broker("y", "A"), broker("x", "B")), ErrBadSnapshot},
		{"broker twice", build(t, meta, broker("x", "A"), broker("x", "A")), ErrBadSnapshot},
		{"parts out of order", build(t, meta, namespace, broker("x", "A")), ErrBadSnapshot},
		{"broker without a live entry", build(t, meta, broker("x", "A")), ErrBadSnapshot},
		{"live entry without a broker", build(t, meta, live("c", "x", "A")), ErrBadSnapshot},
		{"live entry at another address", build(t, meta, broker("x", "A"), live("c", "x", "B")), ErrBadSnapshot},
		{"live in two clusters", build(t, meta, broker("x", "A"), broker("y", "B"), live("c", "x", "A"), live("d", "x", "A")), ErrBadSnapshot},
		{"topic of an unknown broker", build(t, meta, broker("x", "A"), live("c", "x", "A"), topic("t", 1)), ErrBadSnapshot},
		{"topic twice on a broker", build(t, meta, broker("x", "A"), live("c", "x", "A"), topic("t", 0, 0)), ErrBadSnapshot},
		{"columns of different length", build(t, meta, broker("x", "A"), live("c", "x", "A"), unequal), ErrBadSnapshot},
		{"value without a namespace", build(t, meta, value), ErrBadSnapshot},
		{"value after a restore", build(t, meta, namespace, restoring(3), value), ErrBadSnapshot},
		{"part without a restore", build(t, meta, part("abc")), ErrBadSnapshot},
		{"two restores", build(t, meta, restoring(3), restoring(3)), ErrBadSnapshot},
		{"more parts than announced", build(t, meta, restoring(3), part("ab"), part("cd")), ErrBadSnapshot},
		{"empty part", build(t, meta, restoring(3), part("")), ErrBadSnapshot},
		{"restore of a huge snapshot", build(t, meta, restoring(MaxUpload+1)), ErrBadSnapshot},
		{"value twice", build(t, meta, namespace, value, value), ErrBadSnapshot},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := New()
			before := f.State()
			if _, err := f.RestoreSnapshot(reader(tc.data)); !errors.Is(err, tc.want) {
				t.Errorf("error %v, want %v", err, tc.want)
			}
			if f.State() != before {
				t.Error("the state changed")
			}
		})
	}
}

// build writes a snapshot of any records, with a right checksum.
func build(t *testing.T, records ...*fsmpb.Record) []byte {
	t.Helper()
	b := []byte("NSRVSNAP\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x01")
	for _, m := range records {
		encoded := marshal(m)
		b = binary.AppendUvarint(b, uint64(len(encoded)))
		b = append(b, encoded...)
	}
	b = append(b, 0)
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

func TestSnapshotStreamErrors(t *testing.T) {
	w := sample(t)
	broken := errors.New("broken stream")
	f := New()
	before := f.State()
	for _, n := range []int{0, 30, len(w.snapshot())} {
		r := io.MultiReader(reader(w.snapshot()[:n]), iotest.ErrReader(broken))
		if _, err := f.RestoreSnapshot(r); !errors.Is(err, broken) || f.State() != before {
			t.Errorf("after %d bytes: %v", n, err)
		}
	}
	for _, n := range []int{0, 30, len(w.snapshot()) - 1} {
		if err := w.state().WriteSnapshot(&shortWriter{room: n, err: broken}, 1); !errors.Is(err, broken) {
			t.Errorf("room for %d bytes: %v", n, err)
		}
	}
}

type shortWriter struct {
	room int
	err  error
}

func (w *shortWriter) Write(p []byte) (int, error) {
	if len(p) > w.room {
		return 0, w.err
	}
	w.room -= len(p)
	return len(p), nil
}

func FuzzRestoreSnapshot(f *testing.F) {
	f.Add(sample(f).snapshot())
	f.Add(snapshotOf(f, New().State(), 0))
	f.Fuzz(func(t *testing.T, data []byte) {
		m := New()
		before := m.State()
		// The right checksum is put on, or hardly any input would get past it.
		if len(data) > 4 {
			sum := crc32.Checksum(data[:len(data)-4], castagnoli)
			data = binary.BigEndian.AppendUint32(bytes.Clone(data[:len(data)-4]), sum)
		}
		index, err := m.RestoreSnapshot(reader(data))
		if err != nil {
			if m.State() != before {
				t.Fatal("the state changed")
			}
			return
		}
		first := snapshotOf(t, m.State(), index)
		again := New()
		if _, err := again.RestoreSnapshot(reader(first)); err != nil {
			t.Fatalf("what was written cannot be read: %v", err)
		}
		if !bytes.Equal(first, snapshotOf(t, again.State(), index)) {
			t.Fatal("written differently the second time")
		}
		m.Apply(index+1, EncodeRegister(reg("x", 0, "A")))
	})
}
