package cluster

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// copied prepares a peer on a copy of a member's directory, at an address of its own.
func copied(t *testing.T, n *testNode) (Config, *testNode) {
	t.Helper()
	eventually(t, "its directory says where it is", func() bool { return peek(n.cfg.DataDir).Address == n.cfg.Advertise })
	cfg, tn := testConfig(t, n.cfg.NodeID, listen(t))
	cfg.DataDir = filepath.Join(t.TempDir(), "copy")
	if err := os.CopyFS(cfg.DataDir, os.DirFS(n.cfg.DataDir)); err != nil {
		t.Fatal(err)
	}
	return cfg, tn
}

func wantTwin(t *testing.T, err error, at string) {
	t.Helper()
	if !errors.Is(err, ErrTwin) {
		t.Errorf("%v, want ErrTwin", err)
	} else if !strings.Contains(err.Error(), at) || strings.Contains(err.Error(), "\n") {
		t.Errorf("%q, want one line that names %s", err, at)
	}
}

func TestCopyBesideARunningMember(t *testing.T) {
	nodes := three(t)
	for name, advertise := range map[string]string{"elsewhere": "", "said to be at the same place": nodes[1].cfg.Advertise} {
		t.Run(name, func(t *testing.T) {
			cfg, _ := copied(t, nodes[1])
			if advertise != "" {
				cfg.Advertise = advertise
			}
			twin, err := Open(cfg)
			if err == nil {
				twin.Close()
			}
			wantTwin(t, err, nodes[1].cfg.Advertise)
		})
	}
	propose(t, nodes[1], "goes on")
}

// TestCopyThatCameFirst promises that a copy which was started while the member was down ends when that one is back.
func TestCopyThatCameFirst(t *testing.T) {
	nodes := three(t)
	leader, rest := leaderOf(t, nodes...)
	original := rest[0]
	cfg, tn := copied(t, original)
	original.Close()
	twin := open(t, cfg, tn)
	eventually(t, "the copy speaks to a member", func() bool { return len(leader.mux.others(twin.MemberID(), 0)) > 0 })
	original = reopen(t, original)
	select {
	case err := <-twin.fatal:
		wantTwin(t, err, original.cfg.Advertise)
	case <-time.After(15 * time.Second):
		t.Fatal("two of the same member run")
	}
	if _, err := original.Confirm(soon(t)); err != nil {
		t.Errorf("the original: %v", err)
	}
	propose(t, original, "goes on")
}
