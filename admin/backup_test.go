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
	if restored, err := client.RestoreSnapshot(ctx, got, false); err != nil || restored.Addresses != len(got.Data) || f.tables.restored[0] != string(got.Data) {
		t.Errorf("%+v, %v", restored, err)
	}
	got.Cluster = "u-2"
	if _, err := client.RestoreSnapshot(ctx, got, false); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "--force") || len(f.tables.restored) != 1 {
		t.Errorf("of another cluster: %v", err)
	}
	if _, err := client.RestoreSnapshot(ctx, got, true); err != nil || len(f.tables.restored) != 2 {
		t.Errorf("of another cluster, forced: %v", err)
	}
	for _, part := range []string{"audit: save snapshot: who=127.0.0.1:", "index=7 result=done", "audit: restore snapshot:", "result=refused", "cluster=u-2 force=true addresses=7 result=done"} {
		if !strings.Contains(f.log.String(), part) {
			t.Errorf("no %q in:\n%s", part, f.log)
		}
	}
	f.tables.err = ErrNoLeader
	if _, err := client.SaveSnapshot(ctx); !errors.Is(err, ErrNoLeader) {
		t.Errorf("without a leader: %v", err)
	}
}

func TestSnapshotsAskForTheToken(t *testing.T) {
	f := serve(t, func(cfg *Config) { cfg.Token = "secret" })
	if _, err := f.client(t, "").SaveSnapshot(t.Context()); !isKind(err, KindUnauthorized) {
		t.Errorf("save: %v", err)
	}
	if _, err := f.client(t, "").RestoreSnapshot(t.Context(), Snapshot{}, true); !isKind(err, KindUnauthorized) || f.tables.restored != nil {
		t.Errorf("restore: %v", err)
	}
}

func TestConfigCalls(t *testing.T) {
	f := serve(t, nil)
	client, ctx := f.client(t, ""), t.Context()
	if list, err := client.Settings(ctx); err != nil || cmp.Diff([]Setting{{Name: "a", Value: "1", Shared: true}}, list) != "" {
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
