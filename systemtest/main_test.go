package systemtest_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"namesrv/internal/rocketmq"
	"namesrv/systemtest"
)

// fetchTime is for the first download of the Java artifacts; later runs find them in the cache.
const fetchTime = 15 * time.Minute

var buildDir string // set by TestMain before anything reads it

func TestMain(m *testing.M) {
	var err error
	if buildDir, err = os.MkdirTemp("", "namesrv-systemtest-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(buildDir)
	os.Exit(code)
}

// build makes the binary for the first test that needs it.
var build = sync.OnceValues(func() (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	return systemtest.Build(ctx, buildDir)
})

func binaryPath(t *testing.T) string {
	t.Helper()
	path, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// long tells whether tests are asked for in their full length, which takes minutes each.
func long() bool { return os.Getenv("NAMESRV_LONG") == "1" }

// How many tests run at the same time once those are over that measure, or want the machine to themselves. Each kind has
// its own places, so that neither holds up the other; go test's -parallel must leave room for both.
var (
	waitingPlaces = make(chan struct{}, 6)
	javaPlaces    = make(chan struct{}, 2) // JVMs need memory, and processors when they start
)

// mostlyWaits lets a test that waits most of the time run beside others.
func mostlyWaits(t *testing.T) {
	t.Helper()
	beside(t, waitingPlaces)
}

// withJVMs lets a test that starts brokers and tools run beside others.
func withJVMs(t *testing.T) {
	t.Helper()
	beside(t, javaPlaces)
}

func beside(t *testing.T, places chan struct{}) {
	t.Helper()
	t.Parallel()
	places <- struct{}{}
	t.Cleanup(func() { <-places })
}

// needJava skips the test where Java or Maven is missing, or fails it where skipping is not allowed, and makes sure
// that the artifacts are in the cache.
func needJava(t *testing.T, versions ...rocketmq.Version) {
	t.Helper()
	if missing := rocketmq.Missing(); missing != "" {
		if os.Getenv("NAMESRV_SYSTEMTEST") == "1" {
			t.Fatal("not installed: " + missing)
		}
		t.Skip("not installed: " + missing)
	}
	for _, v := range versions {
		if _, err := rocketmq.Artifacts(within(t, fetchTime), v); err != nil {
			t.Fatal(err)
		}
	}
}

// within is a context that ends with the test, and after d.
func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// eventually waits until try gives nil.
func eventually(t *testing.T, d time.Duration, what string, try func() error) {
	t.Helper()
	if err := systemtest.Poll(within(t, d), try); err != nil {
		t.Fatalf("%s: not within %v: %v", what, d, err)
	}
}

// newCluster prepares a group of three that is stopped with the test and whose logs a failed test shows.
func newCluster(t *testing.T, flags ...string) *systemtest.Cluster {
	t.Helper()
	c, err := systemtest.NewCluster(binaryPath(t), t.TempDir(), 3, flags...)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range c.Nodes {
		t.Cleanup(func() { showLog(t, n) })
	}
	t.Cleanup(c.Kill)
	return c
}

func startCluster(t *testing.T, flags ...string) *systemtest.Cluster {
	t.Helper()
	c := newCluster(t, flags...)
	if err := c.Start(within(t, time.Minute)); err != nil {
		t.Fatal(err)
	}
	return c
}

// newNode prepares a server alone in its group.
func newNode(t *testing.T, id string, flags ...string) *systemtest.Node {
	t.Helper()
	n, err := systemtest.NewNode(binaryPath(t), id, t.TempDir(), flags...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { showLog(t, n) })
	t.Cleanup(n.Kill)
	return n
}

func startNode(t *testing.T, id string, flags ...string) *systemtest.Node {
	t.Helper()
	n := newNode(t, id, flags...)
	if err := n.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return n
}

// showLog prints the end of a node's log when the test failed.
func showLog(t *testing.T, n *systemtest.Node) {
	if !t.Failed() {
		return
	}
	b, err := os.ReadFile(n.LogFile())
	if err != nil {
		t.Log(err)
		return
	}
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	t.Logf("end of the log of node %s:\n%s", n.ID, strings.Join(lines[max(0, len(lines)-60):], "\n"))
}

// ask sends one request on a connection of its own and fails the test when there is no answer.
func ask(t *testing.T, addr string, f *rocketmq.Frame) *rocketmq.Frame {
	t.Helper()
	answer, err := rocketmq.Ask(within(t, 10*time.Second), addr, f)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

// dial opens a connection that ends with the test.
func dial(t *testing.T, addr string) *rocketmq.Conn {
	t.Helper()
	c, err := rocketmq.Dial(within(t, 10*time.Second), addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}
