package systemtest_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"namesrv/internal/rocketmq"
	"namesrv/systemtest"
)

// scripted is a group that scripts/cluster runs, in a folder and on ports of the test's own.
type scripted struct {
	dir   string
	env   []string
	nodes []*systemtest.Node // for questions only: their processes are not ours
}

func startScripted(t *testing.T) *scripted {
	t.Helper()
	s := &scripted{dir: t.TempDir()}
	ports := map[string][]string{}
	for i := range 3 {
		n := &systemtest.Node{ID: fmt.Sprintf("n%d", i+1)}
		for kind, addr := range map[string]*string{"CLIENT": &n.Client, "PEER": &n.Peer, "ADMIN": &n.Admin} {
			port, err := rocketmq.FreePort()
			if err != nil {
				t.Fatal(err)
			}
			*addr = fmt.Sprintf("127.0.0.1:%d", port)
			ports[kind] = append(ports[kind], fmt.Sprint(port))
		}
		s.nodes = append(s.nodes, n)
	}
	s.env = []string{"NAMESRV_CLUSTER_DIR=" + s.dir}
	for kind, list := range ports {
		s.env = append(s.env, "NAMESRV_"+kind+"_PORTS="+strings.Join(list, " "))
	}
	t.Cleanup(func() {
		if code, out := script(t, s.env, "cluster", "down"); code != 0 {
			t.Errorf("scripts/cluster down: %s", out)
		}
	})
	if code, out := script(t, s.env, "cluster", "up"); code != 0 {
		t.Fatalf("scripts/cluster up: %s", out)
	}
	return s
}

func (s *scripted) clients() (addrs []string) {
	for _, n := range s.nodes {
		addrs = append(addrs, n.Client)
	}
	return addrs
}

// leader is the id of the leader in the eyes of the first peer.
func (s *scripted) leader(t *testing.T) string {
	t.Helper()
	members, err := s.nodes[0].Members(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range members {
		if m.Leader {
			return m.ID
		}
	}
	t.Fatalf("nobody leads: %+v", members)
	return ""
}

// awayLine is what the script says of each peer.
var awayLine = regexp.MustCompile(`(?m)^(n[123]) was away for (\d+) ms; all were caught up (\d+) ms later$`)

// restarted checks that a run of the script restarted these peers, the one that led before as the last.
func restarted(t *testing.T, code int, out, leader string, want ...string) {
	t.Helper()
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, out)
	}
	var order []string
	for _, line := range awayLine.FindAllStringSubmatch(out, -1) {
		t.Log(line[0])
		order = append(order, line[1])
	}
	if leader != "" && (len(order) == 0 || order[len(order)-1] != leader) {
		t.Errorf("%s led and was not the last of %v", leader, order)
	}
	slices.Sort(order)
	if !slices.Equal(order, want) {
		t.Errorf("restarted %v, want each of %v once:\n%s", order, want, out)
	}
}

// everyVersion waits until every member runs that version in the eyes of each.
func (s *scripted) everyVersion(t *testing.T, version string) {
	t.Helper()
	eventually(t, 10*time.Second, "version "+version+" everywhere", func() error {
		for _, n := range s.nodes {
			members, err := n.Members(t.Context())
			if err != nil {
				return err
			}
			for _, m := range members {
				if m.Version != version {
					return fmt.Errorf("%s runs %s in the eyes of %s", m.ID, m.Version, n.ID)
				}
			}
		}
		return nil
	})
}

// buildVersion builds the binary under another version.
func buildVersion(t *testing.T, version string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "namesrv")
	cmd := exec.CommandContext(within(t, 5*time.Minute), "go", "build", "-ldflags", "-X main.version="+version, "-o", path, "./cmd/namesrv")
	cmd.Dir = ".."
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return path
}

// brokenBinary is one that runs and is no server: it does what it is told to with another one, but not that.
func brokenBinary(t *testing.T, working string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "broken")
	text := fmt.Sprintf("#!/bin/sh\nif [ \"$1\" = server ]; then echo 'this cannot work' >&2; exit 1; fi\nexec %s \"$@\"\n", working)
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestRollingRestart promises that scripts/rolling-restart restarts and upgrades three peers without a failed send of a
// real producer and without a question for a route that none of the peers answers, that it stops at the first peer that
// does not come back, and that this peer can be brought back by the same script.
func TestRollingRestart(t *testing.T) {
	withJVMs(t)
	needJava(t, rocketmq.V550)
	s := startScripted(t)
	b := startBroker(t, rocketmq.BrokerConfig{Name: "rolling", NameServers: s.clients()})
	if err := b.AwaitRegistered(within(t, time.Minute), s.clients()...); err != nil {
		t.Fatal(err)
	}
	topic := topicOf(b)
	if err := rocketmq.CreateTopic(within(t, 30*time.Second), b.Addr, topic); err != nil {
		t.Fatal(err)
	}
	m := newMessages(t, topic, s.clients()...)
	sends := sendSteadily(t, m, topic)
	staying := startPoller(t, topic, b.Addr, false, s.clients()...)
	spread := startPoller(t, topic, b.Addr, true, s.clients()...)
	next := buildVersion(t, "rolling-next")

	t.Run("the same binary", func(t *testing.T) {
		leader := s.leader(t)
		code, out := script(t, s.env, "rolling-restart")
		restarted(t, code, out, leader, "n1", "n2", "n3")
	})
	t.Run("one that does not run", func(t *testing.T) {
		if code, out := script(t, s.env, "rolling-restart", "--binary", "/bin/false"); code != 1 || !strings.Contains(out, "nothing was restarted") {
			t.Errorf("exit code %d: %s", code, out)
		}
	})
	t.Run("another version", func(t *testing.T) {
		leader := s.leader(t)
		code, out := script(t, s.env, "rolling-restart", "--binary", next)
		restarted(t, code, out, leader, "n1", "n2", "n3")
		s.everyVersion(t, "rolling-next")
	})
	t.Run("one that is no server", func(t *testing.T) {
		code, out := script(t, s.env, "rolling-restart", "--binary", brokenBinary(t, next))
		if code != 1 || !strings.Contains(out, "this cannot work") || !strings.Contains(out, "Not restarted yet: ") || awayLine.MatchString(out) {
			t.Errorf("exit code %d: %s", code, out)
		}
	})
	t.Run("back to the old one", func(t *testing.T) {
		code, out := script(t, s.env, "rolling-restart", "--binary", filepath.Join(s.dir, "namesrv.old"))
		restarted(t, code, out, "", "n1", "n2", "n3")
		s.everyVersion(t, "rolling-next")
	})
	sends.noneFailed(t, "during four runs", m)
	staying.noneFailed(t, "a client that stays")
	spread.noneFailed(t, "one that asks each in turn")
}
