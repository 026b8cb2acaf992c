package admin

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMembershipCalls(t *testing.T) {
	f := serve(t, nil)
	client, ctx := f.client(t, ""), t.Context()
	joined, err := client.Join(ctx, JoinRequest{ID: "n4", Address: "ns4:9875", Replace: true})
	if want := (Change{ID: "n4", Member: "n4-ns4:9875", Outcome: OutcomeAdded, VotersAfter: 4, Warnings: []string{}}); err != nil || cmp.Diff(want, joined) != "" {
		t.Errorf("Join: %v %s", err, cmp.Diff(want, joined))
	}
	for _, force := range []bool{false, true} {
		if removed, err := client.Remove(ctx, "n/4", force); err != nil || removed.ID != "n/4" || removed.Outcome != fmt.Sprint(OutcomeRemoved, force) {
			t.Errorf("Remove: %+v, %v", removed, err)
		}
	}
	if moved, err := client.Transfer(ctx, "n2"); err != nil || moved.ID != "n2" {
		t.Errorf("Transfer: %+v, %v", moved, err)
	}
	for _, part := range []string{"audit: join: who=127.0.0.1:", "id=n4 address=ns4:9875 replace=true", "audit: remove member:", "id=n/4 force=true", "audit: transfer leadership:", "to=n2"} {
		if !strings.Contains(f.log.String(), part) {
			t.Errorf("no %q in:\n%s", part, f.log)
		}
	}
}

func TestRefusedKeepsItsMeaning(t *testing.T) {
	f := serve(t, nil)
	f.cluster.err = fmt.Errorf("%w: it is the last peer", ErrRefused)
	_, err := f.client(t, "").Remove(t.Context(), "n1", true)
	if !errors.Is(err, ErrRefused) || !isKind(err, KindRefused) || !strings.Contains(err.Error(), "last peer") {
		t.Errorf("%v, want ErrRefused with its reason", err)
	}
	if !strings.Contains(f.log.String(), "result=refused") {
		t.Errorf("audit line lacks the result:\n%s", f.log)
	}
}

func TestJudge(t *testing.T) {
	member := func(id string, change func(*Member)) Member {
		m := Member{ID: id, Peer: id + ":9875", Voter: true, Reachable: true, Version: "1"}
		if change != nil {
			change(&m)
		}
		return m
	}
	down := func(m *Member) { m.Reachable = false }
	up := func(ids ...string) (list []Member) {
		for _, id := range ids {
			list = append(list, member(id, nil))
		}
		return list
	}
	tests := []struct {
		name     string
		leader   string
		members  []Member
		reasons  []string // parts, in order; none: healthy
		warnings []string
	}{
		{"three of three", "n1", up("n1", "n2", "n3"), nil, nil},
		{"one", "n1", up("n1"), nil, []string{"only one voter"}},
		{"two", "n1", up("n1", "n2"), []string{"2 of 2 voters can be reached and 2 are needed: the loss of one more"}, nil},
		{"four", "n1", up("n1", "n2", "n3", "n4"), nil, []string{"odd number is better"}},
		{"no leader", "", up("n1", "n2", "n3"), []string{"no leader is known to n1"}, nil},
		{"one down", "n1", append(up("n1", "n2"), member("n3", down)), []string{"n3 (n3:9875) cannot be reached from n1", "the loss of one more"}, nil},
		{"two down", "n1", append(up("n1"), member("n2", down), member("n3", down)), []string{"n2", "n3", "nothing can be changed"}, nil},
		{"a little behind", "n1", append(up("n1", "n2"), member("n3", func(m *Member) { m.Lag = lagLimit })), nil, nil},
		{"far behind", "n1", append(up("n1", "n2"), member("n3", func(m *Member) { m.Lag = lagLimit + 1 })), []string{"n3 is 1001 log entries behind"}, nil},
		{"a newcomer", "n1", append(up("n1", "n2", "n3"), member("n4", func(m *Member) { m.Voter, m.Lag = false, 9 })), nil, []string{"n4 has no vote yet"}},
		{"an upgrade", "n1", append(up("n1", "n2"), member("n3", func(m *Member) { m.Version = "2" })), nil, []string{"different versions: 1, 2"}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			h := judge(Status{ID: "n1", Leader: tc.leader}, tc.members)
			if h.Healthy != (len(tc.reasons) == 0) {
				t.Errorf("healthy is %v", h.Healthy)
			}
			wantParts(t, "reasons", tc.reasons, h.Reasons)
			wantParts(t, "warnings", tc.warnings, h.Warnings)
		})
	}
}

func wantParts(t *testing.T, what string, want, got []string) {
	t.Helper()
	if len(want) != len(got) {
		t.Errorf("%s %q, want %q", what, got, want)
		return
	}
	for i := range want {
		if !strings.Contains(got[i], want[i]) {
			t.Errorf("%s: %q lacks %q", what, got[i], want[i])
		}
	}
}

func TestHealthIsAsked(t *testing.T) {
	f := serve(t, nil)
	f.cluster.status, f.cluster.notReady = Status{ID: "n1", Leader: "n1"}, []string{"it is stopping"}
	f.cluster.members = []Member{{ID: "n1", Voter: true, Reachable: true}}
	h, err := f.client(t, "").Health(t.Context())
	if err != nil || h.Healthy || len(h.Reasons) != 1 || !strings.Contains(h.Reasons[0], "it is stopping") {
		t.Errorf("%+v, %v", h, err)
	}
}

func TestAddressServer(t *testing.T) {
	names := map[string]string{"ns1": "2001:db8::1 10.0.0.2 10.0.0.1", "six": "2001:db8::6", "mapped": "::ffff:10.0.0.9"}
	f := serve(t, func(cfg *Config) {
		cfg.Token = "secret" // brokers have none
		cfg.Resolve = func(_ context.Context, host string) (ips []netip.Addr, err error) {
			for _, text := range strings.Fields(names[host]) {
				ips = append(ips, netip.MustParseAddr(text))
			}
			if len(ips) == 0 {
				return nil, errors.New("no such host")
			}
			return ips, nil
		}
	})
	tests := []struct {
		name      string
		addresses []string
		status    int
		want      string
	}{
		{"names and addresses", []string{"ns1:9876", "192.0.2.7:1", "mapped:2"}, 200, "10.0.0.1:9876;192.0.2.7:1;10.0.0.9:2"},
		{"IPv6", []string{"six:9876", "[2001:db8::7]:1"}, 200, "[2001:db8::6]:9876;[2001:db8::7]:1"},
		{"one does not resolve", []string{"gone:9876", "ns1:9876"}, 200, "10.0.0.1:9876"},
		{"one twice", []string{"ns1:9876", "10.0.0.1:9876"}, 200, "10.0.0.1:9876"},
		{"none resolves", []string{"gone:9876"}, 503, ""},
		{"none known", nil, 503, ""},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			f.cluster.addresses = tc.addresses
			for _, path := range []string{"/rocketmq/nsaddr", "/rocketmq/nsaddr-unit?nofix=1", "/rocketmq/anything"} {
				status, text := send(t, "GET", f.url+path, "", nil)
				if status != tc.status || tc.status == 200 && text != tc.want {
					t.Errorf("%s answered %d %q, want %d %q", path, status, text, tc.status, tc.want)
				}
			}
		})
	}
	names["ns1"] = "10.0.0.3"
	f.cluster.addresses = []string{"ns1:9876"}
	if _, text := send(t, "GET", f.url+"/rocketmq/nsaddr", "", nil); text != "10.0.0.3:9876" {
		t.Errorf("a name that moved: %q", text)
	}
}
