package systemtest_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// mostToStop is how many seconds a peer may take to end by itself, as docs/upgrade.md says: with enableShutdownGracefully.
const mostToStop = 40

// TestPeersGetTheTimeToStop promises that whatever ends peers here kills none that is still on its way to end by itself.
func TestPeersGetTheTimeToStop(t *testing.T) {
	kubernetes := deployed(t, "kubernetes", "namesrv.yaml")
	before := secondsIn(t, kubernetes, `(?m)^ *preStop:\n *sleep: {seconds: (\d+)}$`) // is part of the time
	tests := []struct {
		name, file, pattern string
		least               int
	}{
		{"systemd", deployed(t, "systemd", "namesrv.service"), `(?m)^TimeoutStopSec=(\d+)$`, mostToStop},
		{"Compose", filepath.Join("..", "docker-compose.yml"), `(?m)^  stop_grace_period: (\d+)s\b`, mostToStop},
		{"Kubernetes", kubernetes, `(?m)^ *terminationGracePeriodSeconds: (\d+)\b`, mostToStop + before},
		{"scripts", filepath.Join("..", "scripts", "lib.sh"), `(?m)^stop_seconds=(\d+)$`, mostToStop},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			if given := secondsIn(t, tc.file, tc.pattern); given <= tc.least {
				t.Errorf("%s gives %d s, a peer may take %d", tc.file, given, tc.least)
			}
		})
	}
}

// secondsIn finds a number in a file.
func secondsIn(t *testing.T, file, pattern string) int {
	t.Helper()
	given := regexp.MustCompile(pattern).FindStringSubmatch(readFile(t, file))
	if given == nil {
		t.Fatalf("%s has nothing like %s", file, pattern)
	}
	seconds, err := strconv.Atoi(given[1])
	if err != nil {
		t.Fatal(err)
	}
	return seconds
}

// stopScript stops a process that the placeholder starts, and prints what it exited with and what was said.
const stopScript = `set -euo pipefail
. scripts/lib.sh
stop_seconds=1
%START%
pid=$! code=0
echo "$pid" >"$1"
said=$(stop_pid "$1" 2>&1)
wait "$pid" || code=$?
echo "$code $said"`

// TestScriptsSayWhenTheyKill promises that a script which stops a process says so where it had to kill it, and only there.
func TestScriptsSayWhenTheyKill(t *testing.T) {
	tests := []struct{ name, start, prints string }{
		{"ends by itself", "sleep 60 >/dev/null &", `^143 \n$`},
		{"ignores SIGTERM", "trap '' TERM\nsleep 60 >/dev/null &\ntrap - TERM", `^137 process \d+ of \S+ did not end within 1 s after SIGTERM: it is killed\n$`},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			pidFile := filepath.Join(t.TempDir(), "pid")
			cmd := exec.CommandContext(t.Context(), "bash", "-c", strings.Replace(stopScript, "%START%", tc.start, 1), "bash", pidFile)
			cmd.Dir = ".."
			printed, err := cmd.Output()
			if err != nil {
				t.Fatal(err)
			}
			if !regexp.MustCompile(tc.prints).Match(printed) {
				t.Errorf("printed %q, want %s", printed, tc.prints)
			}
			if _, err := os.Stat(pidFile); err == nil {
				t.Error("the file of the process is still there")
			}
		})
	}
}
