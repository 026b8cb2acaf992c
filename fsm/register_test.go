package fsm

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"namesrv/remoting/protocol"
)

func TestRegisterFirstIncrementIsRefused(t *testing.T) {
	for _, tc := range []struct {
		name    string
		topics  []string
		refused bool
	}{
		{"no topic", nil, false},
		{"one topic", []string{"t1"}, true},
		{"two topics", []string{"t1", "t2"}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t)
			before := w.state()
			r := w.register(reg("x", 0, "A", topics(tc.topics...)))
			if got := r.Code == protocol.SystemError; got != tc.refused {
				t.Fatalf("refused: %v, want %v", got, tc.refused)
			}
			if tc.refused && (r.Remark != "register broker failed" || r.Changed || w.state() != before) {
				t.Errorf("a refusal left a trace: %+v", r)
			}
			w.register(reg("x", 0, "A"))
			if w.perm("t1", "x") != 6 || w.perm("t2", "x") != 6 {
				t.Error("topics of the full table are missing")
			}
			if r := w.register(reg("x", 0, "A", topics("t3"), version(0, 1, 2))); r.Code != protocol.Success {
				t.Errorf("increment of a known broker: %+v", r)
			}
		})
	}
}

func TestRegisterNeedsNames(t *testing.T) {
	for name, change := range map[string]func(*Registration){
		"broker":  func(r *Registration) { r.Broker = "" },
		"address": func(r *Registration) { r.Addr = "" },
		"cluster": func(r *Registration) { r.Cluster = "" },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			before := w.state()
			if r := w.register(reg("x", 0, "A", change)); r.Code != protocol.SystemError || w.state() != before {
				t.Errorf("%+v", r)
			}
		})
	}
}

func TestRegisterConflict(t *testing.T) {
	setUp := func(t *testing.T) *world {
		w := newWorld(t)
		w.register(reg("x", 0, "A", version(5, 1, 1)))
		return w
	}
	t.Run("lower state is turned away without a trace", func(t *testing.T) {
		w := setUp(t)
		before := w.state()
		r := w.register(reg("x", 0, "B", version(4, 9, 9), topics("n1", "n2"), func(r *Registration) { r.Zone = "z" }))
		if r.Code != protocol.Success || !r.Conflict || r.Changed || w.state() != before {
			t.Errorf("%+v", r)
		}
	})
	t.Run("conflict comes before the single-topic guard", func(t *testing.T) {
		w := setUp(t)
		if r := w.register(reg("x", 0, "B", version(4, 9, 9), topics("t1"))); r.Code != protocol.Success || !r.Conflict {
			t.Errorf("%+v", r)
		}
	})
	t.Run("the refused address loses its live entry and its listing", func(t *testing.T) {
		w := setUp(t)
		w.register(reg("x", 1, "B", version(5, 1, 1)))
		r := w.register(reg("x", 0, "B", version(4, 1, 1)))
		if !r.Conflict || !r.Changed || w.state().Live("c", "B") != nil || w.members("x") != "0=A" {
			t.Errorf("%+v, members %s", r, w.members("x"))
		}
	})
	for _, state := range []int64{5, 6} {
		t.Run("equal or higher state takes over", func(t *testing.T) {
			w := setUp(t)
			r := w.register(reg("x", 0, "B", version(state, 1, 1)))
			if r.Conflict || w.members("x") != "0=B" || w.state().Live("c", "A") != nil {
				t.Errorf("%+v, members %s", r, w.members("x"))
			}
		})
	}
}

// Case: a broker restarts with a new address under its id; the expiry of the old
// address must hurt nothing.
func TestRegisterNewAddressUnderOldID(t *testing.T) {
	w := newWorld(t)
	w.register(reg("x", 0, "A"))
	old := w.state().Live("c", "A").Registered
	w.register(reg("x", 0, "B"))
	before := w.state()
	r := w.apply(EncodeExpire([]Expired{{Key: Key("c", "A"), Registered: old}}))
	if r.Count != 0 || r.Changed || w.state() != before || w.members("x") != "0=B" || w.perm("t1", "x") != 6 {
		t.Errorf("%+v, members %s", r, w.members("x"))
	}
}

func TestRegisterRoleSwitch(t *testing.T) {
	w := newWorld(t)
	w.register(reg("x", 0, "A", version(1, 1, 1)))
	w.register(reg("x", 1, "B", version(1, 1, 1)))
	w.register(reg("x", 0, "B", version(2, 1, 1)))
	if got := w.members("x"); got != "0=B" {
		t.Fatalf("members %s", got)
	}
	w.register(reg("x", 1, "A", version(2, 1, 1)))
	if got := w.members("x"); got != "0=B 1=A" {
		t.Errorf("members %s", got)
	}
}

func TestRegisterDataVersion(t *testing.T) {
	w := newWorld(t)
	w.register(reg("x", 0, "A"))

	r := w.register(reg("x", 0, "A", perms(4)))
	if w.perm("t1", "x") != 6 || r.Changed {
		t.Errorf("equal version changed an entry: perm %d, %+v", w.perm("t1", "x"), r)
	}
	r = w.register(reg("x", 0, "A", topics("t1", "t2", "t3")))
	if w.perm("t3", "x") != 6 || !r.Changed {
		t.Errorf("equal version did not add a missing topic: %+v", r)
	}
	w.register(reg("x", 0, "A", perms(4), version(0, 0, 9)))
	if w.perm("t1", "x") != 4 || w.perm("t3", "x") != 6 {
		t.Errorf("other version: perms %d and %d", w.perm("t1", "x"), w.perm("t3", "x"))
	}
}

func TestRegisterTopicNamedTwice(t *testing.T) {
	twice := func(r *Registration) {
		r.Topics = append(configs("t1", "t2"), protocol.TopicConfig{Name: "t1", Perm: 4})
	}
	w := newWorld(t)
	w.register(reg("x", 0, "A", twice))
	if got := w.perm("t1", "x"); got != 4 {
		t.Errorf("perm %d, the later one counts", got)
	}
	w.apply(EncodeDeleteTopic("t1", ""))
	w.register(reg("x", 0, "A", twice))
	if got := w.perm("t1", "x"); got != 4 {
		t.Errorf("perm %d after an equal version, the later one counts", got)
	}
}

// Case: all topics turned read-only when a follower joined.
func TestRegisterPrimeSlave(t *testing.T) {
	for _, tc := range []struct {
		name   string
		acting Acting
		with   []int64 // ids that register, the last one with topic "new"
		perm   int32   // of t1 and of new; -1: new is not there
	}{
		{"old slave supplies nothing", ActingAbsent, []int64{1}, -1},
		{"lone slave supplies topics", ActingFalse, []int64{1}, 6},
		{"lone slave of an acting group takes no messages", ActingTrue, []int64{1}, 4},
		{"second slave supplies nothing", ActingTrue, []int64{1, 2}, -1},
		{"slave beside its master supplies nothing", ActingTrue, []int64{0, 1}, -1},
		{"candidate beside a master keeps the write bit", ActingTrue, []int64{0, -1}, 6},
		{"candidate alone in an acting group", ActingTrue, []int64{-1}, 4},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t)
			for i, id := range tc.with {
				r := reg("x", id, string(rune('A'+i)), acting(tc.acting))
				if i == len(tc.with)-1 {
					topics("t1", "new")(r)
				}
				w.register(r)
			}
			if got := w.perm("new", "x"); got != tc.perm {
				t.Errorf("perm %d, want %d", got, tc.perm)
			}
		})
	}
}

func TestActingMasterLosesAndRegainsWriteBit(t *testing.T) {
	w := newWorld(t)
	master := reg("x", 0, "A", acting(ActingTrue))
	w.register(master)
	w.register(reg("x", 1, "B", acting(ActingTrue)))
	w.apply(EncodeUnregister(unreg(master)))
	if got := w.perm("t1", "x"); got != 4 {
		t.Errorf("perm %d without a master, want 4", got)
	}
	w.register(master)
	if got := w.perm("t1", "x"); got != 6 {
		t.Errorf("perm %d with the master back, want 6", got)
	}
}

// Case: a cluster is renamed; the expiry of the old identity must not hurt.
func TestRegisterRenamedCluster(t *testing.T) {
	w := newWorld(t)
	w.register(reg("x", 0, "A", cluster("c1")))
	w.register(reg("x", 1, "B", cluster("c1")))
	w.register(reg("x", 0, "A", cluster("c2")))
	s := w.state()
	if s.Live("c1", "A") != nil || s.Live("c2", "A") == nil || s.Live("c1", "B") == nil {
		t.Fatal("wrong live entries")
	}
	want := []protocol.Cluster{{Name: "c2", Brokers: []string{"x"}}}
	if diff := cmp.Diff(want, s.Clusters()); diff != "" {
		t.Error(diff)
	}
	w.apply(EncodeExpire([]Expired{{Key: Key("c1", "B"), Registered: s.Live("c1", "B").Registered}}))
	if got := w.members("x"); got != "0=A" {
		t.Errorf("members %s after the member under the old name expired", got)
	}
}

func TestRegisterOneBrokerNameInTwoClusters(t *testing.T) {
	w := newWorld(t)
	for range 3 {
		w.register(reg("x", 0, "A", cluster("c1")))
		w.register(reg("x", 0, "B", cluster("c2")))
	}
	if got := w.members("x"); got != "0=B" || w.state().Broker("x").Cluster != "c2" {
		t.Errorf("members %s", got)
	}
	if n := w.state().Counts().Addresses; n != 1 {
		t.Errorf("%d live entries", n)
	}
}

func TestRegisterAddressUnderAnotherName(t *testing.T) {
	w := newWorld(t)
	w.register(reg("x", 0, "A"))
	w.register(reg("y", 0, "A", topics("t1", "u")))
	if w.members("x") != "" || w.perm("t1", "x") != -1 || w.state().Topic("t2") != nil {
		t.Error("the old broker name is still there")
	}
	if w.members("y") != "0=A" || w.perm("t1", "y") != 6 {
		t.Error("the new broker name is not there")
	}
}

func TestRegisterZoneAndActingFollowEach(t *testing.T) {
	w := newWorld(t)
	zone := func(r *Registration) { r.Zone = "z1" }
	w.register(reg("x", 0, "A", zone, acting(ActingTrue)))
	if g := w.state().Broker("x"); g.Zone != "z1" || !g.Acting {
		t.Fatalf("%+v", g)
	}
	w.register(reg("x", 1, "B"))
	if g := w.state().Broker("x"); g.Zone != "" || g.Acting {
		t.Errorf("a slave's registration did not overwrite: %+v", g)
	}
}

func TestRegisterFilters(t *testing.T) {
	w := newWorld(t)
	read := func() []string { return w.state().Live("c", "A").Filters }
	w.register(reg("x", 0, "A", filters("f1", "f2")))
	first := w.state().FiltersVersion()
	w.register(reg("x", 0, "A", filters("f1", "f2")))
	w.register(reg("x", 0, "A", func(r *Registration) { r.HasFilters = false }))
	if diff := cmp.Diff([]string{"f1", "f2"}, read()); diff != "" || w.state().FiltersVersion() != first {
		t.Errorf("absent filters did not leave them: %s", diff)
	}
	w.register(reg("x", 0, "A", filters()))
	if len(read()) != 0 || w.state().FiltersVersion() == first {
		t.Error("empty filters did not remove them")
	}
}

// Case: a topic that a broker has no more stays, unless the switch says otherwise.
func TestRegisterWithFewerTopics(t *testing.T) {
	for _, tc := range []struct {
		name   string
		option string
		maps   []protocol.QueueMapping
		gone   bool
	}{
		{"off", "false", nil, false},
		{"on", "true", nil, true},
		{"on, with static mappings", "true", []protocol.QueueMapping{mapping("t1", "x", 1)}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t)
			w.set("deleteTopicWithBrokerRegistration", tc.option)
			w.register(reg("x", 0, "A"))
			w.register(reg("y", 0, "B"))
			w.register(reg("x", 0, "A", topics("t1", "t3"), mappings(tc.maps...)))
			if gone := w.perm("t2", "x") == -1; gone != tc.gone {
				t.Errorf("t2 gone: %v", gone)
			}
			if w.perm("t2", "y") != 6 {
				t.Error("another broker lost the topic")
			}
		})
	}
}

func TestRegisterMappings(t *testing.T) {
	w := newWorld(t)
	w.register(reg("x", 0, "A", mappings(mapping("t1", "x", 7), mapping("static", "x", 7))))
	stored := func(topic string) []protocol.QueueMapping {
		if t := w.state().Topic(topic); t != nil {
			return t.Mappings
		}
		return nil
	}
	if diff := cmp.Diff([]protocol.QueueMapping{mapping("t1", "x", 7)}, stored("t1")); diff != "" {
		t.Error(diff)
	}
	if len(stored("static")) != 1 || w.state().Counts().Topics != 2 {
		t.Error("a mapping alone makes no route")
	}
	w.register(reg("x", 0, "A", mappings(mapping("t1", "x", 8))))
	if stored("t1")[0].Epoch != 7 {
		t.Error("an equal version replaced a mapping")
	}
	w.register(reg("x", 0, "A", mappings(mapping("t1", "x", 3)), version(0, 2, 2)))
	if stored("t1")[0].Epoch != 3 {
		t.Error("the last one registered counts, whatever its epoch")
	}
	w.apply(EncodeDeleteTopic("t1", ""))
	if len(stored("t1")) != 1 {
		t.Error("deleting a topic took its mapping")
	}
	w.apply(EncodeUnregister(unreg(reg("x", 0, "A"))))
	if w.state().Topic("t1") != nil || w.state().Topic("static") != nil {
		t.Error("mappings outlived their broker")
	}
}

func TestRegisterIndexes(t *testing.T) {
	w := newWorld(t)
	indexes := func() [2]uint64 {
		l := w.state().Live("c", "A")
		return [2]uint64{l.Registered, l.Birth}
	}
	for _, step := range []struct {
		name  string
		reg   *Registration
		want  [2]uint64
		dirty bool
	}{
		{"unknown address is born", reg("x", 0, "A"), [2]uint64{1, 1}, true},
		{"unchanged registration", reg("x", 0, "A"), [2]uint64{2, 1}, false},
		{"new birth", reg("x", 0, "A", func(r *Registration) { r.NewBirth = true }), [2]uint64{3, 3}, false},
		{"changed registration", reg("x", 0, "A", version(0, 2, 2)), [2]uint64{4, 3}, true},
		{"new id", reg("x", 1, "A", version(0, 2, 2)), [2]uint64{5, 3}, true},
	} {
		r := w.register(step.reg)
		if got := indexes(); got != step.want || r.Birth != got[1] || r.Changed != step.dirty {
			t.Errorf("%s: registered and birth %v, want %v; %+v", step.name, got, step.want, r)
		}
	}
}

func TestRegisterKeepsUntouchedTopics(t *testing.T) {
	w := newWorld(t)
	w.register(reg("x", 0, "A", topics("t1", "t2", "t3")))
	before := w.state()
	changed := reg("x", 0, "A", topics("t1", "t2", "t3"), version(0, 2, 2))
	changed.Topics[1].Perm = 4
	w.register(changed)
	after := w.state()
	for name, same := range map[string]bool{"t1": true, "t2": false, "t3": true} {
		if got := before.Topic(name) == after.Topic(name); got != same {
			t.Errorf("%s: same pointer %v", name, got)
		}
	}
	if before.BrokersVersion() != after.BrokersVersion() || before.Broker("x") != after.Broker("x") {
		t.Error("the group was replaced by an equal one")
	}
	if before.TopicsVersion() == after.TopicsVersion() {
		t.Error("the topic table has its old version")
	}
}

func TestRegisterDryRunChangesNothing(t *testing.T) {
	w := newWorld(t)
	w.register(reg("x", 0, "A"))
	before, snapshot := w.state(), w.snapshot()
	if _, out := before.Register(reg("x", 0, "A", perms(4), version(0, 2, 2)), 99); !out.Changed {
		t.Error("not changed")
	}
	next, out := before.Register(reg("x", 0, "A"), 99)
	if out.Changed || next.TopicsVersion() != before.TopicsVersion() || next.BrokersVersion() != before.BrokersVersion() {
		t.Errorf("an equal registration changes tables: %+v", out)
	}
	if diff := cmp.Diff(snapshot, snapshotOf(t, before, w.index)); diff != "" {
		t.Error("the state it was asked of changed")
	}
}

func TestBasis(t *testing.T) {
	r := reg("x", 0, "A")
	for _, tc := range []struct {
		name    string
		command []byte
		same    bool
	}{
		{"kv", EncodePutKV("n", "k", "v"), true},
		{"other broker", EncodeRegister(reg("y", 0, "B", topics("t1", "t9"))), true},
		{"topic deleted", EncodeDeleteTopic("t1", ""), false},
		{"topic deleted in the cluster", EncodeDeleteTopic("t1", "c"), false},
		{"topic registered", EncodeRegisterTopic("t9", []protocol.QueueData{{BrokerName: "x", Perm: 6}}), false},
		{"renewed", EncodeRegister(r), false},
		{"slave", EncodeRegister(reg("x", 1, "B")), false},
		{"option", EncodeSetOptions(map[string]string{"supportActingMaster": "true"}), false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t)
			w.register(r)
			before := w.state().Basis("c", "A", "x")
			w.apply(tc.command)
			if got := w.state().Basis("c", "A", "x") == before; got != tc.same {
				t.Errorf("same: %v", got)
			}
		})
	}
}
