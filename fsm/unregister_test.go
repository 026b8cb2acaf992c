package fsm

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"namesrv/remoting/protocol"
)

func TestUnregisterNeedsTheWholeIdentity(t *testing.T) {
	right := unreg(reg("x", 0, "B"))
	for _, tc := range []struct {
		name   string
		change func(*Unregistration)
		gone   bool
	}{
		{"right", func(*Unregistration) {}, true},
		{"another id", func(u *Unregistration) { u.ID = 1 }, false},
		{"another address", func(u *Unregistration) { u.Addr = "A" }, false},
		{"another broker name", func(u *Unregistration) { u.Broker = "y" }, false},
		{"another cluster", func(u *Unregistration) { u.Cluster = "d" }, false},
		{"birth it may remove", func(u *Unregistration) { u.BirthAtMost = 2 }, true},
		{"born later", func(u *Unregistration) { u.BirthAtMost = 1 }, false},
		{"nothing", func(u *Unregistration) { *u = Unregistration{} }, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t)
			w.register(reg("x", 0, "A", version(1, 1, 1)))
			w.register(reg("x", 0, "B", version(2, 1, 1)))
			u := right
			tc.change(&u)
			r := w.apply(EncodeUnregister(u))
			if gone := w.members("x") == ""; gone != tc.gone || r.Code != protocol.Success || r.Changed != tc.gone {
				t.Errorf("gone %v, %+v", gone, r)
			}
		})
	}
}

func TestUnregisterLastAddressTakesTheBroker(t *testing.T) {
	w := newWorld(t)
	w.register(reg("x", 0, "A", filters("f")))
	w.register(reg("x", 1, "B"))
	w.register(reg("y", 0, "C", topics("t2", "t3")))
	w.apply(EncodeUnregister(unreg(reg("x", 0, "A"))))
	if w.perm("t1", "x") != 6 || w.members("x") != "1=B" {
		t.Error("topics went with the first address")
	}
	w.apply(EncodeUnregister(unreg(reg("x", 1, "B"))))
	if w.state().Topic("t1") != nil || w.perm("t2", "x") != -1 || w.perm("t2", "y") != 6 {
		t.Error("wrong topics are left")
	}
	want := Counts{Topics: 2, QueueEntries: 2, Brokers: 1, Addresses: 1}
	if diff := cmp.Diff(want, w.state().Counts()); diff != "" {
		t.Error(diff)
	}
}

func TestExpireOnlyWhatWasSeen(t *testing.T) {
	w := newWorld(t)
	w.register(reg("x", 0, "A"))
	w.register(reg("y", 0, "B"))
	w.register(reg("z", 0, "C"))
	list := []Expired{
		{Key("c", "A"), 1},
		{Key("c", "A"), 1},
		{Key("c", "B"), 1},
		{Key("c", "unknown"), 1},
		{"no key", 3},
		{Key("c", "C"), 3},
	}
	r := w.apply(EncodeExpire(list))
	if r.Count != 2 || w.members("x") != "" || w.members("y") != "0=B" || w.members("z") != "" {
		t.Errorf("%+v", r)
	}
}

func TestExpireWholeActingGroupAtOnce(t *testing.T) {
	w := newWorld(t)
	w.set("notifyMinBrokerIdChanged", "true")
	w.register(reg("x", 0, "A", acting(ActingTrue)))
	w.register(reg("x", 1, "B", acting(ActingTrue)))
	r := w.apply(EncodeExpire([]Expired{{Key("c", "A"), 2}, {Key("c", "B"), 3}}))
	if r.Count != 2 || len(r.Notices) != 0 || w.state().Counts() != (Counts{}) {
		t.Errorf("%+v, %+v", r, w.state().Counts())
	}
}

func TestTouch(t *testing.T) {
	w := newWorld(t)
	w.register(reg("x", 0, "A"))
	before := w.state()
	r := w.apply(EncodeTouch(Key("c", "A"), 1))
	l := w.state().Live("c", "A")
	if r.Code != protocol.Success || r.Birth != 2 || l.Registered != 2 || l.Birth != 2 {
		t.Errorf("%+v, %+v", r, l)
	}
	if w.state().BrokersVersion() != before.BrokersVersion() || w.state().FiltersVersion() != before.FiltersVersion() {
		t.Error("a touch changed other tables")
	}
	if w.state().LivesVersion() == before.LivesVersion() {
		t.Error("a touch left the version of the live entries")
	}
	for _, command := range [][]byte{
		EncodeTouch(Key("c", "A"), 1), EncodeTouch(Key("c", "B"), 2), EncodeTouch("", 2),
	} {
		before := w.state()
		if r := w.apply(command); r.Code != protocol.SystemError || r.Remark != RemarkStale || r.Changed || w.state() != before {
			t.Errorf("%+v", r)
		}
	}
}

func TestNotices(t *testing.T) {
	lost := func(w *world, r *Registration) []MinIDNotice { return w.apply(EncodeUnregister(unreg(r))).Notices }
	slave := reg("x", 1, "B", acting(ActingTrue))
	third := reg("x", 2, "C", acting(ActingTrue))
	master := reg("x", 0, "A", acting(ActingTrue))
	joined := []MinIDNotice{{Broker: "x", MinAddr: "A", HAAddr: "ha-A", Recipients: []string{"B", "C"}}}
	left := []MinIDNotice{{Broker: "x", MinID: 1, MinAddr: "B", OfflineAddr: "A", Recipients: []string{"B", "C"}}}
	for _, tc := range []struct {
		name   string
		option string
		run    func(w *world) []MinIDNotice
		want   []MinIDNotice
	}{
		{"off", "false", func(w *world) []MinIDNotice { return w.register(master).Notices }, nil},
		{"master joins", "true", func(w *world) []MinIDNotice { return w.register(master).Notices }, joined},
		{"master renews", "true", func(w *world) []MinIDNotice { w.register(master); return w.register(master).Notices }, nil},
		{"master leaves", "true", func(w *world) []MinIDNotice { w.register(master); return lost(w, master) }, left},
		{"slave leaves", "true", func(w *world) []MinIDNotice { return lost(w, third) }, nil},
		{"not an acting group", "true", func(w *world) []MinIDNotice {
			w.register(master)
			w.register(reg("x", 2, "C"))
			return lost(w, master)
		}, nil},
		{"first of a name", "true", func(w *world) []MinIDNotice { return w.register(reg("y", -1, "D")).Notices }, nil},
		{"alone, promoted", "true", func(w *world) []MinIDNotice {
			w.register(reg("y", 1, "D"))
			return w.register(reg("y", 0, "D")).Notices
		}, []MinIDNotice{{Broker: "y", MinAddr: "D", HAAddr: "ha-D", Recipients: []string{"D"}}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t)
			w.set("notifyMinBrokerIdChanged", tc.option)
			w.register(slave)
			w.register(third)
			if diff := cmp.Diff(tc.want, tc.run(w)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
