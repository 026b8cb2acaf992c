package systemtest_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"namesrv/systemtest"
	"namesrv/systemtest/chaos/lab"
)

// command is one command line about the group, given to one of its peers.
func command(t *testing.T, at *systemtest.Node, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	return run(t, append(args, "--admin", "http://"+at.Admin)...)
}

// mustCommand is a command that has to succeed. It gives what was printed.
func mustCommand(t *testing.T, at *systemtest.Node, args ...string) string {
	t.Helper()
	code, stdout, stderr := command(t, at, args...)
	if code != 0 {
		t.Fatalf("namesrv %s at %s: exit code %d: %s", strings.Join(args, " "), at.ID, code, stderr)
	}
	return stdout
}

// refusedCommand is one that has to end with a code and one line that has all the words.
func refusedCommand(t *testing.T, at *systemtest.Node, code int, words []string, args ...string) {
	t.Helper()
	got, stdout, stderr := command(t, at, args...)
	if got != code || stdout != "" || strings.Count(stderr, "\n") != 1 {
		t.Errorf("namesrv %s at %s: exit code %d, want %d and one line\n%s%s", strings.Join(args, " "), at.ID, got, code, stdout, stderr)
	}
	for _, word := range words {
		if !strings.Contains(stderr, word) {
			t.Errorf("namesrv %s at %s does not say %q: %s", strings.Join(args, " "), at.ID, word, stderr)
		}
	}
}

// newcomer starts a peer that waits to be admitted, and stops it with the test.
func newcomer(t *testing.T, id string, flags ...string) *systemtest.Node {
	t.Helper()
	n := newNode(t, id, append([]string{"--bootstrap-expect", "0"}, flags...)...)
	if err := n.Launch(); err != nil {
		t.Fatal(err)
	}
	eventually(t, 30*time.Second, n.ID+" waits to be admitted", func() error {
		_, err := n.Metric(t.Context(), systemtest.MetricTerm)
		return err
	})
	return n
}

// voters waits until a peer shows these as voters and nobody else as a member.
func voters(t *testing.T, at *systemtest.Node, want ...*systemtest.Node) {
	t.Helper()
	var ids []string
	for _, n := range want {
		ids = append(ids, n.ID)
	}
	slices.Sort(ids)
	eventually(t, 30*time.Second, "the voters "+strings.Join(ids, " "), func() error {
		members, err := at.Members(t.Context())
		if err != nil {
			return err
		}
		var got []string
		for _, m := range members {
			if !m.Voter {
				return fmt.Errorf("%s has no vote", m.ID)
			}
			got = append(got, m.ID)
		}
		if slices.Sort(got); !slices.Equal(got, ids) {
			return fmt.Errorf("they are %s", got)
		}
		return nil
	})
}

// memberOf is a node as a peer of its group lists it.
func memberOf(t *testing.T, at, n *systemtest.Node) systemtest.Member {
	t.Helper()
	members, err := at.Members(within(t, 10*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(members, func(m systemtest.Member) bool { return m.ID == n.ID })
	if i < 0 {
		t.Fatalf("%s does not list %s", at.ID, n.ID)
	}
	return members[i]
}

// endsRemoved waits until a peer that was removed ended by itself and said so in its last line.
func endsRemoved(t *testing.T, n *systemtest.Node) {
	t.Helper()
	code, err := n.Process().ExitCode(within(t, 20*time.Second))
	if err != nil || code != 1 {
		t.Fatalf("removed, %s ended with code %d (%v), want 1", n.ID, code, err)
	}
	lines := strings.Split(strings.TrimSpace(n.Process().Stderr()), "\n")
	if last := lines[len(lines)-1]; !strings.Contains(last, "removed") || !strings.Contains(last, "namesrv cluster join "+n.ID) {
		t.Errorf("the last line of %s does not say that it was removed, and the way back: %s", n.ID, last)
	}
}

// leaderNow waits for the leader of a group in the eyes of one of its peers.
func leaderNow(ctx context.Context, nodes []*systemtest.Node) (leader *systemtest.Node, err error) {
	err = systemtest.Poll(ctx, func() error {
		members, err := nodes[0].Members(ctx)
		if err != nil {
			return err
		}
		for _, n := range nodes {
			if slices.ContainsFunc(members, func(m systemtest.Member) bool { return m.ID == n.ID && m.Leader }) {
				leader = n
				return nil
			}
		}
		return systemtest.ErrNoLeader
	})
	return leader, err
}

// mountReadOnly makes a directory read-only for everybody, root too, until the test ends.
func mountReadOnly(t *testing.T, dir string) {
	t.Helper()
	if os.Geteuid() != 0 {
		able(t, fmt.Errorf("%w: to mount needs root", lab.ErrUnable))
	}
	mount(t, "--bind", dir, dir)
	t.Cleanup(func() {
		if out, err := exec.Command("umount", "-l", dir).CombinedOutput(); err != nil {
			t.Errorf("umount: %v: %s", err, out)
		}
	})
	mount(t, "-o", "remount,ro,bind", dir)
}
