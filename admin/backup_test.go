package admin

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSnapshotCalls(t *testing.T) {
	f := serve(t, nil)
	f.cluster.status = Status{Cluster: "u-1"}
	client, ctx := f.client(t, ""), t.Context()
	got, err := client.SaveSnapshot(ctx)
	if diff := cmp.Diff(Snapshot{Cluster: "u-1", Index: 7, Data: []byte("tables\x00")}, got); err != nil || diff != "" {
		t.Fatalf("%v %s", err, diff)
	}
	if restored, err := client.RestoreSnapshot(ctx, "r1", got, false); err != nil || restored.Addresses != len(got.Data) || f.tables.restored[0] != string(got.Data) {
		t.Errorf("%+v, %v", restored, err)
	}
	got.Cluster = "u-2"
	if _, err := client.RestoreSnapshot(ctx, "r1", got, false); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "--force") || len(f.tables.restored) != 1 {
		t.Errorf("of another cluster: %v", err)
	}
	if _, err := client.RestoreSnapshot(ctx, "r1", got, true); err != nil || len(f.tables.restored) != 2 {
		t.Errorf("of another cluster, forced: %v", err)
	}
	for _, part := range []string{"audit: save snapshot: who=127.0.0.1:", "saved_index=7 result=done", "audit: restore snapshot:", "result=refused", "cluster=u-2 force=true restore=r1 addresses=7 result=done"} {
		if !strings.Contains(f.log.String(), part) {
			t.Errorf("no %q in:\n%s", part, f.log)
		}
	}
	f.tables.err = ErrNoLeader
	if _, err := client.SaveSnapshot(ctx); !errors.Is(err, ErrNoLeader) {
		t.Errorf("without a leader: %v", err)
	}
}

func TestRestoresHaveAName(t *testing.T) {
	f := serve(t, nil)
	client, ctx := f.client(t, ""), t.Context()
	if restored, err := client.RestoreSnapshot(ctx, "night-1", Snapshot{}, true); err != nil || restored.ID != "night-1" || f.tables.restoreID != "night-1" {
		t.Errorf("%+v, %v", restored, err)
	}
	if state, err := client.RestoreState(ctx); err != nil || state != (RestoreState{Restored: "night-1", Running: "next", Bytes: 5}) {
		t.Errorf("%+v, %v", state, err)
	}
	if restored, err := client.RestoreSnapshot(ctx, "", Snapshot{}, true); err != nil || len(restored.ID) < 20 || restored.ID != f.tables.restoreID {
		t.Errorf("not named: %+v, %v", restored, err)
	}
	for name, id := range map[string]string{"blank": "a b", "new line": "a\n", "no ASCII": "ü", "long": strings.Repeat("x", 65)} {
		if _, err := client.RestoreSnapshot(ctx, id, Snapshot{}, true); !isKind(err, KindBadRequest) || len(f.tables.restored) != 2 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRefusalOfALargeSnapshotArrives(t *testing.T) {
	large := Snapshot{Cluster: "u-2", Data: make([]byte, 64<<20)} // more than any buffer on its way holds
	f := serve(t, func(cfg *Config) { cfg.Token = "secret" })
	f.cluster.status = Status{Cluster: "u-1"}
	if _, err := f.client(t, "secret").RestoreSnapshot(t.Context(), "r1", large, false); !errors.Is(err, ErrRefused) {
		t.Errorf("of another cluster: %v", err)
	}
	if _, err := f.client(t, "guess").RestoreSnapshot(t.Context(), "r1", large, true); !isKind(err, KindUnauthorized) {
		t.Errorf("without the token: %v", err)
	}
	if restored, err := f.client(t, "secret").RestoreSnapshot(t.Context(), "r1", large, true); err != nil || restored.Addresses != len(large.Data) {
		t.Errorf("taken: %+v, %v", restored, err)
	}
}

func TestSnapshotsAskForTheToken(t *testing.T) {
	f := serve(t, func(cfg *Config) { cfg.Token = "secret" })
	if _, err := f.client(t, "").SaveSnapshot(t.Context()); !isKind(err, KindUnauthorized) {
		t.Errorf("save: %v", err)
	}
	if _, err := f.client(t, "").RestoreSnapshot(t.Context(), "r1", Snapshot{}, true); !isKind(err, KindUnauthorized) || f.tables.restored != nil {
		t.Errorf("restore: %v", err)
	}
}

func TestConfigCalls(t *testing.T) {
	f := serve(t, nil)
	client, ctx := f.client(t, ""), t.Context()
	if list, err := client.Settings(ctx); err != nil || cmp.Diff([]Setting{{Name: "a", Value: "1", Next: "2", Shared: true}}, list) != "" {
		t.Errorf("%+v, %v", list, err)
	}
	want := map[string]string{"b": "2", "a": "secret value"}
	if err := client.SetSettings(ctx, want); err != nil || cmp.Diff(want, f.tables.set) != "" {
		t.Errorf("%v %v", err, f.tables.set)
	}
	if !strings.Contains(f.log.String(), "audit: set config: who=127.0.0.1:") || !strings.Contains(f.log.String(), `settings="a,b" result=done`) || strings.Contains(f.log.String(), "secret value") {
		t.Errorf("audit:\n%s", f.log)
	}
	if err := client.SetSettings(ctx, nil); !isKind(err, KindBadRequest) {
		t.Errorf("nothing to set: %v", err)
	}
}

func TestAllKV(t *testing.T) {
	f := serve(t, nil)
	f.tables.kv["n/s"] = map[string]string{"k": "v"}
	if all, err := f.client(t, "").AllKV(t.Context()); err != nil || cmp.Diff(f.tables.kv, all) != "" {
		t.Errorf("%v, %v", all, err)
	}
}
