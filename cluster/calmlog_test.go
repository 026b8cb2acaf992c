package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
)

// loudLog keeps the WARN and ERROR lines of several nodes.
type loudLog struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
}

func (l *loudLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// busy are lines that say what happened, where a machine is too busy for the timing.
var busy = []string{"heartbeat timeout reached", "Election timeout reached", "failed to contact", "since we have a leader"}

// expect fails for every line since the last call but those with one of the texts.
func (l *loudLog) expect(t *testing.T, when string, expected ...string) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.text.String()) {
		known := false
		for _, text := range append(slices.Clone(busy), expected...) {
			known = known || strings.Contains(line, text)
		}
		if !known {
			t.Errorf("%s: %s", when, strings.TrimSpace(line))
		}
	}
	l.text.Reset()
}

// threeLoud is three, with the loud lines of all nodes in one log.
func threeLoud(t *testing.T) ([]*testNode, *loudLog) {
	t.Helper()
	log := new(loudLog)
	var cfgs []Config
	var nodes []*testNode
	var join []string
	for i := range 3 {
		cfg, tn := testConfig(t, fmt.Sprintf("n%d", i+1), listen(t))
		cfgs, nodes, join = append(cfgs, cfg), append(nodes, tn), append(join, cfg.Advertise)
	}
	for i := range cfgs {
		cfgs[i].Expect, cfgs[i].Join, cfgs[i].Logger = 3, join, loudLogger(log, cfgs[i].NodeID)
		open(t, cfgs[i], nodes[i])
	}
	waitFormed(t, nodes...)
	return nodes, log
}

func (l *loudLog) has(text string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Contains(l.text.String(), text)
}

func loudLogger(log *loudLog, id string) hclog.Logger {
	return hclog.New(&hclog.LoggerOptions{Name: id, Level: hclog.Warn, Output: log})
}

// stopAndReopen stops a node politely, has the others work on, and starts it again.
func stopAndReopen(t *testing.T, n *testNode, others []*testNode, log *loudLog) *testNode {
	t.Helper()
	if err := n.HandOver(soon(t)); err != nil {
		t.Fatal(err)
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	leader, _ := leaderOf(t, others...)
	propose(t, leader, "while "+n.cfg.NodeID+" is away")
	eventually(t, "the loss is said", func() bool { return log.has("a member is silent") })
	l, tn := listenAgain(t, n)
	cfg := n.cfg
	cfg.Listener, cfg.Logger = l, loudLogger(log, cfg.NodeID)
	cfg.Machine, cfg.Renewer, cfg.Fatal = tn.machine, tn.renewer, func(err error) { tn.fatal <- err }
	tn = open(t, cfg, tn)
	if _, err := tn.Confirm(soon(t)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is reached again", func() bool { return reached(leader, tn) })
	return tn
}

func TestWhatIsExpectedIsNotLoud(t *testing.T) {
	nodes, log := threeLoud(t)
	propose(t, nodes[1], "first")
	log.expect(t, "first start", "not in a cluster yet", "the cluster is not complete yet")
	leader, rest := leaderOf(t, nodes...)
	rest[0] = stopAndReopen(t, rest[0], []*testNode{leader, rest[1]}, log)
	log.expect(t, "restart of a follower", "a member is silent")
	stopAndReopen(t, leader, rest, log)
	log.expect(t, "restart of the leader", "a member is silent")
}

func listenAgain(t *testing.T, n *testNode) (net.Listener, *testNode) {
	t.Helper()
	l, err := net.Listen("tcp", n.cfg.Advertise)
	if err != nil {
		t.Fatal(err)
	}
	return l, &testNode{machine: new(listMachine), renewer: new(renewer), fatal: make(chan error, 1)}
}

// reached says whether the leader hears from a member.
func reached(leader, n *testNode) bool {
	members, err := leader.Members(context.Background())
	if err != nil {
		return false
	}
	for _, m := range members {
		if m.ID == n.cfg.NodeID {
			return m.Reachable
		}
	}
	return false
}

func TestASilentMemberIsSaidOnceAndThatItIsBack(t *testing.T) {
	var text bytes.Buffer
	said := &changes{log: hclog.New(&hclog.LoggerOptions{Output: &text}), last: func() (term, index uint64) { return 3, 42 }}
	log := calmLogger{hclog.NewNullLogger(), said.lost}
	for range 3 {
		log.Warn("failed to contact", "server-id", raft.ServerID("n2-ab"), "time", 1)
	}
	said.heard("n3-cd")
	said.heard("n2-ab")
	said.heard("n2-ab")
	want := []string{"[WARN]  a member is silent: node=n2 member=n2-ab index=42", "[INFO]  a member is heard again: node=n2 member=n2-ab index=42"}
	if diff := cmp.Diff(want, logLines(&text)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestOnlyWhatIsExpectedIsLowered(t *testing.T) {
	disk := errors.New("disk full")
	closed := fmt.Errorf("read: %w", net.ErrClosed)
	tests := []struct {
		name string
		say  func(l hclog.Logger)
		want string // level
	}{
		{"a newcomer", func(l hclog.Logger) { l.Warn("failed to get previous log", "error", raft.ErrLogNotFound) }, "[DEBUG]"},
		{"a log that cannot be read", func(l hclog.Logger) { l.Warn("failed to get previous log", "error", disk) }, "[WARN]"},
		{"a peer that stops", func(l hclog.Logger) { l.Error("failed to decode incoming command", "error", closed) }, "[DEBUG]"},
		{"nonsense on a connection", func(l hclog.Logger) {
			l.Error("failed to decode incoming command", "error", errors.New("unknown rpc type"))
		}, "[ERROR]"},
		{"an error without an error", func(l hclog.Logger) { l.Error("failed to appendEntries to", "peer", "n1") }, "[ERROR]"},
		{"a heartbeat", func(l hclog.Logger) { l.Error("failed to heartbeat to", "error", disk) }, "[DEBUG]"},
		{"below a name", func(l hclog.Logger) { l.Named("x").Warn("failed to get previous log", "error", raft.ErrLogNotFound) }, "[DEBUG]"},
		{"with a field", func(l hclog.Logger) { l.With("a", 1).ResetNamed("y").Error("failed to heartbeat to") }, "[DEBUG]"},
		{"a silent member", func(l hclog.Logger) {
			l.Named("x").Warn("failed to contact", "server-id", raft.ServerID("n2-ab"), "time", 1)
		}, "[DEBUG]"},
		{"nobody in particular", func(l hclog.Logger) { l.Warn("failed to contact quorum of nodes, stepping down") }, "[WARN]"},
		{"something else", func(l hclog.Logger) { l.Error("failed to commit logs", "error", closed) }, "[ERROR]"},
		{"an election", func(l hclog.Logger) { l.Warn("heartbeat timeout reached, starting election") }, "[WARN]"},
		{"what was no warning", func(l hclog.Logger) { l.Info("failed to heartbeat to") }, "[INFO]"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			var text bytes.Buffer
			tc.say(calmLogger{hclog.New(&hclog.LoggerOptions{Level: hclog.Debug, Output: &text}), func(raft.ServerID) {}})
			if !strings.Contains(text.String(), tc.want) {
				t.Errorf("%s, want %s", &text, tc.want)
			}
		})
	}
}
