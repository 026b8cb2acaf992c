package cluster

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
)

// Node is one member of a Raft group. Open makes it, Close ends it.
type Node struct {
	cfg Config
	log hclog.Logger

	ctx    context.Context // ends when Close begins or the node failed
	cancel context.CancelFunc
	wg     sync.WaitGroup // goroutines that end with ctx

	admitMu sync.Mutex // one admission at a time; only idMu is locked under it
	idMu    sync.Mutex // one change of identity.json at a time
	lock    *os.File
	mux     *mux
	peers   *peers
	started time.Time
	// instance tells this process from another one with the same member id.
	instance uint64
	applied  applied
	machine  *machine
	told     advertised // by other members in handshakes
	reach    *reach
	said     *changes
	lead     *rounds // confirmations that this node gives as leader
	follow   *rounds // confirmations that it fetches from the leader

	ids       atomic.Pointer[identity]
	rt        atomic.Pointer[running]
	admitted  chan struct{}                     // closed once this directory belongs to a cluster
	found     atomic.Pointer[map[string]string] // facts of all founders
	known     bool                              // it did so when it was opened
	confirmed atomic.Bool
	alone     atomic.Bool  // the configuration holds this member only; good while changing is 0
	changing  atomic.Int32 // changes of the configuration that may be under way; all go through this node
	removed   atomic.Bool
	// toldRemoved takes the index of a configuration without this member, as another
	// one told it.
	toldRemoved chan uint64
	stats       *counters

	tooOld atomic.Pointer[error] // why its cluster cannot take this binary

	transfers atomic.Int32 // of leadership, that Raft has not answered

	failOnce  sync.Once
	failed    chan struct{}
	closeOnce sync.Once
}

// running is Raft with what it stands on.
type running struct {
	raft  *raft.Raft
	trans *transport
	disk  *disk
}

// Open takes the data directory, starts to listen to peers, and starts Raft if
// the directory belongs to a cluster; otherwise it goes on forming one, or
// waits to be admitted, in the background. The listener is closed by Close, and
// also when Open returns an error.
func Open(cfg Config) (*Node, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	lock, err := lockDir(cfg.DataDir)
	if err != nil {
		return nil, errors.Join(err, cfg.Listener.Close())
	}
	id, err := loadIdentity(cfg.DataDir, cfg.NodeID)
	if err != nil {
		return nil, errors.Join(err, cfg.Listener.Close(), lock.Close())
	}
	n := newNode(cfg, lock, id)
	n.known = id.UUID != ""
	n.mux.wg.Add(1)
	go n.mux.serve()
	if err := n.begin(); err != nil {
		return nil, errors.Join(err, n.Close())
	}
	return n, nil
}

func newNode(cfg Config, lock *os.File, id identity) *Node {
	n := &Node{cfg: cfg, log: cfg.Logger, started: time.Now(), instance: rand.Uint64(), lock: lock, admitted: make(chan struct{}), failed: make(chan struct{}), toldRemoved: make(chan uint64, 1), stats: newCounters()}
	n.ctx, n.cancel = context.WithCancel(context.Background())
	n.ids.Store(&id)
	n.mux = &mux{listener: cfg.Listener, tls: cfg.TLS, welcome: n.welcome, commands: n.serveCommands,
		raft: make(chan net.Conn), done: make(chan struct{}), conns: make(map[net.Conn]struct{}), log: n.log}
	n.peers = newPeers(n)
	n.machine = newMachine(cfg.Machine, id, &n.applied, n.fail)
	n.machine.took = n.stats.applied
	n.said = &changes{log: n.log, last: n.lastEntry}
	n.reach = newReach(n.ctx, n.log, n.tryConfirm)
	n.wg.Go(n.reach.tick)
	n.lead = &rounds{ctx: n.ctx, do: n.confirmAsLeader, stats: n.stats.lead}
	n.follow = &rounds{ctx: n.ctx, do: n.confirmAtLeader, stats: n.stats.follow}
	return n
}

func (n *Node) begin() error {
	id := n.identity()
	switch {
	case id.UUID != "":
		if err := n.checkTwin(); err != nil {
			return err
		}
		others := slices.DeleteFunc(slices.Clone(n.cfg.Join), func(addr string) bool { return addr == n.cfg.Advertise })
		unanswered, err := n.compareClusters(others)
		if err != nil {
			return err
		}
		if len(unanswered) == len(others) {
			n.wg.Go(func() { n.compareLater(unanswered) })
		}
		if err := n.startRaft(""); err != nil {
			return err
		}
		n.wg.Go(n.compareList)
		return nil
	case n.cfg.Single:
		return n.startRaft(newUUID())
	}
	if _, err := os.Stat(n.cfg.DataDir + "/" + logFile); err == nil && len(n.cfg.Join) == 0 {
		return fmt.Errorf("%s holds a Raft log of no cluster: start with the --bootstrap-expect and --join it was begun with, or empty the directory", n.cfg.DataDir)
	}
	n.wg.Go(n.form)
	return nil
}

// startRaft opens the disk and runs Raft. With newUUID this node first begins a
// cluster of that id with itself as the only voter: log first, identity second,
// so that a crash between them leaves a directory that begins again.
func (n *Node) startRaft(newUUID string) error {
	d, err := n.openDisk()
	if err != nil {
		return err
	}
	if err := d.checkLog(n.cfg.DataDir, n.identity().Since); err != nil {
		return errors.Join(err, d.bolt.Close())
	}
	notify := make(chan bool, 64)
	rc := n.cfg.raftConfig(n.identity().MemberID, notify)
	cache, err := raft.NewLogCache(512, d.guard)
	if err != nil {
		return errors.Join(err, d.bolt.Close())
	}
	trans := newTransport(n.ctx, raft.NewNetworkTransportWithConfig(&raft.NetworkTransportConfig{
		Stream:                &stream{node: n, addr: raftAddr(n.cfg.Advertise), closed: make(chan struct{})},
		ServerAddressProvider: provider{node: n},
		MaxPool:               transportPool,
		Timeout:               transportTimeout,
		Logger:                calmLogger{Logger: n.log.Named("raft-net")},
	}), n.cfg.profile())
	if newUUID != "" {
		err := d.bootstrap(rc, trans, n.cfg.Advertise)
		if err == nil {
			err = n.changeIdentity(func(id *identity) { id.UUID, id.Alone = newUUID, n.cfg.Single })
		}
		if err != nil {
			trans.close()
			return errors.Join(fmt.Errorf("begin a cluster: %w", err), d.bolt.Close())
		}
	}
	rc.Logger = calmLogger{n.log.Named("raft"), n.said.lost}
	r, err := raft.NewRaft(rc, n.machine, cache, d.guard, d.snapshots, trans)
	if err != nil {
		trans.close()
		if broken := n.machine.isBroken(); broken != nil {
			err = broken // Raft only says that no snapshot could be used
		} else {
			err = d.snapshotAdvice(n.cfg.DataDir, err)
		}
		return errors.Join(fmt.Errorf("start Raft: %w", err), d.bolt.Close())
	}
	r.RegisterObserver(raft.NewObserver(nil, false, n.stats.observe))
	r.RegisterObserver(raft.NewObserver(nil, false, n.said.observe))
	n.rt.Store(&running{raft: r, trans: trans, disk: d})
	if members := len(r.GetConfiguration().Configuration().Servers); n.identity().Alone && members == 1 && n.cfg.Expect > 1 {
		return fmt.Errorf("%w: %s holds a cluster of one that was begun without --join: start it without --bootstrap-expect and --join and let the others join it, or empty the directory", ErrOtherCluster, n.cfg.DataDir)
	}
	close(n.admitted)
	n.wg.Go(func() { n.watchLeadership(notify) })
	n.wg.Go(n.announce)
	n.wg.Go(n.watchMembership)
	n.wg.Go(n.watchLogFile)
	if isLoneVoter(r.GetConfiguration().Configuration(), n.identity().MemberID) {
		n.wg.Go(func() { trans.standNow(n.ctx) })
	}
	return nil
}

// clock is what deadlines of peers' messages refer to.
func (n *Node) clock() time.Duration { return time.Since(n.started) }

func (n *Node) identity() identity { return *n.ids.Load() }

// lastEntry is where the log of this member ends; 0 before there is one.
func (n *Node) lastEntry() (term, index uint64) {
	r := n.raft()
	if r == nil {
		return 0, 0
	}
	return r.CurrentTerm(), r.LastIndex()
}

// noLeader says why nobody decides.
func (n *Node) noLeader() error {
	if n.raft() == nil {
		return errOutside
	}
	return ErrNoLeader
}

// raft returns nil until this directory belongs to a cluster.
func (n *Node) raft() *raft.Raft {
	if rt := n.rt.Load(); rt != nil {
		return rt.raft
	}
	return nil
}

// setUUID writes down which cluster this directory belongs to.
func (n *Node) setUUID(uuid string) error {
	return n.changeIdentity(func(id *identity) { id.UUID = uuid })
}

func (n *Node) changeIdentity(change func(id *identity)) error {
	n.idMu.Lock()
	defer n.idMu.Unlock()
	id := n.identity()
	change(&id)
	if err := id.save(n.cfg.DataDir); err != nil {
		return err
	}
	n.ids.Store(&id)
	return nil
}

// fail stops this member for good: it answers nothing from now on, and the
// process is told why.
func (n *Node) fail(err error) {
	n.failOnce.Do(func() {
		close(n.failed)
		n.cancel()
		n.log.Error("this member cannot go on", "error", err)
		go func() { // on its own goroutine: the caller may be Raft's
			n.mux.close()
			n.cfg.Fatal(err)
		}()
	})
}

// shutdownLimit is how long Raft may take to stop; a disk that hangs holds it up.
const shutdownLimit = 10 * time.Second

// Close stops this member. It neither hands over nor leaves the group.
func (n *Node) Close() error {
	var err error
	n.closeOnce.Do(func() { err = n.close() })
	return err
}

func (n *Node) close() error {
	n.cancel()
	n.mux.close()
	n.peers.close()
	n.mux.wg.Wait() // an admission may still have been starting Raft
	n.wg.Wait()
	var errs []error
	if rt := n.rt.Load(); rt != nil {
		rt.trans.close()
		ctx, cancel := context.WithTimeout(context.Background(), shutdownLimit)
		defer cancel()
		n.awaitTransfers()
		if err := await(ctx, nil, rt.raft.Shutdown(), nil); err != nil {
			return fmt.Errorf("stop Raft: %w", err) // its disk may still be in use
		}
		errs = append(errs, rt.disk.bolt.Close())
	}
	return errors.Join(append(errs, n.lock.Close())...)
}
