package systemtest_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"namesrv/systemtest"
)

// changing is a group whose members change under load.
type changing struct {
	nodes []*systemtest.Node // its members
	load  *memberLoad
	asked []*systemtest.Node // in this order
}

// TestMembersUnderLoad promises that a group grows from three to five and shrinks to three, leaders included, and that
// clients with a list of its members notice nothing: no acknowledged write is lost, no read is stale and none fails.
func TestMembersUnderLoad(t *testing.T) {
	c := startCluster(t)
	n4, n5 := newcomer(t, "n4"), newcomer(t, "n5")
	load, stop := startMemberLoad(t, c.Nodes...)
	g := &changing{nodes: slices.Clone(c.Nodes), load: load}

	g.join(t, n4, 4)
	g.join(t, n5, 5)
	leader := g.leader(t)
	g.remove(t, leader, g.another(t, leader), 4)
	leader = g.leader(t)
	g.remove(t, leader, leader, 3)
	stop()

	load.judge(t, g.nodes)
	voters(t, g.nodes[0], g.nodes...)
}

func (g *changing) leader(t *testing.T) *systemtest.Node {
	t.Helper()
	leader, err := leaderNow(within(t, 20*time.Second), g.nodes)
	if err != nil {
		t.Fatal(err)
	}
	return leader
}

// another is a member that was asked least recently, and is not the one given.
func (g *changing) another(t *testing.T, not *systemtest.Node) *systemtest.Node {
	t.Helper()
	candidates := slices.DeleteFunc(slices.Clone(g.nodes), func(n *systemtest.Node) bool { return n == not })
	slices.SortStableFunc(candidates, func(a, b *systemtest.Node) int { return slices.Index(g.asked, a) - slices.Index(g.asked, b) })
	return candidates[0]
}

// change gives a command to a peer and says what it meant for those who write. It waits for further acknowledged
// writes at the end, so that a pause that began with the change counts.
func (g *changing) change(t *testing.T, at *systemtest.Node, what string, args ...string) {
	t.Helper()
	g.asked = append(slices.DeleteFunc(g.asked, func(n *systemtest.Node) bool { return n == at }), at)
	g.load.pauses.reset()
	began := time.Now()
	out := mustCommand(t, at, args...)
	took := time.Since(began)
	g.awaitWrites(t)
	t.Logf("%s, asked at %s: %v; longest pause between acknowledged writes %v", what, at.ID, took.Round(time.Millisecond), g.load.pauses.reset().Round(100*time.Microsecond))
	if !strings.Contains(out, "voters: ") {
		t.Errorf("it does not say what becomes of the majority: %s", out)
	}
}

// awaitWrites waits until every writer was acknowledged something new.
func (g *changing) awaitWrites(t *testing.T) {
	t.Helper()
	for _, w := range g.load.keys {
		before := w.last.Load()
		eventually(t, 20*time.Second, "further writes", func() error {
			if w.last.Load() == before {
				return systemtest.ErrNoLeader
			}
			return nil
		})
	}
}

func (g *changing) join(t *testing.T, n *systemtest.Node, size int) {
	t.Helper()
	at := g.another(t, g.leader(t))
	g.change(t, at, "join of "+n.ID, "cluster", "join", n.ID, n.Peer)
	g.nodes = append(g.nodes, n)
	if err := n.AwaitStart(t.Context()); err != nil {
		t.Fatal(err)
	}
	g.load.join(n)
	if len(g.nodes) != size {
		t.Errorf("%d members, want %d", len(g.nodes), size)
	}
	voters(t, at, g.nodes...)
}

func (g *changing) remove(t *testing.T, n, at *systemtest.Node, size int) {
	t.Helper()
	g.load.list.leave(n)
	g.change(t, at, "removal of "+n.ID+", the leader", "cluster", "remove", n.ID)
	endsRemoved(t, n)
	g.load.list.drop(n)
	g.nodes = slices.DeleteFunc(g.nodes, func(o *systemtest.Node) bool { return o == n })
	if len(g.nodes) != size {
		t.Errorf("%d members, want %d", len(g.nodes), size)
	}
	voters(t, g.nodes[0], g.nodes...)
	g.awaitWrites(t)
}
