package systemtest_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"namesrv/internal/process"
	"namesrv/internal/rocketmq"
	"namesrv/systemtest"
)

// run starts the binary with args and gives its exit code and its two streams.
func run(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	p, err := process.Start(process.Config{Path: binaryPath(t), Args: args, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	code, err = p.ExitCode(within(t, 30*time.Second))
	if err != nil {
		t.Fatalf("namesrv %s: %v\n%s%s", strings.Join(args, " "), err, p.Stdout(), p.Stderr())
	}
	return code, p.Stdout(), p.Stderr()
}

// refused starts n, which must end by itself with code 1 and one line that has all the words, and no stack trace.
func refused(t *testing.T, n *systemtest.Node, words ...string) {
	t.Helper()
	if err := n.Launch(); err != nil {
		t.Fatal(err)
	}
	p := n.Process()
	code, err := p.ExitCode(within(t, 30*time.Second))
	if err != nil {
		n.Kill()
		t.Fatalf("it did not end by itself: %v", err)
	}
	if code != 1 {
		t.Errorf("exit code %d, want 1", code)
	}
	lines := strings.Split(strings.TrimSpace(p.Stderr()), "\n")
	last := lines[len(lines)-1]
	for _, word := range words {
		if !strings.Contains(last, word) {
			t.Errorf("the last line on standard error lacks %q: %s", word, last)
		}
	}
	if strings.Contains(p.Stderr(), "goroutine ") {
		t.Errorf("a stack trace on standard error:\n%s", p.Stderr())
	}
}

func TestUnknownFlag(t *testing.T) {
	tests := []struct {
		name string
		args []string
		code int
	}{
		{"of the server, as the stock server does", []string{"server", "--no-such-flag"}, 1},
		{"of another command", []string{"kv", "get", "--no-such-flag"}, 2},
		{"unknown command", []string{"no-such-command"}, 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			code, _, stderr := run(t, tt.args...)
			if code != tt.code {
				t.Errorf("exit code %d, want %d", code, tt.code)
			}
			if err := has([]byte(stderr), tt.args[len(tt.args)-1][2:]); err != nil {
				t.Errorf("standard error does not name it: %v", err)
			}
			if tt.code == 1 && has([]byte(stderr), "USAGE") != nil && has([]byte(stderr), "sage:") != nil {
				t.Errorf("no usage on standard error:\n%s", stderr)
			}
		})
	}
}

func TestPortInUse(t *testing.T) {
	for _, port := range []string{"client", "peer", "admin"} {
		t.Run(port, func(t *testing.T) {
			n := newNode(t, "n1")
			addr := map[string]string{"client": n.Client, "peer": n.Peer, "admin": n.Admin}[port]
			l, err := net.Listen("tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			refused(t, n, addr, "in use")
		})
	}
}

func TestDataDirectoryInUse(t *testing.T) {
	n := startNode(t, "n1")
	second := newNode(t, "n1")
	if err := os.Symlink(n.DataDir(), second.DataDir()); err != nil {
		t.Fatal(err)
	}
	refused(t, second, "data")
}

func TestDataDirectoryOfAnotherNode(t *testing.T) {
	n := startNode(t, "first-name")
	if !n.Stop() {
		t.Error("it had to be killed")
	}
	other := newNode(t, "second-name")
	if err := os.Rename(n.DataDir(), other.DataDir()); err != nil {
		t.Fatal(err)
	}
	refused(t, other, "first-name", "second-name")
}

// TestDataDirectoryOfAnotherCluster promises that a peer with the state of one group that is started as a peer of
// another says so and ends, and that nothing of its state gets there.
func TestDataDirectoryOfAnotherCluster(t *testing.T) {
	c := startCluster(t)
	victim := c.Nodes[2]
	if !victim.Stop() {
		t.Error("it had to be killed")
	}
	tests := map[string]func(t *testing.T) *systemtest.Node{
		"formed alone":       func(t *testing.T) *systemtest.Node { return startNode(t, victim.ID) },
		"formed with others": func(t *testing.T) *systemtest.Node { return startCluster(t).Nodes[2] },
	}
	for name, stranger := range tests {
		t.Run(name, func(t *testing.T) {
			s := stranger(t)
			if a := ask(t, s.Client, rocketmq.PutKV("strange", "key", "value")); a.Code != rocketmq.Success {
				t.Fatalf("put: %+v", a)
			}
			s.Stop()
			if err := os.RemoveAll(victim.DataDir()); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(s.DataDir(), victim.DataDir()); err != nil {
				t.Fatal(err)
			}
			refused(t, victim, "cluster")
			for _, n := range c.Nodes[:2] {
				if a := ask(t, n.Client, rocketmq.GetKV("strange", "key")); a.Code != rocketmq.QueryNotFound {
					t.Errorf("%s has a key of another cluster: %+v", n.ID, a)
				}
			}
		})
	}
}

// TestUnknownProperty promises that a key of a property file that nobody knows is kept and shown.
func TestUnknownProperty(t *testing.T) {
	file := filepath.Join(t.TempDir(), "namesrv.properties")
	if err := os.WriteFile(file, []byte("noSuchKey=some value\norderMessageEnable=true\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := run(t, "server", "-c", file, "-p")
	if code != 0 {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	for _, line := range []string{"noSuchKey=some value\n", "orderMessageEnable=true\n"} {
		if err := has([]byte(stdout), line); err != nil {
			t.Error(err)
		}
	}
}

// TestUnresolvablePeer promises that a peer whose name does not resolve yet is waited for, with warnings that have it.
func TestUnresolvablePeer(t *testing.T) {
	mostlyWaits(t)
	const name = "no-such-host.invalid"
	n := newNode(t, "n1")
	n.AddFlags("--bootstrap-expect", "2", "--join", n.Peer+","+name+":9875")
	if err := n.Launch(); err != nil {
		t.Fatal(err)
	}
	line, err := n.Process().WaitLine(within(t, 30*time.Second), name)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(line, "WARN") {
		t.Errorf("not a warning: %s", line)
	}
	eventually(t, 30*time.Second, "a second warning: it is tried again", func() error {
		if strings.Count(n.Process().Stderr(), name) < 2 {
			return errors.New("only one so far")
		}
		return nil
	})
	select {
	case <-n.Process().Done():
		t.Error("it gave up")
	default:
	}
}
