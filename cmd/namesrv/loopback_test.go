package main

import (
	"bytes"
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"
)

// TestLoopbackAdvertised promises a line at the start for a server that others can reach, and are led astray from.
func TestLoopbackAdvertised(t *testing.T) {
	tests := []struct {
		name     string
		args     []string
		resolves string // addresses of every name, "" for none
		warned   bool
	}{
		{"a name of this machine alone", []string{"--listen", "0.0.0.0:9876"}, "127.0.1.1 ::1", true},
		{"the default address", nil, "127.0.0.1", true},
		{"advertised by such a name", []string{"--advertise", "localhost:9876"}, "::1", true},
		{"a name of the network", []string{"--listen", "0.0.0.0:9876"}, "127.0.1.1 192.0.2.7", false},
		{"no name at all", []string{"--listen", "0.0.0.0:9876"}, "", false},
		{"for this machine alone", []string{"--listen", "127.0.0.1:9876"}, "127.0.0.1", false},
		{"meant so", []string{"--listen", "0.0.0.0:9876", "--advertise", "127.0.0.1:9876"}, "127.0.0.1", false},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			cfg := mustLoadConfig(t, tc.args...)
			var log bytes.Buffer
			cfg.Logger = hclog.New(&hclog.LoggerOptions{Output: &log})
			cfg.warnOfLoopback(t.Context(), func(context.Context, string) ([]netip.Addr, error) {
				if tc.resolves == "" {
					return nil, errors.New("no such host")
				}
				var found []netip.Addr
				for _, ip := range strings.Fields(tc.resolves) {
					found = append(found, netip.MustParseAddr(ip))
				}
				return found, nil
			})
			if warned := strings.Contains(log.String(), "--advertise"); warned != tc.warned || strings.Count(log.String(), "\n") > 1 {
				t.Errorf("log: %s", &log)
			}
		})
	}
}
