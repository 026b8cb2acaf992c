package fsm

import (
	"bytes"
	"errors"
	"hash/crc32"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"namesrv/fsm/fsmpb"
	"namesrv/remoting/protocol"
)

var drawUpload = rapid.SampledFrom([]string{"r1", "r2"})

// drawRestore begins a restore of what the tables are now, or takes the next step
// of the one that is under way, mostly a right one.
func drawRestore(t *rapid.T, s *State) step {
	id := drawUpload.Draw(t, "upload")
	if s.upload == nil || rapid.IntRange(0, 5).Draw(t, "begin") == 0 {
		return beginStep(t, id)
	}
	if rapid.IntRange(0, 4).Draw(t, "same upload") > 0 {
		id = s.upload.id
	}
	if rapid.IntRange(0, 7).Draw(t, "drop") == 0 {
		return dropStep(id, s.upload.have-rapid.SampledFrom([]uint64{0, 0, min(1, s.upload.have)}).Draw(t, "gone on"))
	}
	if s.upload.have == s.upload.size || rapid.IntRange(0, 5).Draw(t, "commit") == 0 {
		return commitStep(id)
	}
	return partStep(t, s, id)
}

// restorable is what the drawn restores carry, since the parts are drawn later than
// the beginning.
func restorable() []byte {
	f := New()
	f.Apply(1, EncodeInit(map[string]string{"enableTopicList": "false"}, map[string]map[string]string{"saved": {"k": "v"}}))
	f.Apply(2, EncodeRegister(reg("x", 0, "A", filters("f"))))
	f.Apply(3, EncodeRegister(reg("y", 1, "B", cluster("d"))))
	f.Apply(4, encodeCommand(&fsmpb.Command{Kind: &fsmpb.Command_RestoreBegin{RestoreBegin: &fsmpb.RestoreBegin{Id: []byte("old"), Size: 7}}}))
	var out bytes.Buffer
	if err := f.State().WriteSnapshot(&out, 4); err != nil {
		panic(err)
	}
	return out.Bytes()
}

func beginStep(t *rapid.T, id string) step {
	plain := restorable()
	data := deflate(plain)
	m := &fsmpb.RestoreBegin{Id: []byte(id), Size: uint64(len(data)), Inflated: uint64(len(plain))}
	m.Checksum = checksumOf(data) + rapid.SampledFrom([]uint32{0, 0, 0, 1}).Draw(t, "wrong sum")
	m.Inflated -= rapid.SampledFrom([]uint64{0, 0, 0, 1}).Draw(t, "wrong size")
	return step{
		command: encodeCommand(&fsmpb.Command{Kind: &fsmpb.Command_RestoreBegin{RestoreBegin: m}}),
		model: succeed(func(md *model) {
			if md.Restored == id {
				return
			}
			next := modelUpload{ID: id, Size: m.Size, Inflated: m.Inflated, Checksum: m.Checksum}
			if u := md.Upload; u != nil {
				next.Data = u.Data
				if *u == next {
					return
				}
				next.Data = ""
			}
			md.Upload = &next
		}),
	}
}

func partStep(t *rapid.T, s *State, id string) step {
	data := deflate(restorable())
	at := s.upload.have
	data = data[at:min(uint64(len(data)), at+rapid.Uint64Range(1, uint64(len(data))).Draw(t, "length"))]
	at += rapid.SampledFrom([]uint64{0, 0, 0, 0, 1}).Draw(t, "gap")
	m := &fsmpb.RestorePart{Id: []byte(id), Offset: at, Data: data}
	return step{
		command: encodeCommand(&fsmpb.Command{Kind: &fsmpb.Command_RestorePart{RestorePart: m}}),
		model: func(md *model, _ uint64) protocol.Code {
			u := md.Upload
			if u.ID != id || uint64(len(u.Data)) != at {
				return protocol.SystemError
			}
			next := *u
			next.Data += string(data)
			md.Upload = &next
			return protocol.Success
		},
	}
}

func dropStep(id string, haveAtMost uint64) step {
	return step{
		command: EncodeDropUpload(id, haveAtMost),
		model: succeed(func(md *model) {
			if u := md.Upload; u.ID == id && uint64(len(u.Data)) <= haveAtMost {
				md.Upload = nil
			}
		}),
	}
}

func commitStep(id string) step {
	return step{
		command: encodeCommand(&fsmpb.Command{Kind: &fsmpb.Command_RestoreCommit{RestoreCommit: &fsmpb.RestoreCommit{Id: []byte(id)}}}),
		model: func(md *model, index uint64) protocol.Code {
			u := md.Upload
			if u.ID != id {
				return protocol.SystemError
			}
			md.Upload = nil
			plain := restorable()
			if uint64(len(u.Data)) != u.Size || checksumOf([]byte(u.Data)) != u.Checksum || u.Inflated != uint64(len(plain)) {
				return protocol.SystemError
			}
			md.restore(plain, index)
			md.Restored = id
			return protocol.Success
		},
	}
}

// restore is the rule once more: tables of the snapshot, settings of before.
func (m *model) restore(plain []byte, index uint64) {
	f := New()
	if _, err := f.RestoreSnapshot(bytes.NewReader(plain)); err != nil {
		panic(err)
	}
	saved := modelOf(f.State())
	for key, l := range saved.Lives {
		l.Registered, l.Birth = index, index
		saved.Lives[key] = l
	}
	m.Topics, m.Mappings, m.Groups, m.Lives, m.KV = saved.Topics, saved.Mappings, saved.Groups, saved.Lives, saved.KV
}

func checksumOf(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

// commandsOf are the commands of a restore, without what goes with each.
func commandsOf(id string, snapshot []byte) ([][]byte, error) {
	steps, err := EncodeUpload(id, snapshot)
	var commands [][]byte
	for _, s := range steps {
		commands = append(commands, s.Command)
	}
	return commands, err
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestRestoreThroughTheLog(t *testing.T) {
	saved := sample(t)
	commands, err := commandsOf("r", saved.snapshot())
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	w.apply(EncodeInit(map[string]string{"orderMessageEnable": "true"}, map[string]map[string]string{"before": {"k": "v"}}))
	w.register(reg("z", 0, "Z"))
	before := w.state()
	for i, c := range commands {
		if r := w.apply(c); r.Code != protocol.Success || !r.Changed {
			t.Fatalf("step %d: %+v", i, r)
		}
		if i < len(commands)-1 && (w.state().Broker("z") == nil || w.state().Broker("x") != nil) {
			t.Fatalf("step %d shows in the tables", i)
		}
	}
	want := modelOf(saved.state())
	want.Options, want.Init, want.Restored = before.Options(), before.initialized, "r"
	for key, l := range want.Lives {
		l.Registered, l.Birth = w.index, w.index
		want.Lives[key] = l
	}
	if diff := cmp.Diff(want, modelOf(w.state())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if w.state().TopicsVersion() == before.TopicsVersion() || w.state().LivesVersion() == before.LivesVersion() {
		t.Error("tables changed and kept their version")
	}
	if w.state().Restored() != "r" || must(copyOf(w)).State().Restored() != "r" {
		t.Error("the id of the restore was not kept")
	}
	if id, _ := w.state().Uploading(); id != "" {
		t.Errorf("restore %q is still under way", id)
	}
	// A registration that was decided about before has no effect any more.
	if r := w.apply(EncodeUnregister(Unregistration{Cluster: "c", Broker: "x", Addr: "A", BirthAtMost: w.index - 2})); r.Changed {
		t.Error("an old unregistration removed a restored address")
	}
}

func TestLateCopiesOfStepsDoNothing(t *testing.T) {
	steps := must(commandsOf("r", sample(t).snapshot()))
	w := newWorld(t)
	for i, c := range steps {
		if r := w.apply(c); r.Code != protocol.Success {
			t.Fatalf("step %d: %+v", i, r)
		}
		for j, late := range steps[:i+1] {
			if r := w.apply(late); r.Changed {
				t.Errorf("after step %d a copy of step %d: %+v", i, j, r)
			}
		}
	}
	if w.state().Broker("x") == nil {
		t.Error("nothing was restored")
	}
}

func TestLateBeginningLeavesTheNextRestoreAlone(t *testing.T) {
	first, second := must(commandsOf("r1", sample(t).snapshot())), must(commandsOf("r2", sample(t).snapshot()))
	w := newWorld(t)
	for _, c := range append(first, second[0]) {
		w.apply(c)
	}
	if r := w.apply(first[0]); r.Code != protocol.Success || r.Changed {
		t.Errorf("the late beginning: %+v", r)
	}
	for i, c := range second[1:] {
		if r := w.apply(c); r.Code != protocol.Success {
			t.Errorf("step %d of the restore under way: %+v", i+1, r)
		}
	}
	if w.state().Restored() != "r2" {
		t.Errorf("restore %q was committed last", w.state().Restored())
	}
}

func TestUnfinishedRestore(t *testing.T) {
	first, second := must(commandsOf("r1", sample(t).snapshot())), must(commandsOf("r2", sample(t).snapshot()))
	w := newWorld(t)
	w.apply(first[0])
	w.apply(second[0])
	for i, c := range first[1:] {
		if r := w.apply(c); r.Code != protocol.SystemError || r.Changed || !strings.Contains(r.Remark, "another one") {
			t.Errorf("step %d of the one that was dropped: %+v", i+1, r)
		}
	}
	w.f = must(copyOf(w)) // it is part of snapshots
	for _, c := range second[1:] {
		if r := w.apply(c); r.Code != protocol.Success {
			t.Errorf("the one that began last: %+v", r)
		}
	}
	if w.state().Broker("x") == nil {
		t.Error("nothing was restored")
	}
	w.apply(first[0])
	if w.state().WithoutUpload().upload != nil || w.state().upload == nil {
		t.Error("WithoutUpload")
	}
}

func TestDropOfAnUnfinishedRestore(t *testing.T) {
	steps := must(EncodeUpload("r", sample(t).snapshot()))
	tests := []struct {
		name       string
		id         string
		haveAtMost uint64
		dropped    bool
	}{
		{"as it was seen", "r", steps[1].Have, true},
		{"at any point", "r", math.MaxUint64, true},
		{"it has gone on since", "r", steps[0].Have, false},
		{"another one", "s", math.MaxUint64, false},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t)
			w.apply(steps[0].Command)
			w.apply(steps[1].Command)
			if r := w.apply(EncodeDropUpload(tc.id, tc.haveAtMost)); r.Code != protocol.Success || r.Changed != tc.dropped {
				t.Errorf("%+v", r)
			}
			if id, _ := w.state().Uploading(); (id == "") != tc.dropped {
				t.Errorf("restore %q is under way", id)
			}
			if r := w.apply(steps[2].Command); (r.Code == protocol.SystemError) != tc.dropped {
				t.Errorf("its last step: %+v", r)
			}
		})
	}
	w := newWorld(t)
	if r := w.apply(EncodeDropUpload("r", 0)); r.Code != protocol.Success || r.Changed {
		t.Errorf("none under way: %+v", r)
	}
}

func copyOf(w *world) (*FSM, error) {
	f := New()
	_, err := f.RestoreSnapshot(reader(w.snapshot()))
	return f, err
}

func TestRestoreIsRefused(t *testing.T) {
	good := sample(t).snapshot()
	commands := must(commandsOf("r", good))
	begin := func(change func(*fsmpb.RestoreBegin)) []byte {
		var m fsmpb.Command
		if err := proto.Unmarshal(commands[0], &m); err != nil {
			t.Fatal(err)
		}
		change(m.GetRestoreBegin())
		return encodeCommand(&m)
	}
	tests := []struct {
		name     string
		commands [][]byte // the last one is refused
		want     string
	}{
		{"part first", commands[1:2], "none"},
		{"commit first", commands[2:], "none"},
		{"commit without the parts", [][]byte{commands[0], commands[2]}, "bytes of"},
		{"a part twice", [][]byte{commands[0], commands[1], commands[1]}, "part is missing"},
		{"other checksum", [][]byte{begin(func(m *fsmpb.RestoreBegin) { m.Checksum++ }), commands[1], commands[2]}, "checksum"},
		{"cut when inflated", [][]byte{begin(func(m *fsmpb.RestoreBegin) { m.Inflated-- }), commands[1], commands[2]}, "cut short"},
		{"more than announced", [][]byte{begin(func(m *fsmpb.RestoreBegin) { m.Size-- }), commands[1]}, "too large"},
		{"too large", [][]byte{begin(func(m *fsmpb.RestoreBegin) { m.Size = MaxUpload + 1 })}, "too large"},
		{"too large when inflated", [][]byte{begin(func(m *fsmpb.RestoreBegin) { m.Inflated = 1 << 40 })}, "too large"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t)
			w.register(reg("z", 0, "Z"))
			for i, c := range tc.commands {
				r := w.apply(c)
				if last := i == len(tc.commands)-1; last && (r.Code != protocol.SystemError || !strings.Contains(r.Remark, tc.want)) {
					t.Errorf("%+v, want a refusal that says %q", r, tc.want)
				}
			}
			if w.state().Broker("z") == nil || w.state().Broker("x") != nil {
				t.Error("the tables changed")
			}
		})
	}
	for name, bad := range map[string][]byte{"cut": good[:len(good)-3], "empty": nil, "not one": []byte("{}")} {
		if _, err := EncodeUpload("r", bad); !errors.Is(err, ErrBadSnapshot) {
			t.Errorf("%s: %v, want ErrBadSnapshot", name, err)
		}
	}
}

func TestRestoreOfANewerSnapshotStopsThePeer(t *testing.T) {
	meta := &fsmpb.Record{Kind: &fsmpb.Record_Meta{Meta: &fsmpb.Meta{}}}
	meta.GetMeta().ProtoReflect().SetUnknown(protowire.AppendVarint(protowire.AppendTag(nil, 99, protowire.VarintType), 1))
	plain := build(t, meta)
	data := deflate(plain)
	w := newWorld(t)
	w.apply(encodeCommand(&fsmpb.Command{Kind: &fsmpb.Command_RestoreBegin{RestoreBegin: &fsmpb.RestoreBegin{
		Id: []byte("r"), Size: uint64(len(data)), Checksum: checksumOf(data), Inflated: uint64(len(plain))}}}))
	w.apply(encodeCommand(&fsmpb.Command{Kind: &fsmpb.Command_RestorePart{RestorePart: &fsmpb.RestorePart{Id: []byte("r"), Data: data}}}))
	defer func() {
		err, ok := recover().(error)
		if !ok || !errors.Is(err, ErrUnknownCommand) {
			t.Fatalf("%v, want a panic with ErrUnknownCommand: peers that know the format take it", err)
		}
		if strings.Contains(err.Error(), "log entry") {
			t.Errorf("%v: whoever applies the log says which entry it was", err)
		}
	}()
	w.apply(commitStep("r").command)
}
