package nameserver

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"namesrv/cluster"
	"namesrv/fsm"
)

func filled(t *testing.T) *rig {
	r := newRig(t)
	r.put("NS", "k", "v")
	if _, err := r.group.Propose(t.Context(), fsm.EncodeRegister(&fsm.Registration{Broker: "b", Addr: "a:1", Cluster: "c"})); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *rig) put(ns, key, value string) {
	r.t.Helper()
	if err := r.service.PutKV(r.t.Context(), ns, key, value); err != nil {
		r.t.Fatal(err)
	}
}

func saved(t *testing.T, r *rig) []byte {
	t.Helper()
	tables, index, err := r.service.Save(t.Context())
	if err != nil || index < 2 {
		t.Fatalf("index %d, %v", index, err)
	}
	raw, err := WriteSnapshot(tables, index)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func TestSaveAndRestore(t *testing.T) {
	snapshot := saved(t, filled(t))
	r := newRig(t)
	r.put("other", "x", "y")
	if n, err := r.service.Restore(t.Context(), "r", snapshot); err != nil || n != 1 {
		t.Fatalf("%d addresses, %v", n, err)
	}
	all, err := r.service.AllKV(t.Context())
	if diff := cmp.Diff(map[string]map[string]string{"NS": {"k": "v"}}, all); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	if r.tables.State().Broker("b") == nil {
		t.Error("the broker is missing")
	}
}

func TestSaveNeedsALeader(t *testing.T) {
	r := filled(t)
	r.group.set(func(g *fakeGroup) { g.confirm = cluster.ErrNoLeader })
	if _, _, err := r.service.Save(t.Context()); !errors.Is(err, cluster.ErrNoLeader) {
		t.Errorf("%v: a backup of what may be old", err)
	}
	if _, err := r.service.AllKV(t.Context()); !errors.Is(err, cluster.ErrNoLeader) {
		t.Errorf("%v: an export of what may be old", err)
	}
}

func TestRestoreOfGarbageChangesNothing(t *testing.T) {
	good := saved(t, filled(t))
	r := filled(t)
	before := r.group.entries()
	for name, raw := range map[string][]byte{"empty": nil, "cut": good[:len(good)/2], "json": []byte("{}")} {
		if _, err := r.service.Restore(t.Context(), "r", raw); !errors.Is(err, ErrRefused) {
			t.Errorf("%s: %v, want ErrRefused", name, err)
		}
	}
	if r.group.entries() != before {
		t.Error("something was logged")
	}
}

func TestRestoreThatWasOvertakenIsRefused(t *testing.T) {
	snapshot := saved(t, filled(t))
	r := newRig(t)
	other, err := fsm.EncodeUpload("other", snapshot)
	if err != nil {
		t.Fatal(err)
	}
	r.group.set(func(g *fakeGroup) {
		g.hold = func(n int) {
			if n == 1 { // somebody else began after this one
				g.index++
				if _, err := g.tables.Apply(g.index, other[0].Command); err != nil {
					t.Error(err)
				}
			}
		}
	})
	if _, err := r.service.Restore(t.Context(), "r", snapshot); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "another one has begun") {
		t.Errorf("%v", err)
	}
}

func TestSettingsForAPerson(t *testing.T) {
	r := newRig(t)
	list, err := r.service.Settings(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	shared := map[string]bool{}
	for _, s := range list {
		shared[s.Name] = s.Shared
	}
	if own, ok := shared["clientRequestThreadPoolNums"]; !ok || own || !shared["orderMessageEnable"] {
		t.Errorf("settings: %v", shared)
	}
	for change, want := range map[string]string{
		"orderMessageEnabled=true": "there is no setting", "orderMessageEnable=yes": "neither true nor false",
		"clientRequestThreadPoolNums=many": "not a whole number", "clientRequestThreadPoolNums=0": "must be from", "dataDir=/tmp": "cannot be changed while", "kvConfigPath=/x": "cannot be changed while",
	} {
		name, value, _ := strings.Cut(change, "=")
		if err := r.service.SetSettings(t.Context(), map[string]string{name: value}); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), want) || strings.Count(err.Error(), "refused") != 1 {
			t.Errorf("%s: %v, want a refusal that says %q", change, err, want)
		}
	}
	if err := r.service.SetSettings(t.Context(), map[string]string{"orderMessageEnable": "true"}); err != nil || !r.tables.State().Options().OrderMessageEnable {
		t.Errorf("%v", err)
	}
}
