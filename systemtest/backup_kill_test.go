package systemtest_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"namesrv/internal/process"
	"namesrv/internal/rocketmq"
	"namesrv/systemtest"
	"namesrv/systemtest/chaos/lab"
)

const (
	bulkKeys  = 120
	bulkValue = 100 << 10 // bytes: no compression makes them small, so that a restore has many steps
	ghostName = "ghost"
	renewTime = 15 * time.Second // for brokers that renew every second, on a busy machine
)

// restoreTest is a group with a backup of a state that is over: a broker is gone since, a key has another value, and the
// brokers that are up have one topic more.
type restoreTest struct {
	*systemtest.Cluster
	t     *testing.T
	file  string
	alive []rocketmq.Registration // as they are now

	took time.Duration // of a restore that nothing disturbs
	size int           // bytes of its parts
}

// TestRestoreWhileTheLeaderIsKilled promises that a restore takes effect whole or not at all, and that its command says
// which or how to find out, when the leader dies in the middle: at moments from its beginning to its end, while the
// leader itself or another peer was asked. Brokers that are up are never absent and bring their own tables back.
func TestRestoreWhileTheLeaderIsKilled(t *testing.T) {
	r := newRestoreTest(t)
	done := watch(t, r.alive, r.Clients()...)
	defer done()
	r.undisturbed()
	effects, kills := 0, 4
	if long() {
		kills = 10
	}
	for i := range kills {
		if r.round(float64(i)/float64(kills-1), i%3 == 2) {
			effects++
		}
	}
	t.Logf("%d kills: the restore took effect %d times", kills, effects)
	if effects == 0 {
		t.Error("no restore got through though the others had a majority")
	}
	if long() {
		r.leavesNothing()
	}
}

func newRestoreTest(t *testing.T) *restoreTest {
	r := &restoreTest{Cluster: startCluster(t), t: t, file: filepath.Join(t.TempDir(), "namesrv.save")}
	before := lab.NewBrokers("alive", 3, time.Minute)
	for _, b := range before {
		now := b
		now.Counter, now.Topics = 2, append(slices.Clone(b.Topics), b.Broker+"-new")
		r.alive = append(r.alive, now)
	}
	fleet := fleet(t, r.Cluster, before, time.Second, r.Clients()...)
	conn := dial(t, r.Nodes[0].Client)
	for i := range bulkKeys {
		value := randomText(bulkValue)
		eventually(t, 30*time.Second, "a large value", func() error { // so much at once may cost a busy machine its leader
			return refusal(conn.Call(within(t, 10*time.Second), rocketmq.PutKV("bulk", fmt.Sprint("key", i), value)))
		})
	}
	r.mark("saved")
	ghost := rocketmq.Registration{Cluster: "alive", Broker: ghostName, Addr: "10.9.9.9:10911", Topics: []string{ghostName, "ghost-more"}, Counter: 1, TimeoutMS: 3600000}
	leaving := dial(t, r.Nodes[1].Client)
	answer, err := leaving.Call(within(t, 10*time.Second), ghost.Frame())
	if err := refusal(answer, err); err != nil {
		t.Fatal(err)
	}
	save(t, r.Nodes[2], r.file)
	r.over(ghost, leaving, fleet)
	return r
}

// over ends what was saved: the broker says good-bye, the others register another table from now on.
func (r *restoreTest) over(ghost rocketmq.Registration, conn *rocketmq.Conn, before *lab.Fleet) {
	r.t.Helper()
	answer, err := conn.Call(within(r.t, 10*time.Second), ghost.Unregister())
	if err := refusal(answer, err); err != nil {
		r.t.Fatal(err)
	}
	conn.Close()
	now := lab.StartFleet(r.t.Context(), r.alive, time.Second, r.Clients()...) // both for a moment: a lost last connection would be an end
	r.t.Cleanup(now.Stop)
	for _, b := range r.alive {
		eventually(r.t, renewTime, b.Broker, func() error {
			return has(ask(r.t, r.Nodes[0].Client, rocketmq.RouteOf(b.Broker+"-new", 513)).Body, b.Addr)
		})
	}
	before.Stop()
	for _, n := range r.Nodes {
		eventually(r.t, renewTime, "the saved broker is gone", func() error {
			return lacks(ask(r.t, n.Client, &rocketmq.Frame{Code: rocketmq.CodeClusterInfo}).Body, `"`+ghost.Addr+`"`)
		})
	}
	r.mark("now")
}

func randomText(size int) string {
	raw := make([]byte, size/2)
	rand.Read(raw) // never fails
	return fmt.Sprintf("%x", raw)
}

// mark sets the key that tells which tables a peer has.
func (r *restoreTest) mark(value string) { put(r.t, r.Nodes[0].Client, "mark", value) }

// undisturbed measures a restore that nothing disturbs.
func (r *restoreTest) undisturbed() {
	r.t.Helper()
	ctx, cancel := context.WithCancel(r.t.Context())
	largest := make(chan int, 1)
	go func() {
		most := 0
		tick := time.NewTicker(pollEvery)
		defer tick.Stop()
		for ctx.Err() == nil {
			if state, err := r.Nodes[1].RestoreState(r.t.Context()); err == nil {
				most = max(most, state.Bytes)
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
			}
		}
		largest <- most
	}()
	begin := time.Now()
	mustCommand(r.t, r.Nodes[0], "snapshot", "restore", r.file)
	r.took = time.Since(begin)
	cancel()
	r.size = <-largest
	r.t.Logf("a restore that nothing disturbs takes %v; most that was seen of it on its way: %d bytes", r.took.Round(time.Millisecond), r.size)
	if !r.isRestored() {
		r.t.Fatal("it did not take effect")
	}
}

// round restores, kills the leader when a part of the way is done, and judges. It reports whether the restore took effect.
func (r *restoreTest) round(part float64, askLeader bool) bool {
	r.t.Helper()
	r.undo()
	leader, others := leaderOf(r.t, r.Cluster)
	asked := others[0]
	if askLeader {
		asked = leader
	}
	sessions := r.sessions(others)
	p, err := process.Start(process.Config{Path: binaryPath(r.t), Args: []string{"snapshot", "restore", r.file, "-o", "json", "--admin", "http://" + asked.Admin}})
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(p.Kill)
	at := r.await(part, p, others[1])
	leader.Kill()
	code, err := p.ExitCode(within(r.t, time.Minute))
	if err != nil {
		r.t.Fatal(err)
	}
	if err := leader.Start(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
	ready(r.t, r.Cluster)
	effect := r.isRestored()
	r.t.Logf("leader %s killed %s, %s was asked: exit code %d, took effect: %v %s", leader.ID, at, asked.ID, code, effect, strings.TrimSpace(p.Stderr()))
	r.checkVerdict(p, code, effect, others[1])
	r.checkAlike()
	sessions(r.t)
	return effect
}

// await waits until so great a part of the bytes has arrived; for the whole, until an undisturbed restore is nearly over.
func (r *restoreTest) await(part float64, p *process.Process, at *systemtest.Node) string {
	begin, want := time.Now(), int(part*float64(r.size))
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		state, err := at.RestoreState(r.t.Context())
		switch passed := time.Since(begin); {
		case err != nil:
			r.t.Fatal(err)
		case state.Running != "" && state.Bytes >= want && part < 1:
			return fmt.Sprintf("at %d of about %d bytes", state.Bytes, r.size)
		case part == 1 && passed > r.took*9/10:
			return fmt.Sprintf("after %v", passed.Round(time.Millisecond))
		}
		select {
		case <-p.Done():
			return "after the end of the command"
		case <-tick.C:
		}
	}
}

var restoreID = regexp.MustCompile(`whether restore (\S+) took effect`)

// checkVerdict compares what the command said with what happened, and goes the way that it shows where it does not know.
func (r *restoreTest) checkVerdict(p *process.Process, code int, effect bool, at *systemtest.Node) {
	r.t.Helper()
	switch {
	case code == 0 && effect:
	case code == 4:
		id := restoreID.FindStringSubmatch(p.Stderr())
		if id == nil || !strings.Contains(p.Stderr(), "namesrv snapshot status") {
			r.t.Fatalf("not how to find out: %s", p.Stderr())
		}
		state := parsed[systemtest.RestoreState](r.t, mustCommand(r.t, at, "snapshot", "status", "-o", "json"))
		if (state.Restored == id[1]) != effect {
			r.t.Errorf("snapshot status says %+v of restore %s, took effect: %v", state, id[1], effect)
		}
	case (code == 1 || code == 3) && strings.Contains(p.Stderr(), "nothing was changed") && !effect:
	default:
		r.t.Errorf("exit code %d, took effect: %v: %s", code, effect, p.Stderr())
	}
	if strings.Count(p.Stderr(), "\n") > 1 {
		r.t.Errorf("more than one line: %s", p.Stderr())
	}
}

// isRestored looks at one peer, whose answer must be of one state or the other as a whole; the others are compared later.
func (r *restoreTest) isRestored() bool {
	r.t.Helper()
	mark := ask(r.t, r.Nodes[0].Client, rocketmq.GetKV("fault", "mark")).Fields["value"]
	ghost := has(ask(r.t, r.Nodes[0].Client, rocketmq.RouteOf(ghostName, 513)).Body, "10.9.9.9:10911") == nil
	if ghost != (mark == "saved") {
		r.t.Fatalf("a part of the backup: the mark is %q, the saved broker is there: %v", mark, ghost)
	}
	return ghost
}

// checkAlike waits until the brokers that are up have brought their tables back, and compares all peers.
func (r *restoreTest) checkAlike() {
	r.t.Helper()
	for _, n := range r.Nodes {
		for _, b := range r.alive {
			eventually(r.t, renewTime, b.Broker+" at "+n.ID, func() error {
				return has(ask(r.t, n.Client, rocketmq.RouteOf(b.Broker+"-new", 513)).Body, b.Addr)
			})
		}
	}
	restored := r.isRestored()
	equalTables(r.t, r.Nodes...)
	sameBodies(r.t, r.Clients(), []string{"alive-0", "alive-2-new"})
	if restored != r.isRestored() {
		r.t.Error("the tables changed while nobody changed them")
	}
}

// undo ends the saved state again.
func (r *restoreTest) undo() {
	r.t.Helper()
	ghost := rocketmq.Registration{Cluster: "alive", Broker: ghostName, Addr: "10.9.9.9:10911"}
	if err := refusal(ask(r.t, r.Nodes[0].Client, ghost.Unregister()), nil); err != nil {
		r.t.Fatal(err)
	}
	r.mark("now")
	if r.isRestored() {
		r.t.Fatal("the saved broker stays though it has left")
	}
}

// sessions are connections of brokers to peers that live on: the returned function checks that they are the same still.
func (r *restoreTest) sessions(nodes []*systemtest.Node) (check func(t *testing.T)) {
	r.t.Helper()
	var conns []*rocketmq.Conn
	for _, n := range nodes {
		for range r.alive {
			conns = append(conns, dial(r.t, n.Client))
		}
	}
	renew := func(t *testing.T) error {
		for i, conn := range conns {
			answer, err := conn.Call(within(t, 10*time.Second), r.alive[i%len(r.alive)].Frame())
			if errors.Is(err, rocketmq.ErrBroken) {
				t.Fatalf("the connection of a broker to a peer that lives on was cut: %v", err)
			}
			if err := refusal(answer, err); err != nil {
				return err
			}
		}
		return nil
	}
	eventually(r.t, renewTime, "first registrations", func() error { return renew(r.t) })
	return func(t *testing.T) {
		t.Helper()
		eventually(t, renewTime, "registrations over the same connections", func() error { return renew(t) })
		for _, conn := range conns {
			conn.Close()
		}
	}
}

// leavesNothing kills the peer that sends a restore, and waits until nothing of it is left in the tables.
func (r *restoreTest) leavesNothing() {
	r.t.Helper()
	if r.round(0.5, true) {
		r.t.Fatal("a restore took effect without the peer that sent it")
	}
	begin := time.Now()
	state, err := r.Nodes[0].RestoreState(r.t.Context())
	if err != nil || state.Running == "" {
		r.t.Errorf("nothing is left of the restore already: %+v, %v", state, err)
	}
	eventually(r.t, 2*time.Minute, "nothing is left of a restore that nobody goes on with", func() error {
		state, err := r.Nodes[0].RestoreState(r.t.Context())
		if err == nil && state.Running != "" {
			err = fmt.Errorf("%+v", state)
		}
		return err
	})
	r.t.Logf("nothing of the unfinished restore was left after %v", since(begin))
	r.checkAlike()
}
