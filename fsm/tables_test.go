package fsm

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"namesrv/remoting/protocol"
)

func twoClusters(t *testing.T) *world {
	w := newWorld(t)
	w.register(reg("x", 0, "A"))
	w.register(reg("y", 0, "B", cluster("d")))
	return w
}

func TestDeleteTopic(t *testing.T) {
	for _, tc := range []struct {
		name, topic, cluster string
		count                int
		x, y                 int32 // permissions of t1 afterwards
	}{
		{"everywhere", "t1", "", 2, -1, -1},
		{"one cluster", "t1", "d", 1, 6, -1},
		{"unknown cluster", "t1", "nope", 0, 6, 6},
		{"unknown topic", "t9", "", 0, 6, 6},
		{"no name", "", "", 0, 6, 6},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := twoClusters(t)
			r := w.apply(EncodeDeleteTopic(tc.topic, tc.cluster))
			if r.Code != protocol.Success || r.Count != tc.count || r.Changed != (tc.count > 0) {
				t.Errorf("%+v", r)
			}
			if x, y := w.perm("t1", "x"), w.perm("t1", "y"); x != tc.x || y != tc.y {
				t.Errorf("perms %d and %d", x, y)
			}
			w.register(reg("x", 0, "A"))
			if w.perm("t1", "x") != 6 {
				t.Error("a registration under the same version did not bring the topic back")
			}
		})
	}
}

func TestRegisterTopicIsAllOrNothing(t *testing.T) {
	queue := func(broker string, perm int32) protocol.QueueData {
		return protocol.QueueData{BrokerName: broker, Read: 4, Write: 4, Perm: perm, SysFlag: 1}
	}
	for _, tc := range []struct {
		name   string
		topic  string
		queues []protocol.QueueData
		perm   int32 // on x afterwards
	}{
		{"new topic", "n", []protocol.QueueData{queue("x", 6), queue("y", 6)}, 6},
		{"known topic", "t1", []protocol.QueueData{queue("x", 4)}, 4},
		{"new topic, unknown broker", "n", []protocol.QueueData{queue("x", 6), queue("zz", 6)}, -1},
		{"known topic, unknown broker", "t1", []protocol.QueueData{queue("x", 4), queue("zz", 6)}, 6},
		{"no queues", "n", nil, -1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := twoClusters(t)
			if r := w.apply(EncodeRegisterTopic(tc.topic, tc.queues)); r.Code != protocol.Success {
				t.Errorf("%+v", r)
			}
			if got := w.perm(tc.topic, "x"); got != tc.perm {
				t.Errorf("perm %d, want %d", got, tc.perm)
			}
		})
	}
}

func TestWritePermission(t *testing.T) {
	w := newWorld(t)
	r := reg("x", 0, "A", topics("t1", "t2", "t3"))
	r.Topics[0].Perm, r.Topics[1].Perm = 7, 4
	w.register(r)
	w.register(reg("y", 0, "B"))
	got := func() [3]int32 { return [3]int32{w.perm("t1", "x"), w.perm("t2", "x"), w.perm("t3", "x")} }
	for range 3 { // copies arrive once for each peer and must all answer the same
		if r := w.apply(EncodeWipeWrite("x")); r.Count != 3 || got() != [3]int32{5, 4, 4} {
			t.Errorf("wiped: %+v, perms %v", r, got())
		}
	}
	w.register(r)
	if got() != [3]int32{5, 4, 4} {
		t.Errorf("an equal version undid the wipe: %v", got())
	}
	for range 3 {
		if r := w.apply(EncodeAddWrite("x")); r.Count != 3 || got() != [3]int32{6, 6, 6} {
			t.Errorf("added: %+v, perms %v", r, got())
		}
	}
	if w.perm("t1", "y") != 6 || w.apply(EncodeWipeWrite("unknown")).Count != 0 {
		t.Error("another broker was visited")
	}
}

func TestKV(t *testing.T) {
	w := newWorld(t)
	w.apply(EncodeDeleteKV("n", "k"))
	if w.state().Namespace("n") != nil {
		t.Fatal("deleting made a namespace")
	}
	if r := w.apply(EncodePutKV("n", "k", "")); !r.Changed {
		t.Error("an empty value was not stored")
	}
	if v, ok := w.state().KV("n", "k"); v != "" || !ok {
		t.Errorf("value %q, %v", v, ok)
	}
	before := w.state().KVVersion()
	if r := w.apply(EncodePutKV("n", "k", "")); r.Changed || w.state().KVVersion() != before {
		t.Error("an equal value changed something")
	}
	w.apply(EncodePutKV("n", "k2", "v; = 中"))
	w.apply(encodePutNullKV("n", "k2"))
	w.apply(EncodeDeleteKV("n", "k"))
	if ns := w.state().Namespace("n"); ns == nil || ns.Len() != 0 {
		t.Error("the emptied namespace is gone")
	}
	w.apply(encodePutNullKV("m", "k"))
	if _, ok := w.state().KV("m", "k"); ok || w.state().Namespace("m") == nil {
		t.Error("a put without a value makes the namespace only")
	}
}

func TestOptions(t *testing.T) {
	w := newWorld(t)
	if diff := cmp.Diff(DefaultOptions(), w.state().Options()); diff != "" {
		t.Error(diff)
	}
	for _, tc := range []struct{ text, want string }{
		{"true", "true"}, {"TRUE", "true"}, {"false", "false"}, {"true ", "false"}, {"1", "false"}, {"", "false"},
	} {
		for _, key := range OptionKeys() {
			w.set(key, tc.text)
			if got, ok := w.state().Options().Get(key); got != tc.want || !ok {
				t.Errorf("%s=%q reads %q", key, tc.text, got)
			}
		}
	}
	before := w.state()
	w.set("listenPort", "1")
	if _, ok := w.state().Options().Get("listenPort"); ok || w.state() != before {
		t.Error("a key that is not an option was taken")
	}
}

func TestInitCountsOnce(t *testing.T) {
	w := newWorld(t)
	if r := w.apply(EncodeInit(map[string]string{"supportActingMaster": "true"}, map[string]map[string]string{"n": {"k": "v"}, "e": nil})); !r.Changed {
		t.Error("not changed")
	}
	if r := w.apply(EncodeInit(map[string]string{"supportActingMaster": "false"}, map[string]map[string]string{"n": {"k": "w"}})); r.Changed {
		t.Error("changed twice")
	}
	s := w.state()
	if v, _ := s.KV("n", "k"); v != "v" || s.Namespace("e") == nil || !s.Options().SupportActingMaster || !s.initialized {
		t.Errorf("value %q, options %+v", v, s.Options())
	}
}

func TestReads(t *testing.T) {
	w := twoClusters(t)
	w.register(reg("x", 1, "A1"))
	w.register(reg("w", 0, "C", topics("t2", "t3")))
	s := w.state()
	clusters := []protocol.Cluster{{Name: "c", Brokers: []string{"w", "x"}}, {Name: "d", Brokers: []string{"y"}}}
	if diff := cmp.Diff(clusters, s.Clusters()); diff != "" {
		t.Error(diff)
	}
	for cluster, want := range map[string][]string{"c": {"t1", "t2", "t3"}, "d": {"t1", "t2"}, "none": nil, "": nil} {
		if diff := cmp.Diff(want, s.TopicsOf(s.ClusterBrokers(cluster))); diff != "" {
			t.Errorf("cluster %q: %s", cluster, diff)
		}
	}
	for _, tc := range []struct {
		name, cluster, broker string
		id                    int64
		addr, ha              string
	}{
		{"slave", "c", "x", 1, "A", "ha-A"},
		{"master itself", "c", "x", 0, "", ""},
		{"master live elsewhere", "d", "x", 1, "", ""},
		{"unknown broker", "c", "zz", 1, "", ""},
	} {
		addr, ha, ok := s.Master(tc.cluster, tc.broker, tc.id)
		if addr != tc.addr || ha != tc.ha || ok != (tc.addr != "") {
			t.Errorf("%s: %q %q %v", tc.name, addr, ha, ok)
		}
	}
	w.apply(EncodeUnregister(unreg(reg("x", 0, "A"))))
	if _, _, ok := w.state().Master("c", "x", 1); ok {
		t.Error("a master that is gone is still told")
	}
	visited := 0
	s.Topics()(func(*Topic) bool { visited++; return false })
	if visited != 1 {
		t.Errorf("an iteration that was left went on: %d", visited)
	}
}

func TestKeys(t *testing.T) {
	pairs := [][2]string{{"", ""}, {"c", "A"}, {"", "cA"}, {"cA", ""}, {"1:c", "A"}, {"c", "1:A"}, {"c\x00", "A"}, {"c", "\x00A"}, {"0123456789a", ":"}}
	seen := make(map[string]bool)
	for _, p := range pairs {
		key := Key(p[0], p[1])
		if seen[key] {
			t.Errorf("%q has the key of another pair", p)
		}
		seen[key] = true
		if c, a, ok := SplitKey(key); c != p[0] || a != p[1] || !ok {
			t.Errorf("%q came back as %q, %q, %v", p, c, a, ok)
		}
	}
	for _, key := range []string{"", "1", ":", "-1:a", "2:a", "01:a", "+1:a", "x:a"} {
		if _, _, ok := SplitKey(key); ok {
			t.Errorf("%q passes for a key", key)
		}
	}
}
