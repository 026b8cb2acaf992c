package cluster

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// closedSingle is a lone member with some log, stopped; snapshot says whether it also has a snapshot of all of it.
func closedSingle(t *testing.T, snapshot bool) *testNode {
	t.Helper()
	n := single(t)
	for range 100 {
		propose(t, n, strings.Repeat("command ", 200))
	}
	eventually(t, "it has written down that it is a member", func() bool { return n.identity().Since > 0 })
	if snapshot {
		if err := n.raft().Snapshot().Error(); err != nil {
			t.Fatal(err)
		}
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	return n
}

// openAgain tries to start a closed member once more.
func openAgain(t *testing.T, old *testNode) error {
	t.Helper()
	cfg, _ := testConfig(t, old.cfg.NodeID, listen(t))
	cfg.DataDir, cfg.Single = old.cfg.DataDir, true
	n, err := Open(cfg)
	if err == nil {
		n.Close()
	}
	return err
}

// TestLostLogIsNotBegunAnew: a member whose log is gone has forgotten its votes and what it acknowledged, and must not
// vote again under its name.
func TestLostLogIsNotBegunAnew(t *testing.T) {
	tests := map[string]struct {
		snapshot bool
		lose     func(path string) error
	}{
		"removed":                  {false, os.Remove},
		"removed, with a snapshot": {true, os.Remove},
		"emptied":                  {false, func(path string) error { return os.Truncate(path, 0) }},
		"emptied, with a snapshot": {true, func(path string) error { return os.Truncate(path, 0) }},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			n := closedSingle(t, tt.snapshot)
			if err := tt.lose(filepath.Join(n.cfg.DataDir, logFile)); err != nil {
				t.Fatal(err)
			}
			for range 2 { // the first try leaves a file
				if err := openAgain(t, n); !errors.Is(err, ErrLogLost) || !strings.Contains(err.Error(), "--replace") {
					t.Errorf("started without its log: %v", err)
				}
			}
		})
	}
}

func TestDamagedLogIsSaid(t *testing.T) {
	overwrite := func(from, to int64) func(path string) error {
		return func(path string) error {
			f, err := os.OpenFile(path, os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			_, err = f.WriteAt(bytes.Repeat([]byte{0xa5}, int(to-from)), from)
			return errors.Join(err, f.Close())
		}
	}
	halve := func(path string) error {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		return os.Truncate(path, info.Size()/2)
	}
	for name, damage := range map[string]func(path string) error{
		"both heads": overwrite(0, 8<<10), "pages": overwrite(8<<10, 200<<10), "cut in half": halve,
	} {
		t.Run(name, func(t *testing.T) {
			n := closedSingle(t, false)
			path := filepath.Join(n.cfg.DataDir, logFile)
			if err := damage(path); err != nil {
				t.Fatal(err)
			}
			err := openAgain(t, n)
			if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), startAnew) || strings.Contains(err.Error(), "runtime error") {
				t.Errorf("started on a damaged log: %v", err)
			}
		})
	}
}

func TestDamagedSnapshotIsSaid(t *testing.T) {
	n := closedSingle(t, true)
	files, err := filepath.Glob(filepath.Join(n.cfg.DataDir, "snapshots", "*", "state.bin"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no snapshot: %v", err)
	}
	for _, file := range files {
		if err := os.WriteFile(file, []byte("damaged"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := openAgain(t, n); err == nil || !strings.Contains(err.Error(), startAnew) {
		t.Errorf("started on a damaged snapshot: %v", err)
	}
}

// TestRemovedLogFileEndsTheProcess: what is acknowledged after that would be gone at the next start.
func TestRemovedLogFileEndsTheProcess(t *testing.T) {
	n := single(t)
	if err := os.Rename(filepath.Join(n.cfg.DataDir, logFile), filepath.Join(n.cfg.DataDir, "elsewhere")); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-n.fatal:
		if !strings.Contains(err.Error(), "removed or replaced") {
			t.Errorf("ended for another reason: %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Error("it goes on without its log file")
	}
}
