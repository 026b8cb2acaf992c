package admin

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// awkward are names that a path must carry unharmed.
var awkward = []string{"plain", "%RETRY%group", "a/b", "中", "a b+c", ".", "..", "%2F", "?q=1#f", `"<&>`, "a;b,c"}

func TestKVCarriesEveryName(t *testing.T) {
	f := serve(t, nil)
	client := f.client(t, "")
	for _, name := range awkward {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			if err := client.PutKV(ctx, name, name, "v"+name); err != nil {
				t.Fatalf("PutKV: %v", err)
			}
			got, err := client.GetKV(ctx, name, name)
			if err != nil {
				t.Fatalf("GetKV: %v", err)
			}
			if diff := cmp.Diff(KV{Namespace: name, Key: name, Value: "v" + name}, got); diff != "" {
				t.Errorf("GetKV (-want +got):\n%s", diff)
			}
			all, err := client.ListKV(ctx, name)
			if err != nil {
				t.Fatalf("ListKV: %v", err)
			}
			if diff := cmp.Diff(map[string]string{name: "v" + name}, all); diff != "" {
				t.Errorf("ListKV (-want +got):\n%s", diff)
			}
			if err := client.DeleteKV(ctx, name, name); err != nil {
				t.Fatalf("DeleteKV: %v", err)
			}
			if _, err := client.GetKV(ctx, name, name); !isKind(err, KindNotFound) {
				t.Errorf("GetKV after DeleteKV: %v", err)
			}
		})
	}
}

func TestTopicsAndBrokersCarryEveryName(t *testing.T) {
	f := serve(t, nil)
	client := f.client(t, "")
	for _, name := range awkward {
		if err := client.DeleteTopic(t.Context(), name, name); err != nil {
			t.Errorf("DeleteTopic(%q): %v", name, err)
		}
		if got := f.tables.deleted[len(f.tables.deleted)-1]; got != name+"|"+name {
			t.Errorf("DeleteTopic(%q) arrived as %q", name, got)
		}
		if count, err := client.WipeWrite(t.Context(), name); err != nil || count != len(name) {
			t.Errorf("WipeWrite(%q) = %d, %v", name, count, err)
		}
		if count, err := client.AddWrite(t.Context(), name); err != nil || count != -len(name) {
			t.Errorf("AddWrite(%q) = %d, %v", name, count, err)
		}
	}
}

func TestMembersAndStatus(t *testing.T) {
	f := serve(t, nil)
	client := f.client(t, "")
	f.cluster.members = []Member{{ID: "n1", Member: "n1-3f9c", Peer: "a:9875", Voter: true, Leader: true, Reachable: true, LastIndex: 7, Version: "1"}}
	members, err := client.Members(t.Context())
	if err != nil {
		t.Fatalf("Members: %v", err)
	}
	if diff := cmp.Diff(f.cluster.members, members); diff != "" {
		t.Errorf("Members (-want +got):\n%s", diff)
	}

	f.cluster.status = Status{ID: "n1", State: "follower", Started: time.Unix(1700000000, 0).UTC()}
	f.cluster.notReady = []string{"no leader", "behind"}
	want := f.cluster.status
	want.NotReady = f.cluster.notReady
	got, err := client.Status(t.Context())
	if err != nil {
		t.Fatalf("Status: %v", err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Status (-want +got):\n%s", diff)
	}
	f.cluster.notReady = nil
	if got, err := client.Status(t.Context()); err != nil || !got.Ready || got.NotReady == nil {
		t.Errorf("Status of a ready peer: %+v, %v", got, err)
	}
}

func TestRouteIsPassedThrough(t *testing.T) {
	f := serve(t, nil)
	client := f.client(t, "")
	if _, err := client.Route(t.Context(), "T"); !isKind(err, KindNotFound) {
		t.Errorf("Route of an unknown topic: %v", err)
	}
	f.tables.route = `{"brokerDatas":[], "x":"<&>"}`
	route, err := client.Route(t.Context(), "T")
	if err != nil || string(route) != f.tables.route {
		t.Errorf("Route = %s, %v", route, err)
	}
}

func TestListsAreSortedAndNeverNull(t *testing.T) {
	f := serve(t, nil)
	client := f.client(t, "")
	if topics, err := client.Topics(t.Context()); err != nil || topics == nil {
		t.Errorf("Topics = %v, %v", topics, err)
	}
	if _, err := client.ListKV(t.Context(), "none"); !isKind(err, KindNotFound) {
		t.Errorf("ListKV of an unknown namespace: %v", err)
	}
	f.tables.brokers = []Broker{{Cluster: "c", Name: "b", ID: 1}, {Cluster: "c", Name: "b", ID: 0}, {Cluster: "c", Name: "a", ID: 2}}
	brokers, err := client.Brokers(t.Context())
	if err != nil {
		t.Fatalf("Brokers: %v", err)
	}
	var order []string
	for _, b := range brokers {
		order = append(order, fmt.Sprint(b.Name, b.ID))
	}
	if diff := cmp.Diff([]string{"a2", "b0", "b1"}, order); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}

func TestErrorsKeepTheirMeaning(t *testing.T) {
	tests := []struct {
		name string
		err  error
		want error
		kind Kind
	}{
		{"no leader", fmt.Errorf("put: %w", ErrNoLeader), ErrNoLeader, KindNoLeader},
		{"deadline", fmt.Errorf("put: %w", context.DeadlineExceeded), context.DeadlineExceeded, KindTimeout},
		{"anything else", errors.New("disk on fire"), nil, KindInternal},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			f := serve(t, nil)
			f.tables.err = tc.err
			err := f.client(t, "").PutKV(t.Context(), "ns", "k", "v")
			if !isKind(err, tc.kind) || !strings.Contains(err.Error(), tc.err.Error()) {
				t.Errorf("error %v, want kind %s with %q", err, tc.kind, tc.err)
			}
			if tc.want != nil && !errors.Is(err, tc.want) {
				t.Errorf("error %v is not %v", err, tc.want)
			}
			if other := f.log.String(); !strings.Contains(other, "result="+string(tc.kind)) {
				t.Errorf("audit line lacks the result:\n%s", other)
			}
		})
	}
}

func TestEveryCallHasADeadline(t *testing.T) {
	f := serve(t, func(cfg *Config) { cfg.Timeout = 20 * time.Millisecond })
	f.tables.block = true
	if err := f.client(t, "").PutKV(t.Context(), "ns", "k", "v"); !isKind(err, KindTimeout) {
		t.Errorf("PutKV that never ends: %v", err)
	}
}

func TestClientGivesUpInTime(t *testing.T) {
	f := serve(t, nil)
	f.tables.block = true
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := f.client(t, "").PutKV(ctx, "ns", "k", "v"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("PutKV past its deadline: %v", err)
	}
}

func TestClientAddresses(t *testing.T) {
	for _, bad := range []string{"", "ftp://a", "http://", "http://a b", "http://a?x=1", "http://a#f", "://"} {
		if _, err := NewClient(ClientConfig{URL: bad}); err == nil {
			t.Errorf("NewClient(%q) took it", bad)
		}
	}
	f := serve(t, nil)
	for _, good := range []string{f.url, f.url + "/", strings.TrimPrefix(f.url, "http://")} {
		client, err := NewClient(ClientConfig{URL: good})
		if err != nil {
			t.Fatalf("NewClient(%q): %v", good, err)
		}
		if _, err := client.Topics(t.Context()); err != nil {
			t.Errorf("Topics at %q: %v", good, err)
		}
	}
}

func isKind(err error, kind Kind) bool {
	var failed *Error
	return errors.As(err, &failed) && failed.Kind == kind
}
