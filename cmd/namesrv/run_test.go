package main

import (
	"errors"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"namesrv/internal/rocketmq"
)

// TestFailedStartLeavesNothingOpen promises that a start which fails late gives its ports back.
func TestFailedStartLeavesNothingOpen(t *testing.T) {
	dir := t.TempDir()
	var ports []string
	for range 2 {
		addr, err := rocketmq.FreeAddr()
		if err != nil {
			t.Fatal(err)
		}
		ports = append(ports, addr)
	}
	start := map[string][]string{
		"no certificate of peers": {"--data-dir", filepath.Join(dir, "new"), "--peer-ca", "none", "--peer-cert", "none", "--peer-key", "none"},
		"a directory in use":      {"--data-dir", filepath.Join(dir, "used")},
	}
	member := openMember(t, filepath.Join(dir, "used"))
	t.Cleanup(func() { member.Close() })
	for name, args := range start {
		t.Run(name, func(t *testing.T) {
			cfg := mustLoadConfig(t, append(args, "--listen", "127.0.0.1:0", "--peer-listen", ports[0], "--admin-listen", ports[1])...)
			cfg.Logger = hclog.NewNullLogger()
			if _, err := startPeer(cfg); err == nil || strings.Contains(err.Error(), "closed") {
				t.Errorf("startPeer: %v", err)
			}
			for _, addr := range ports {
				l, err := net.Listen("tcp", addr)
				if err != nil {
					t.Fatal(err)
				}
				l.Close()
			}
		})
	}
}

func TestClosers(t *testing.T) {
	var order []int
	first, last := errors.New("first"), errors.New("last")
	var opened closers
	opened.add(func() error { order = append(order, 1); return first })
	opened.add(func() error { order = append(order, 2); return nil })
	opened.add(func() error { order = append(order, 3); return last })
	if err := opened.close(); !errors.Is(err, first) || !errors.Is(err, last) {
		t.Errorf("close: %v", err)
	}
	if !slices.Equal(order, []int{3, 2, 1}) {
		t.Errorf("closed in the order %v", order)
	}
}
