package systemtest_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRollingRestartKeepsABinaryThatRan promises that scripts/rolling-restart installs nothing that is no namesrv, and
// that namesrv.old is what the three peers ran, however many binaries that do not work are tried after that.
func TestRollingRestartKeepsABinaryThatRan(t *testing.T) {
	mostlyWaits(t)
	s := startScripted(t)
	installed, old := filepath.Join(s.dir, "namesrv"), filepath.Join(s.dir, "namesrv.old")
	good, err := os.ReadFile(installed)
	if err != nil {
		t.Fatal(err)
	}
	holdsGood := func(path string) {
		t.Helper()
		if text, err := os.ReadFile(path); err != nil || !bytes.Equal(text, good) {
			t.Errorf("%s is not the binary that the peers ran: %v", path, err)
		}
	}
	plain := filepath.Join(t.TempDir(), "plain")
	if err := os.WriteFile(plain, []byte("text"), 0o644); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"/nope": "/nope does not exist", plain: "can be started", t.TempDir(): "can be started",
		"/bin/false": "said: nothing", "/bin/echo": "said: version", "/usr/bin/yes": "said: version",
	} {
		code, out := script(t, s.env, "rolling-restart", "--binary", path)
		if code != 1 || strings.Count(strings.TrimSpace(out), "\n") != 0 || !strings.Contains(out, want) || !strings.Contains(out, "nothing was restarted") {
			t.Errorf("%s: exit code %d: %s", path, code, out)
		}
		holdsGood(installed)
		if _, err := os.Stat(old); err == nil {
			t.Errorf("%s: there is a namesrv.old", path)
		}
	}
	working := filepath.Join(t.TempDir(), "namesrv")
	if err := os.WriteFile(working, good, 0o755); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if code, out := script(t, s.env, "rolling-restart", "--binary", brokenBinary(t, working)); code != 1 || !strings.Contains(out, "this cannot work") {
			t.Errorf("exit code %d: %s", code, out)
		}
		holdsGood(old)
	}
	code, out := script(t, s.env, "rolling-restart", "--binary", old)
	restarted(t, code, out, "", "n1", "n2", "n3")
	holdsGood(old)
	holdsGood(installed)
}
