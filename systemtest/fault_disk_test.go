package systemtest_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"namesrv/internal/process"
	"namesrv/internal/rocketmq"
	"namesrv/systemtest"
	"namesrv/systemtest/chaos/lab"
)

// smallDisk puts the data directory of a node that never started on a file system of its own.
func smallDisk(t *testing.T, n *systemtest.Node, size string) {
	t.Helper()
	if os.Geteuid() != 0 {
		able(t, fmt.Errorf("%w: a small disk needs root", lab.ErrUnable))
	}
	if err := os.MkdirAll(n.DataDir(), 0o755); err != nil {
		t.Fatal(err)
	}
	mount(t, "-t", "tmpfs", "-o", "size="+size, "tmpfs", n.DataDir())
	t.Cleanup(func() {
		if out, err := exec.Command("umount", "-l", n.DataDir()).CombinedOutput(); err != nil {
			t.Errorf("umount: %v: %s", err, out)
		}
	})
}

func mount(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.Command("mount", args...).CombinedOutput(); err != nil {
		able(t, fmt.Errorf("%w: mount %s: %w: %s", lab.ErrUnable, strings.Join(args, " "), err, out))
	}
}

// lead makes a node the leader.
func lead(t *testing.T, c *systemtest.Cluster, want *systemtest.Node) {
	t.Helper()
	eventually(t, time.Minute, want.ID+" leads", func() error {
		leader, _, err := lab.Leader(within(t, 10*time.Second), c.Nodes)
		if err != nil || leader == want {
			return err
		}
		cmd := exec.CommandContext(t.Context(), binaryPath(t), "cluster", "transfer", want.ID, "--admin", "http://"+want.Admin)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return fmt.Errorf("%s leads", leader.ID)
	})
}

// exits waits until a peer has ended by itself, and checks that it says why.
func exits(t *testing.T, n *systemtest.Node, limit time.Duration) {
	t.Helper()
	code, err := n.Process().ExitCode(within(t, limit))
	if err != nil {
		t.Fatalf("%s goes on: %v", n.ID, err)
	}
	lines := strings.Split(strings.TrimSpace(n.Process().Stderr()), "\n")
	last := lines[len(lines)-1]
	t.Logf("%s ended with code %d: %s", n.ID, code, last)
	if code <= 0 {
		t.Errorf("exit code %d, want another", code)
	}
	if !strings.Contains(last, "disk") {
		t.Errorf("the last line does not speak of the disk: %s", last)
	}
}

// TestFullDisk promises that a leader whose disk is full ends and says so, that another one leads soon, and that it
// catches up when it is started with room again.
func TestFullDisk(t *testing.T) {
	c := newCluster(t)
	small := c.Nodes[0]
	smallDisk(t, small, "2m")
	if err := c.Start(within(t, time.Minute)); err != nil {
		t.Fatal(err)
	}
	lead(t, c, small)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	fill := make(chan []string, 1)
	go func() { fill <- fillUp(ctx, c.Clients()[1]) }()
	exits(t, small, 2*time.Minute)
	ended := time.Now()
	leader, _ := leaderOf(t, c, small)
	t.Logf("%s leads %v after the end of the full one", leader.ID, time.Since(ended).Round(time.Millisecond))
	eventually(t, 15*time.Second, "a change after the full disk", func() error {
		answer, err := tryCall(t.Context(), leader.Client, rocketmq.PutKV("fault", "after-full", "1"), 3*time.Second)
		return refusal(answer, err)
	})
	if took := time.Since(ended); took > 15*time.Second {
		t.Errorf("changes succeed only %v after the leader ended", took)
	}
	cancel()
	keys := <-fill

	mount(t, "-o", "remount,size=200m", small.DataDir())
	if err := small.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	ready(t, c)
	for _, key := range keys {
		if answer := ask(t, small.Client, rocketmq.GetKV("full", key)); answer.Code != rocketmq.Success {
			t.Fatalf("%s lacks %s, which was acknowledged: %+v", small.ID, key, answer)
		}
	}
	t.Logf("%d acknowledged keys, all there", len(keys))
}

// fillUp puts large values until ctx ends and returns the keys that were acknowledged.
func fillUp(ctx context.Context, addr string) (acked []string) {
	conn, err := rocketmq.Dial(ctx, addr)
	if err != nil {
		return nil
	}
	defer conn.Close()
	for i := 0; ctx.Err() == nil; i++ {
		key := "k" + strconv.Itoa(i)
		cctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		answer, err := conn.Call(cctx, rocketmq.PutKV("full", key, noise(i)))
		cancel()
		if refusal(answer, err) == nil {
			acked = append(acked, key)
		}
		if errors.Is(err, rocketmq.ErrBroken) {
			return acked
		}
	}
	return acked
}

// noise is 20 kB that do not compress well.
func noise(seed int) string {
	x := uint64(seed)*2654435761 + 1
	out := make([]byte, 20_000)
	for i := range out {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		out[i] = 'a' + byte(x%26)
	}
	return string(out)
}

// strace makes system calls of a running process fail or take long, until the test ends.
func strace(t *testing.T, n *systemtest.Node, inject string) *process.Process {
	t.Helper()
	if _, err := exec.LookPath("strace"); err != nil || os.Geteuid() != 0 {
		able(t, fmt.Errorf("%w: strace and root are needed", lab.ErrUnable))
	}
	p, err := process.Start(process.Config{Path: "strace", Args: []string{"-f", "-p", strconv.Itoa(n.Process().Pid()),
		"-e", "trace=fsync,fdatasync", "-e", "inject=fsync,fdatasync:" + inject, "-o", filepath.Join(n.Dir, "strace.out")}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.Signal(syscall.SIGINT)
		p.Stop(5 * time.Second)
	})
	if _, err := p.WaitLine(within(t, 10*time.Second), "attached"); err != nil {
		able(t, fmt.Errorf("%w: %w", lab.ErrUnable, err))
	}
	return p
}

// TestFailingDisk promises that the first write that the disk refuses ends the leader, and another takes over.
func TestFailingDisk(t *testing.T) {
	c := startCluster(t)
	leader, others := leaderOf(t, c)
	put(t, leader.Client, "before-eio", "1")
	strace(t, leader, "error=EIO")
	_, _ = tryCall(t.Context(), others[0].Client, rocketmq.PutKV("fault", "eio", "1"), 5*time.Second)
	exits(t, leader, 30*time.Second)
	put(t, others[0].Client, "after-eio", "1")
	if err := leader.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	ready(t, c)
	for _, key := range []string{"before-eio", "after-eio"} {
		if answer := ask(t, leader.Client, rocketmq.GetKV("fault", key)); answer.Code != rocketmq.Success {
			t.Errorf("%s after the restart: %+v", key, answer)
		}
	}
}

// TestHangingDisk promises that a leader whose disk does not answer for ten seconds ends, and another takes over.
func TestHangingDisk(t *testing.T) {
	mostlyWaits(t)
	c := startCluster(t)
	leader, others := leaderOf(t, c)
	strace(t, leader, "delay_enter=14000000") // the process cannot end before
	began := time.Now()
	_, _ = tryCall(t.Context(), others[0].Client, rocketmq.PutKV("fault", "hang", "1"), 5*time.Second)
	if _, err := leader.Process().WaitLine(within(t, 30*time.Second), "disk: "); err != nil {
		t.Fatal(err)
	}
	t.Logf("it gave up %v after the write", time.Since(began).Round(time.Millisecond))
	put(t, others[0].Client, "after-hang", "1")
	t.Logf("changes succeed %v after the write that hangs", time.Since(began).Round(time.Millisecond))
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("changes succeed only after %v", took)
	}
	exits(t, leader, 40*time.Second)
}

// TestSlowDisk promises that a leader whose disk is slow goes on: slow is not broken.
func TestSlowDisk(t *testing.T) {
	c := startCluster(t)
	leader, others := leaderOf(t, c)
	brokers := lab.NewBrokers("slow", 6, shortTimeout)
	fleet(t, c, brokers, 2*time.Second, c.Clients()...)
	seen := watch(t, brokers, c.Clients()...)
	strace(t, leader, "delay_enter=200000")
	for i := range 10 {
		put(t, others[0].Client, fmt.Sprintf("slow-%d", i), "1")
	}
	seen()
	select {
	case <-leader.Process().Done():
		t.Error("it ended")
	default:
	}
}
