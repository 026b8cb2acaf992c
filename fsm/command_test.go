package fsm

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"namesrv/fsm/fsmpb"
	"namesrv/remoting/protocol"
)

// fullRegistration has a value in every field.
func fullRegistration() *Registration {
	r := reg("broker \xff", -1, "[2001:db8::1]:10911", acting(ActingTrue), version(3, -4, 5),
		filters("f1", ""), mappings(mapping("t1", "x", -7)))
	r.TimeoutMillis, r.Zone, r.NewBirth = 10_000, "zone", true
	r.Topics[1] = protocol.TopicConfig{Name: "t2", ReadQueueNums: -1, WriteQueueNums: 1 << 30, Perm: 7, SysFlag: 3}
	return r
}

func TestRegistrationSurvivesTheLog(t *testing.T) {
	large := fullRegistration()
	for i := range 500 {
		large.Topics = append(large.Topics, configs("u"+string(rune('a'+i%26))+string(rune('a'+i/26)))...)
	}
	slices.SortFunc(large.Topics, func(a, b protocol.TopicConfig) int { return cmpText(a.Name, b.Name) })
	for name, want := range map[string]*Registration{
		"plain": fullRegistration(), "compressed": large, "zero": {Topics: []protocol.TopicConfig{}},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := decodeCommand(EncodeRegister(want))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, c.(registerCommand).r); diff != "" {
				t.Error(diff)
			}
		})
	}
	if encoded := EncodeRegister(large); len(encoded) > 4000 {
		t.Errorf("%d bytes, not compressed", len(encoded))
	}
}

func cmpText(a, b string) int {
	if a < b {
		return -1
	}
	return 1
}

func TestEncodeRegisterLeavesItsArgument(t *testing.T) {
	r := reg("x", 0, "A", topics("b", "a"))
	EncodeRegister(r)
	if diff := cmp.Diff(configs("b", "a"), r.Topics); diff != "" {
		t.Error(diff)
	}
}

func TestCheck(t *testing.T) {
	encode := func(m *fsmpb.Command) []byte { return encodeCommand(m) }
	newer := func() []byte {
		m := &fsmpb.Command{Version: Level + 1, Kind: &fsmpb.Command_SetPerm{SetPerm: &fsmpb.SetPerm{}}}
		return marshal(m)
	}
	nested := func() []byte {
		m := &fsmpb.Register{Mappings: []*fsmpb.Mapping{{}}}
		m.Mappings[0].ProtoReflect().SetUnknown([]byte{0xf8, 0x07, 1})
		return encode(&fsmpb.Command{Kind: &fsmpb.Command_Register{Register: m}})
	}
	deflated := func(size uint32, plain []byte) []byte {
		return encode(&fsmpb.Command{Kind: &fsmpb.Command_RegisterDeflated{
			RegisterDeflated: &fsmpb.Deflated{Size: size, Data: deflate(plain)},
		}})
	}
	for _, tc := range []struct {
		name    string
		command []byte
		want    error
	}{
		{"right", EncodeDeleteKV("n", "k"), nil},
		{"empty", nil, ErrUnknownCommand},
		{"no version", marshal(&fsmpb.Command{Kind: &fsmpb.Command_Init{Init: &fsmpb.Init{}}}), ErrUnknownCommand},
		{"newer version", newer(), ErrUnknownCommand},
		{"unknown kind", append(encode(&fsmpb.Command{}), 0xf8, 0x07, 1), ErrUnknownCommand},
		{"unknown field deep inside", nested(), ErrUnknownCommand},
		{"no kind", encode(&fsmpb.Command{}), ErrBadCommand},
		{"not a message", []byte("\xff\xff\xff"), ErrBadCommand},
		{"cut short", EncodeDeleteKV("n", "k")[:5], ErrBadCommand},
		{"deflated, announces too little", deflated(1, marshal(&fsmpb.Register{NewBirth: true})), ErrBadCommand},
		{"deflated, announces too much", deflated(100, nil), ErrBadCommand},
		{"deflated, announces more than allowed", deflated(maxInflated+1, nil), ErrBadCommand},
		{"deflated, not a message", deflated(1, []byte{0xff}), ErrBadCommand},
		{"deflated, unknown field", deflated(3, []byte{0xf8, 0x07, 1}), ErrUnknownCommand},
		{"topics without settings", encode(&fsmpb.Command{Kind: &fsmpb.Command_Register{
			Register: &fsmpb.Register{Topics: [][]byte{{'t'}}},
		}}), ErrBadCommand},
		{"columns of different length", encode(&fsmpb.Command{Kind: &fsmpb.Command_RegisterTopic{
			RegisterTopic: &fsmpb.RegisterTopic{Queues: &fsmpb.Queues{Read: []int32{1}}},
		}}), ErrBadCommand},
		{"mapping of different lengths", encode(&fsmpb.Command{Kind: &fsmpb.Command_Register{
			Register: &fsmpb.Register{Mappings: []*fsmpb.Mapping{{Logic: []int32{1}}}},
		}}), ErrBadCommand},
		{"unknown acting value", encode(&fsmpb.Command{Kind: &fsmpb.Command_Register{
			Register: &fsmpb.Register{Acting: 3},
		}}), ErrBadCommand},
		{"expire of different lengths", encode(&fsmpb.Command{Kind: &fsmpb.Command_Expire{
			Expire: &fsmpb.Expire{Keys: [][]byte{{'k'}}},
		}}), ErrBadCommand},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if err := Check(tc.command); !errors.Is(err, tc.want) {
				t.Fatalf("Check: %v, want %v", err, tc.want)
			}
			if tc.want != nil {
				if err := applyPanic(t, New(), tc.command); !errors.Is(err, tc.want) {
					t.Errorf("Apply: %v, want %v", err, tc.want)
				}
			}
		})
	}
}

// applyPanic returns the error that Apply panics with, nil when it returns. The
// state must be what it was after a panic.
func applyPanic(t *testing.T, f *FSM, command []byte) (err error) {
	t.Helper()
	before := f.State()
	defer func() {
		if v := recover(); v != nil {
			err = v.(error)
			if f.State() != before {
				t.Error("the state changed")
			}
		}
	}()
	f.Apply(7, command)
	return nil
}

func TestResultRoundTrip(t *testing.T) {
	want := Result{
		Code: protocol.SystemError, Remark: "r\xff", Count: 3, Birth: 1 << 40, Changed: true, Conflict: true,
		Notices: []MinIDNotice{{Broker: "x", MinID: -1, MinAddr: "A", OfflineAddr: "B", HAAddr: "C", Recipients: []string{"D", ""}}},
	}
	got, err := DecodeResult(EncodeResult(want))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, err := DecodeResult([]byte{0xff}); err == nil {
		t.Error("a damaged result passed")
	}
}

// TestSchemaHasNoTextFields guards what marshal relies on.
func TestSchemaHasNoTextFields(t *testing.T) {
	messages := fsmpb.File_fsmpb_fsm_proto.Messages()
	for i := range messages.Len() {
		fields := messages.Get(i).Fields()
		for j := range fields.Len() {
			if kind := fields.Get(j).Kind().String(); kind == "string" {
				t.Errorf("%s is a string; names may be any bytes", fields.Get(j).FullName())
			}
		}
	}
}

func FuzzApply(f *testing.F) {
	f.Add(EncodeRegister(fullRegistration()))
	f.Add(EncodeRegister(reg("x", 0, "A")))
	f.Add(EncodeUnregister(unreg(reg("x", 0, "A"))))
	f.Add(EncodeExpire([]Expired{{Key("c", "A"), 1}}))
	f.Add(EncodeTouch(Key("c", "A"), 1))
	f.Add(EncodeDeleteTopic("t1", "c"))
	f.Add(EncodeRegisterTopic("t1", []protocol.QueueData{{BrokerName: "x"}}))
	f.Add(EncodeWipeWrite("x"))
	f.Add(EncodePutKV("n", "k", "v"))
	f.Add(EncodeDeleteKV("n", "k"))
	f.Add(EncodeSetOptions(map[string]string{"enableTopicList": "true"}))
	f.Add(EncodeInit(nil, map[string]map[string]string{"n": {"k": "v"}}))
	f.Fuzz(func(t *testing.T, command []byte) {
		w := newWorld(t)
		w.register(reg("x", 0, "A", acting(ActingTrue)))
		w.register(reg("x", 1, "B", acting(ActingTrue)))
		refused := Check(command)
		if panicked := applyPanic(t, w.f, command); (panicked == nil) != (refused == nil) {
			t.Fatalf("Check: %v, Apply: %v", refused, panicked)
		}
		again := New()
		if _, err := again.RestoreSnapshot(reader(w.snapshot())); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(w.snapshot(), snapshotOf(t, again.State(), w.index)); diff != "" {
			t.Fatal(diff)
		}
		var m fsmpb.Command
		if refused == nil && proto.Unmarshal(command, &m) != nil {
			t.Fatal("a command passes that is no message")
		}
	})
}
