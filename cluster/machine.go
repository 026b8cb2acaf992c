package cluster

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/protobuf/proto"

	"namesrv/cluster/clusterpb"
)

// machine is the raft.FSM: it opens the envelope, keeps the cluster's own part
// of the state and hands the rest to the StateMachine.
//
// It implements raft.ConfigurationStore so that configuration entries move the
// applied index too; a raft.BatchingFSM would not be told of them.
type machine struct {
	app     StateMachine
	member  string
	applied *applied
	fail    func(error)
	took    prometheus.Observer // of one entry; nil: nobody asks

	// ownNoop is the term of the last no-op of this member that was applied: from
	// then on everything committed before that term is in the tables.
	ownNoop atomic.Uint64
	// noop wakes the leader loop when ownNoop moved.
	noop chan struct{}

	mu     sync.Mutex // guards the fields below
	uuid   string
	formed bool
	peers  map[string]*clusterpb.Peer
	group  membership
	lvl    uint32        // feature level; 0 = the first
	news   chan struct{} // closed and replaced when uuid, formed, peers or members changed
	broken error
}

// applyResult is what raft.Apply's future answers on the leader.
type applyResult struct {
	result []byte
	err    error
}

func newMachine(app StateMachine, id identity, a *applied, fail func(error)) *machine {
	return &machine{app: app, member: id.MemberID, applied: a, fail: fail, group: membership{since: id.Since},
		noop: make(chan struct{}, 1), peers: map[string]*clusterpb.Peer{}, news: make(chan struct{})}
}

// Apply implements raft.FSM. After an entry that cannot be understood nothing
// is applied any more, and the applied index stays: this peer answers nothing
// that rests on a state it cannot know.
func (m *machine) Apply(l *raft.Log) any {
	if err := m.isBroken(); err != nil {
		return applyResult{err: err}
	}
	began := time.Now()
	res, err := m.applyEntry(l)
	if m.took != nil {
		m.took.Observe(time.Since(began).Seconds())
	}
	if err != nil {
		m.breakWith(fmt.Errorf("log entry %d: %w", l.Index, err))
		return applyResult{err: err}
	}
	m.applied.set(l.Index)
	return res
}

func (m *machine) applyEntry(l *raft.Log) (applyResult, error) {
	e, err := decodeEnvelope(l.Data)
	if err != nil {
		return applyResult{}, err
	}
	if e.Term != 0 && e.Term != l.Term {
		return applyResult{err: ErrFenced}, nil
	}
	if e.Version > envelopeVersion {
		return applyResult{}, nil // it may be skipped, or decodeEnvelope would not have taken it
	}
	switch e.Kind {
	case clusterpb.Envelope_KIND_APP:
		out, err := m.app.Apply(l.Index, e.Payload)
		return applyResult{result: out}, err
	case clusterpb.Envelope_KIND_NOOP:
		m.applyNoop(e, l.Term)
		return applyResult{}, nil
	case clusterpb.Envelope_KIND_INIT:
		return m.applyInit(l.Index, e.Payload)
	case clusterpb.Envelope_KIND_PEER:
		return applyResult{}, m.applyPeer(e.Payload)
	case clusterpb.Envelope_KIND_FORMED:
		m.change(func() { m.formed = true })
		return applyResult{}, nil
	case clusterpb.Envelope_KIND_REPLACE:
		return applyResult{}, m.applyReplace(e.Payload)
	case clusterpb.Envelope_KIND_LEVEL:
		return applyResult{}, m.applyLevel(e.Payload)
	}
	if e.Ignorable {
		return applyResult{}, nil
	}
	return applyResult{}, fmt.Errorf("%w (kind %d)", errUnknownEntry, e.Kind)
}

func (m *machine) applyNoop(e *clusterpb.Envelope, term uint64) {
	if e.Member != m.member {
		return
	}
	m.ownNoop.Store(term)
	select {
	case m.noop <- struct{}{}:
	default:
	}
}

// applyInit takes the first command of a cluster; where there is a UUID already
// it changes nothing.
func (m *machine) applyInit(index uint64, payload []byte) (applyResult, error) {
	var in clusterpb.Init
	if err := proto.Unmarshal(payload, &in); err != nil {
		return applyResult{}, fmt.Errorf("decode init: %w", err)
	}
	if m.clusterUUID() != "" {
		return applyResult{}, nil
	}
	out, err := m.app.Apply(index, in.Payload)
	if err != nil {
		return applyResult{}, err
	}
	m.change(func() { m.uuid, m.formed = in.Uuid, in.Formed })
	return applyResult{result: out}, nil
}

func (m *machine) applyPeer(payload []byte) error {
	p := new(clusterpb.Peer)
	if err := proto.Unmarshal(payload, p); err != nil {
		return fmt.Errorf("decode peer: %w", err)
	}
	m.change(func() { m.peers[p.Member] = p })
	return nil
}

// StoreConfiguration implements raft.ConfigurationStore.
func (m *machine) StoreConfiguration(index uint64, c raft.Configuration) {
	if m.isBroken() != nil {
		return
	}
	m.change(func() {
		for id := range m.peers {
			if !hasServer(c, id) {
				delete(m.peers, id)
			}
		}
		m.group.follow(index, c, m.member)
	})
	m.applied.set(index)
}

func hasServer(c raft.Configuration, member string) bool {
	for _, s := range c.Servers {
		if string(s.ID) == member {
			return true
		}
	}
	return false
}

func (m *machine) change(do func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	do()
	close(m.news)
	m.news = make(chan struct{})
}

func (m *machine) clusterUUID() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.uuid
}

// view is a copy of the cluster's own state, and a channel that is closed at
// its next change.
type view struct {
	uuid   string
	formed bool
	peers  map[string]*clusterpb.Peer
	group  membership
	level  uint32
	news   <-chan struct{}
}

func (m *machine) view() view {
	m.mu.Lock()
	defer m.mu.Unlock()
	peers := make(map[string]*clusterpb.Peer, len(m.peers))
	for id, p := range m.peers {
		peers[id] = p // never changed once stored
	}
	return view{uuid: m.uuid, formed: m.formed, peers: peers, group: m.group, level: m.lvl, news: m.news}
}

func (m *machine) isBroken() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.broken
}

func (m *machine) breakWith(err error) {
	m.mu.Lock()
	m.broken = err
	m.mu.Unlock()
	m.fail(err)
}

// Snapshot implements raft.FSM: two pointers, no copy of the tables.
func (m *machine) Snapshot() (raft.FSMSnapshot, error) {
	if err := m.isBroken(); err != nil {
		return nil, err
	}
	v := m.view()
	return &snapshot{own: encodeState(v, m.applied.get()), app: m.app.Snapshot()}, nil
}

// Restore implements raft.FSM: the state is replaced whole or not at all. Raft installs
// whatever snapshot comes in the current term: one that was held on its way must not take
// the tables back behind what was applied since.
func (m *machine) Restore(rc io.ReadCloser) error {
	defer rc.Close()
	st, err := readState(rc)
	if err == nil {
		err = tooOldFor(st.Level, m.app.Knows())
	}
	if shown := m.applied.get(); err == nil && st.Applied < shown {
		err = fmt.Errorf("it ends at log entry %d, entry %d is applied already: it came late", st.Applied, shown)
	}
	if err == nil {
		err = m.app.Restore(rc)
	}
	if err != nil {
		err = fmt.Errorf("restore snapshot: %w", err)
		if errors.Is(err, errTooOld) || errors.Is(err, ErrNewerSnapshot) {
			m.breakWith(err) // Raft would only log it and try again
		}
		return err
	}
	m.change(func() {
		m.uuid, m.formed, m.lvl = st.Uuid, st.Formed, st.Level
		m.peers = make(map[string]*clusterpb.Peer, len(st.Peers))
		for _, p := range st.Peers {
			m.peers[p.Member] = p
		}
		m.group.restore(st, m.member)
	})
	m.applied.set(st.Applied)
	return nil
}

var (
	_ raft.FSM                = (*machine)(nil)
	_ raft.ConfigurationStore = (*machine)(nil)

	errSnapshotDamaged = errors.New("snapshot is damaged")
)
