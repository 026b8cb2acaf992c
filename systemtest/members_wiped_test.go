package systemtest_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"namesrv/internal/rocketmq"
	"namesrv/systemtest"
)

// statusOf is what a peer says of itself, as the command prints it.
func statusOf(t *testing.T, n *systemtest.Node) (s struct {
	Member string `json:"member"`
	State  string `json:"state"`
	Term   uint64 `json:"term"`
	Last   uint64 `json:"last_index"`
}) {
	t.Helper()
	out := mustCommand(t, n, "cluster", "status", "-o", "json")
	if err := json.Unmarshal([]byte(out), &s); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return s
}

// outside fails unless a peer takes no part in any group: it has no Raft log, no term and no leader.
func outside(t *testing.T, n *systemtest.Node) {
	t.Helper()
	if s := statusOf(t, n); s.State != "waiting" || s.Term != 0 || s.Last != 0 {
		t.Errorf("%s takes part: %+v", n.ID, s)
	}
	if _, err := os.Stat(filepath.Join(n.DataDir(), "raft.db")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s has a Raft log: %v", n.ID, err)
	}
}

// TestWipedPeer promises that a peer which lost its directory and is started by its old command line is no member, never
// votes and says in one line what to do; with --replace it is a voter again within seconds.
func TestWipedPeer(t *testing.T) {
	mostlyWaits(t)
	c := startCluster(t)
	leader, others := leaderOf(t, c)
	if a := ask(t, leader.Client, rocketmq.PutKV("wiped", "key", "value")); a.Code != rocketmq.Success {
		t.Fatalf("put: %+v", a)
	}
	wiped, stays := others[0], others[1]
	was := memberOf(t, leader, wiped).Member
	wiped.Kill()
	if err := os.RemoveAll(wiped.DataDir()); err != nil {
		t.Fatal(err)
	}
	if err := wiped.Launch(); err != nil {
		t.Fatal(err)
	}
	wayOut := "namesrv cluster join " + wiped.ID + " " + wiped.Peer + " --replace"
	line, err := wiped.Process().WaitLine(within(t, 30*time.Second), wayOut)
	if err != nil || !strings.Contains(line, "WARN") {
		t.Fatalf("no warning with the way out: %q, %v", line, err)
	}
	outside(t, wiped)
	if m := memberOf(t, leader, wiped); m.Member != was || m.Reachable {
		t.Errorf("the voters see %+v, want member %s, which is gone", m, was)
	}
	refusedCommand(t, stays, 1, []string{was, "--replace"}, "cluster", "join", wiped.ID, wiped.Peer)

	// One voter of three is left: a vote of the wiped peer would make it a leader.
	stays.Kill()
	before, err := leader.Metric(t.Context(), systemtest.MetricTerm)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, 20*time.Second, "no leader is known", func() error {
		if code, _, stderr := command(t, leader, "cluster", "health"); code != 3 {
			return errors.New(stderr)
		}
		return nil
	})
	waitFor(t, 3*time.Second) // many elections' time
	refusedCommand(t, leader, 3, []string{"no leader"}, "kv", "put", "wiped", "key", "changed")
	if after, err := leader.Metric(t.Context(), systemtest.MetricTerm); err != nil || after != before {
		t.Errorf("term %v was %v (%v): somebody stood for election with the wiped peer's vote in view", after, before, err)
	}
	outside(t, wiped)

	if err := stays.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	mustCommand(t, stays, "cluster", "join", wiped.ID, wiped.Peer, "--replace")
	t.Logf("a voter again after %v", time.Since(began).Round(time.Millisecond))
	if took := time.Since(began); took > 15*time.Second {
		t.Errorf("that took %v", took)
	}
	voters(t, leader, c.Nodes...)
	if now := memberOf(t, leader, wiped).Member; now == was {
		t.Errorf("it came back as the same member, %s", was)
	}
	if err := wiped.AwaitStart(t.Context()); err != nil {
		t.Fatal(err)
	}
	stays.Kill() // now its vote counts
	eventually(t, 20*time.Second, "two of three decide", func() error {
		_, err := tryCall(t.Context(), wiped.Client, rocketmq.PutKV("wiped", "key", "again"), 5*time.Second)
		return err
	})
	if a := ask(t, wiped.Client, rocketmq.GetKV("wiped", "key")); a.Fields["value"] != "again" {
		t.Errorf("get: %+v", a)
	}
}
