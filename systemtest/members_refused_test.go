package systemtest_test

import (
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"namesrv/systemtest"
)

// wantText fails unless an output has all the words.
func wantText(t *testing.T, out string, words ...string) {
	t.Helper()
	for _, word := range words {
		if !strings.Contains(out, word) {
			t.Errorf("no %q in: %s", word, out)
		}
	}
}

// TestJoinRefused promises that an admin who joins the wrong peer, or the right one in the wrong way, is told so in one
// line at any peer, and that nothing was changed.
func TestJoinRefused(t *testing.T) {
	mostlyWaits(t)
	c := startCluster(t)
	leader, others := leaderOf(t, c)
	stranger := startNode(t, "s1")
	waits := newcomer(t, "n4")
	double := newcomer(t, "n1")
	tests := []struct {
		name  string
		args  []string // after "cluster join"
		code  int
		words []string
	}{
		{"a peer of another cluster", []string{"s1", stranger.Peer}, 1, []string{"another cluster", "empty --data-dir"}},
		{"nobody there", []string{"n9", "127.0.0.1:1"}, 1, []string{"127.0.0.1:1", "is it running", "--peer-advertise"}},
		{"a name that does not resolve", []string{"n9", "no-such-host.invalid:9875"}, 1, []string{"does not resolve"}},
		{"a client port", []string{"n4", waits.Admin}, 1, []string{waits.Admin, "--peer-advertise"}},
		{"no address", []string{"n4", "n4"}, 2, []string{"PEER_ADDR", "HOST:PORT"}},
		{"no address at all", []string{"n4"}, 2, []string{"PEER_ADDR"}},
		{"another id than the peer has", []string{"n9", waits.Peer}, 1, []string{"is node n4, not n9"}},
		{"an id in use", []string{"n1", double.Peer}, 1, []string{"n1 is a member with another data directory", "--replace", "namesrv cluster remove n1"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, at := range []*systemtest.Node{leader, others[0]} {
				refusedCommand(t, at, tt.code, tt.words, append([]string{"cluster", "join"}, tt.args...)...)
			}
		})
	}
	voters(t, leader, c.Nodes...)
	outside(t, waits)
	outside(t, double)

	out := mustCommand(t, others[0], "cluster", "join", "n4", waits.Peer)
	wantText(t, out, "n4 is a voter", "voters: 3 before, of which 2 must be reachable; 4 now, of which 3 must be", "Warning: 4 voters survive the loss of 1, no more than 3 would")
	out = mustCommand(t, others[1], "cluster", "join", "n4", waits.Peer)
	wantText(t, out, "n4 is a member already: nothing was changed")
	out = mustCommand(t, leader, "cluster", "health")
	wantText(t, out, "healthy", "4 of 4", "an odd number is better")
}

// TestRemoveRefused promises that no command, without --force, makes a group lose its majority, that no command removes
// its last peer, and that an admin who makes a group of two is warned. Health says the same in its own words.
func TestRemoveRefused(t *testing.T) {
	c := startCluster(t)
	leader, others := leaderOf(t, c)
	wantText(t, mustCommand(t, others[0], "cluster", "health"), "healthy: "+leader.ID+" leads, 3 of 3")
	refusedCommand(t, others[0], 1, []string{`no member is called "nobody"`, "n1, n2, n3"}, "cluster", "remove", "nobody")
	refusedCommand(t, others[0], 2, []string{"ID is missing"}, "cluster", "remove")

	others[0].Kill()
	refusedCommand(t, others[1], 1, []string{"of which 2 must be reachable and only 1", "--force"}, "cluster", "remove", others[1].ID)
	refusedCommand(t, leader, 1, []string{"of which 2 must be reachable and only 1"}, "cluster", "remove", leader.ID)
	voters(t, leader, c.Nodes...)
	refusedCommand(t, leader, 1, []string{others[0].ID, "cannot be reached", "the loss of one more stops the group"}, "cluster", "health")

	out := mustCommand(t, others[1], "cluster", "remove", others[0].ID)
	wantText(t, out, "voters: 3 before, of which 2 must be reachable; 2 now, of which 2 must be; 2 can be reached now", "Warning: A group of two stops as soon as either peer is lost: add a third.")
	refusedCommand(t, leader, 1, []string{"2 of 2 voters can be reached and 2 are needed"}, "cluster", "health")
	refused(t, others[0], "removed", "namesrv cluster join "+others[0].ID)

	wantText(t, mustCommand(t, leader, "cluster", "remove", others[1].ID), "1 now")
	endsRemoved(t, others[1])
	refusedCommand(t, leader, 1, []string{leader.ID + " is the last peer", "stop it"}, "cluster", "remove", leader.ID, "--force")
	wantText(t, mustCommand(t, leader, "cluster", "health"), "1 of 1", "its loss stops the group")
}

// TestHealthWithoutLeader promises the exit code and the reason that tell a monitor that nobody leads.
func TestHealthWithoutLeader(t *testing.T) {
	c := startCluster(t)
	last := c.Nodes[2]
	c.Nodes[0].Kill()
	c.Nodes[1].Kill()
	eventually(t, 20*time.Second, "no leader is known", func() error {
		if code, _, stderr := command(t, last, "cluster", "health"); code != 3 {
			return errors.New(stderr)
		}
		return nil
	})
	refusedCommand(t, last, 3, []string{"no leader is known", "n1 (", "n2 (", "1 of 3 voters can be reached and 2 are needed"}, "cluster", "health")
	refusedCommand(t, last, 3, []string{"no leader", "namesrv cluster status"}, "cluster", "remove", "n1")
}

// TestTwoAdminsAtOnceByCommand promises that of two commands given at once to different peers each is done, or refused
// because of the other, and that none undoes the other.
func TestTwoAdminsAtOnceByCommand(t *testing.T) {
	c := startCluster(t)
	n4, n5 := newcomer(t, "n4"), newcomer(t, "n5")
	mustCommand(t, c.Nodes[0], "cluster", "join", "n4", n4.Peer)
	commands := [][]string{{"cluster", "join", "n5", n5.Peer}, {"cluster", "remove", "n4"}}
	done := make([]bool, len(commands))
	var admins sync.WaitGroup
	for i, args := range commands {
		admins.Go(func() {
			code, _, stderr := command(t, c.Nodes[i], args...)
			done[i] = code == 0
			if code != 0 && !strings.Contains(stderr, "the members changed meanwhile") {
				t.Errorf("namesrv %s: exit code %d: %s", strings.Join(args, " "), code, stderr)
			}
		})
	}
	admins.Wait()
	if !done[0] && !done[1] {
		t.Error("both were refused")
	}
	want := c.Nodes[:3:3]
	if !done[1] {
		want = append(want, n4)
	}
	if done[0] {
		want = append(want, n5)
	}
	voters(t, c.Nodes[0], want...)
}

// TestCopiedDirectory promises that a copy of a running member's directory is not started beside it, wherever it says
// that it can be reached, and that the member itself goes on.
func TestCopiedDirectory(t *testing.T) {
	c := startCluster(t)
	original := c.Nodes[1]
	eventually(t, 10*time.Second, "its directory says where it is", func() error {
		raw, err := os.ReadFile(original.DataDir() + "/identity.json")
		if err != nil {
			return err
		}
		return has(raw, original.Peer)
	})
	tests := map[string]func(*systemtest.Node){
		"at other ports":               func(*systemtest.Node) {},
		"said to be at the same place": func(n *systemtest.Node) { n.AddFlags("--peer-advertise", original.Peer) },
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			twin := newNode(t, original.ID, "--bootstrap-expect", "0")
			change(twin)
			if err := os.CopyFS(twin.DataDir(), os.DirFS(original.DataDir())); err != nil {
				t.Fatal(err)
			}
			refused(t, twin, "copy", original.Peer, "--node-id")
		})
	}
	if m := memberOf(t, c.Nodes[0], original); !m.Reachable || !m.Voter {
		t.Errorf("the original: %+v", m)
	}
}

// TestReadOnlyDirectory promises one line about a data directory that cannot be written, with and without state in it.
func TestReadOnlyDirectory(t *testing.T) {
	tests := map[string]bool{"empty": false, "of a peer that ran": true}
	for name, ran := range tests {
		t.Run(name, func(t *testing.T) {
			n := newNode(t, "n1")
			if err := os.MkdirAll(n.DataDir(), 0o755); err != nil {
				t.Fatal(err)
			}
			if ran {
				if err := n.Start(t.Context()); err != nil {
					t.Fatal(err)
				}
				n.Stop()
			}
			mountReadOnly(t, n.DataDir())
			refused(t, n, n.DataDir(), "read-only", "--data-dir")
		})
	}
}

// TestOtherJoinListAtRestart promises that a member which is restarted with another --join list stays one of the same
// group, and says which list counts.
func TestOtherJoinListAtRestart(t *testing.T) {
	c := startCluster(t)
	n := c.Nodes[2]
	if !n.Stop() {
		t.Error("it had to be killed")
	}
	fourth := newNode(t, "n4").Peer
	n.AddFlags("--bootstrap-expect", "3", "--join", strings.Join([]string{c.Nodes[0].Peer, n.Peer, fourth}, ","))
	if err := n.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	line, err := n.Process().WaitLine(within(t, 20*time.Second), "the members count")
	if err != nil {
		t.Fatal(err)
	}
	wantText(t, line, "WARN", fourth, c.Nodes[1].Peer, "namesrv cluster join")
	voters(t, n, c.Nodes...)
}
