package admin

import (
	"context"
	"net/netip"
	"slices"
	"testing"
)

// TestAddressServerAfterAStart promises that a peer names no members before it has caught up, since they may be gone for
// long, and goes on naming those it knows when its leader is lost later.
func TestAddressServerAfterAStart(t *testing.T) {
	f := serve(t, nil)
	f.cluster.addresses = []string{"10.0.0.1:9876"}
	steps := []struct {
		name     string
		notReady []string
		status   int
	}{
		{"started", []string{"not caught up with a leader"}, 503},
		{"caught up", nil, 200},
		{"leader lost", []string{"not caught up with a leader"}, 200},
	}
	for _, step := range steps {
		f.cluster.notReady = step.notReady
		if status, text := send(t, "GET", f.url+"/rocketmq/nsaddr", "", nil); status != step.status {
			t.Errorf("%s: answered %d %q, want %d", step.name, status, text, step.status)
		}
	}
}

func TestTold(t *testing.T) {
	tests := []struct {
		name, address string
		ips           []string
		want          string // "" for an error
	}{
		{"an address", "10.0.0.1:9876", nil, "10.0.0.1:9876"},
		{"IPv4 in IPv6", "[::ffff:10.0.0.1]:9876", nil, "10.0.0.1:9876"},
		{"the smallest", "ns1:9876", []string{"10.0.0.2", "10.0.0.1"}, "10.0.0.1:9876"},
		{"IPv4 first", "ns1:9876", []string{"2001:db8::1", "192.0.2.1"}, "192.0.2.1:9876"},
		{"loopback last", "ns1:9876", []string{"127.0.1.1", "2001:db8::1"}, "[2001:db8::1]:9876"},
		{"loopback alone", "ns1:9876", []string{"::1", "127.0.1.1"}, "127.0.1.1:9876"},
		{"no address", "ns1:9876", nil, ""},
		{"no port", "ns1", nil, ""},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			var ips []netip.Addr
			for _, ip := range tc.ips {
				ips = append(ips, netip.MustParseAddr(ip))
			}
			for range 2 {
				got, err := Told(t.Context(), func(context.Context, string) ([]netip.Addr, error) { return slices.Clone(ips), nil }, tc.address)
				if (err != nil) != (tc.want == "") || err == nil && got.String() != tc.want {
					t.Errorf("%v, %v; want %q", got, err, tc.want)
				}
				slices.Reverse(ips)
			}
		})
	}
}
