package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	// A future that is still in Raft's queue when Raft shuts down never answers,
	// and its only method waits for ever.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/hashicorp/raft.(*deferError).Error"))
}

// listMachine is a state machine whose state is the list of its commands.
type listMachine struct {
	knows uint32 // 0 = the first level

	mu       sync.Mutex
	commands []string
}

func (l *listMachine) Knows() uint32 { return max(l.knows, firstLevel) }

// Needs takes the level from commands like "level 3: text".
func (l *listMachine) Needs(c []byte) uint32 {
	needs := uint32(firstLevel)
	_, _ = fmt.Sscanf(string(c), "level %d:", &needs)
	return needs
}

func (l *listMachine) Apply(_ uint64, c []byte) ([]byte, error) {
	if bytes.HasPrefix(c, []byte("unknown")) {
		return nil, errors.New("unknown command")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.commands = append(l.commands, string(c))
	return []byte("done " + string(c)), nil
}

func (l *listMachine) Snapshot() func(io.Writer) error {
	all := l.all()
	return func(w io.Writer) error {
		for _, c := range all {
			if _, err := fmt.Fprintln(w, c); err != nil {
				return err
			}
		}
		return nil
	}
}

func (l *listMachine) Restore(r io.Reader) error {
	raw, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.commands = nil
	for _, c := range bytes.Split(bytes.TrimSpace(raw), []byte("\n")) {
		l.commands = append(l.commands, string(c))
	}
	return nil
}

func (l *listMachine) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.commands)
}

// renewer refuses the keys it was told to.
type renewer struct {
	mu     sync.Mutex
	heard  map[string][]string // member -> keys
	refuse []string
}

func (r *renewer) Renew(member string, keys []string) (refused []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.heard == nil {
		r.heard = map[string][]string{}
	}
	r.heard[member] = append(r.heard[member], keys...)
	for _, k := range keys {
		if slices.Contains(r.refuse, k) {
			refused = append(refused, k)
		}
	}
	return refused
}

type testNode struct {
	*Node
	machine *listMachine
	renewer *renewer
	fatal   chan error
	cfg     Config
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func testConfig(t *testing.T, id string, l net.Listener) (Config, *testNode) {
	tn := &testNode{machine: new(listMachine), renewer: new(renewer), fatal: make(chan error, 1)}
	level := hclog.Off
	if testing.Verbose() {
		level = hclog.Info
	}
	return Config{
		NodeID: id, DataDir: t.TempDir(), Listener: l, Advertise: l.Addr().String(),
		Init: func(map[string]string) []byte { return []byte("init") }, ClientAddr: id + ":9876", AdminAddr: id + ":9874", Version: "test",
		Machine: tn.machine, Renewer: tn.renewer,
		Lead:   func(ctx context.Context, _ Leadership) { <-ctx.Done() },
		Serve:  func(from string, p []byte) ([]byte, error) { return append([]byte(from+" says "), p...), nil },
		Fatal:  func(err error) { tn.fatal <- err },
		Logger: hclog.New(&hclog.LoggerOptions{Name: id, Level: level}),
	}, tn
}

func open(t *testing.T, cfg Config, tn *testNode) *testNode {
	t.Helper()
	tn.cfg = cfg
	n, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	tn.Node = n
	t.Cleanup(func() { n.Close() })
	return tn
}

// reopen starts a closed node again on its directory and address.
func reopen(t *testing.T, old *testNode) *testNode {
	t.Helper()
	l, err := net.Listen("tcp", old.cfg.Advertise)
	if err != nil {
		t.Fatal(err)
	}
	cfg, tn := testConfig(t, old.cfg.NodeID, l)
	cfg.DataDir, cfg.Single, cfg.Expect, cfg.Join, cfg.Profile = old.cfg.DataDir, old.cfg.Single, old.cfg.Expect, old.cfg.Join, old.cfg.Profile
	return open(t, cfg, tn)
}

func single(t *testing.T) *testNode {
	t.Helper()
	cfg, tn := testConfig(t, "n1", listen(t))
	cfg.Single = true
	tn = open(t, cfg, tn)
	waitFormed(t, tn)
	return tn
}

func three(t *testing.T) []*testNode {
	t.Helper()
	var cfgs []Config
	var nodes []*testNode
	var join []string
	for i := range 3 {
		cfg, tn := testConfig(t, fmt.Sprintf("n%d", i+1), listen(t))
		cfgs, nodes, join = append(cfgs, cfg), append(nodes, tn), append(join, cfg.Advertise)
	}
	for i := range cfgs {
		cfgs[i].Expect, cfgs[i].Join = 3, join
		open(t, cfgs[i], nodes[i])
	}
	waitFormed(t, nodes...)
	return nodes
}

func waitFormed(t *testing.T, nodes ...*testNode) {
	t.Helper()
	for _, n := range nodes {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		if err := n.Formed(ctx); err != nil {
			t.Fatalf("%s: formed: %v", n.cfg.NodeID, err)
		}
		cancel()
	}
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(15 * time.Second)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("not in time: %s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func leaderOf(t *testing.T, nodes ...*testNode) (leader *testNode, rest []*testNode) {
	t.Helper()
	eventually(t, "a leader", func() bool {
		leader, rest = nil, nil
		for _, n := range nodes {
			if n.Leads() {
				leader = n
			} else {
				rest = append(rest, n)
			}
		}
		return leader != nil
	})
	return leader, rest
}

func soon(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func propose(t *testing.T, n *testNode, c string) {
	t.Helper()
	res, err := n.Propose(soon(t), []byte(c))
	if err != nil {
		t.Fatalf("propose %s at %s: %v", c, n.cfg.NodeID, err)
	}
	if want := "done " + c; string(res) != want {
		t.Fatalf("result %q, want %q", res, want)
	}
}
