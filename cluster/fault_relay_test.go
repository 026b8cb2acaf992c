package cluster

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"namesrv/cluster/clusterpb"
)

// packet is what a relay is asked about: one frame of a C connection, or some bytes of an R connection.
type packet struct {
	from, to string // node ids: who opened the connection, and who accepted it
	raft     bool
	answer   bool // it goes back to who opened the connection
	msg      byte // kind of message of a C frame, for answers too
}

// fate is what becomes of a packet.
type fate int

const (
	pass fate = iota
	drop
	hold // until release; what comes later on an R connection waits behind it
)

// relays stand before the peer ports of all nodes of a test and decide what gets through.
type relays struct {
	wg sync.WaitGroup

	mu      sync.Mutex // guards the fields below
	rule    func(packet) fate
	delay   time.Duration // each packet waits up to so long; C frames overtake each other
	changed chan struct{} // closed when rule changed
	held    []func()      // writes the C frames that were held
	linger  bool          // what is held on a C connection still arrives after its sender has closed it
	counts  map[string]int
	conns   map[net.Conn]bool
	shut    bool
}

func newRelays(t *testing.T) *relays {
	rs := &relays{changed: make(chan struct{}), counts: map[string]int{}, conns: map[net.Conn]bool{}}
	t.Cleanup(rs.close)
	return rs
}

// before opens a relay in front of a listener and returns the address to advertise.
func (rs *relays) before(t *testing.T, target net.Listener) string {
	t.Helper()
	l := listen(t)
	t.Cleanup(func() { l.Close() })
	rs.wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			rs.wg.Go(func() { rs.serve(c, target.Addr().String()) })
		}
	})
	return l.Addr().String()
}

// set replaces the rule. What is held on R connections is asked about again.
func (rs *relays) set(rule func(packet) fate) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	rs.rule = rule
	close(rs.changed)
	rs.changed = make(chan struct{})
}

// release sends the C frames that were held, the last first.
func (rs *relays) release() {
	rs.mu.Lock()
	held := rs.held
	rs.held = nil
	rs.mu.Unlock()
	for _, write := range slices.Backward(held) {
		write()
	}
}

func (rs *relays) setLinger() {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	rs.linger = true
}

func (rs *relays) lingers(p packet) bool {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	return rs.linger && !p.raft && !rs.shut
}

// count is how many packets of a kind had a fate so far, R connections counted by the chunk.
func (rs *relays) count(f fate, p packet) int {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	return rs.counts[fmt.Sprint(f, p)]
}

func (rs *relays) close() {
	rs.mu.Lock()
	rs.shut = true
	for c := range rs.conns {
		c.Close()
	}
	rs.mu.Unlock()
	rs.set(nil)
	rs.wg.Wait()
}

func (rs *relays) track(c net.Conn) bool {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	rs.conns[c] = true
	return !rs.shut
}

// judge asks the rule, waits out the delay, and counts.
func (rs *relays) judge(p packet) (f fate, changed <-chan struct{}, wait time.Duration) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if rs.rule != nil {
		f = rs.rule(p)
	}
	if rs.delay > 0 {
		wait = rand.N(rs.delay)
	}
	rs.counts[fmt.Sprint(f, p)]++
	return f, rs.changed, wait
}

// serve passes one connection on, handshake included, which tells who speaks to whom.
func (rs *relays) serve(from net.Conn, target string) {
	defer from.Close()
	to, err := net.Dial("tcp", target)
	if err != nil {
		return
	}
	defer to.Close()
	if !rs.track(from) || !rs.track(to) {
		return
	}
	kind := make([]byte, 1)
	if _, err := io.ReadFull(from, kind); err != nil {
		return
	}
	var hello clusterpb.Hello
	var reply clusterpb.HelloReply
	if copyMessage(to, from, kind, &hello) != nil || copyMessage(from, to, nil, &reply) != nil {
		return
	}
	c := &relayed{rs: rs, from: from, to: to, kinds: map[uint64]byte{},
		packet: packet{from: nodeOf(hello.From), to: nodeOf(reply.Member), raft: kind[0] == connRaft}}
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		c.pump(from, to, false)
		if !rs.lingers(c.packet) {
			to.Close()
		}
		from.Close()
	})
	c.pump(to, from, true)
	to.Close()
	from.Close()
}

// copyMessage passes one message of the handshake on and decodes it.
func copyMessage(dst io.Writer, src io.Reader, prefix []byte, m proto.Message) error {
	var seen bytes.Buffer
	if err := readMessage(io.TeeReader(src, &seen), m); err != nil {
		return err
	}
	_, err := dst.Write(append(prefix, seen.Bytes()...))
	return err
}

// relayed is one connection.
type relayed struct {
	rs       *relays
	packet   packet
	from, to net.Conn

	mu    sync.Mutex // guards kinds and writes to both ends
	kinds map[uint64]byte
}

func (c *relayed) write(dst net.Conn, raw []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, err := dst.Write(raw)
	return err
}

func (c *relayed) pump(src, dst net.Conn, answer bool) {
	r := bufio.NewReaderSize(src, 64<<10)
	for {
		p := c.packet
		p.answer = answer
		raw, err := c.next(r, &p)
		if err != nil || c.forward(dst, raw, p) != nil {
			return
		}
	}
}

// next is the next frame of a C connection, or what there is of an R connection.
func (c *relayed) next(r *bufio.Reader, p *packet) ([]byte, error) {
	if p.raft {
		if _, err := r.Peek(1); err != nil {
			return nil, err
		}
		raw := make([]byte, r.Buffered())
		_, err := io.ReadFull(r, raw)
		return raw, err
	}
	head, err := r.Peek(frameHead)
	if err != nil {
		return nil, err
	}
	id, kind := binary.BigEndian.Uint64(head[4:]), head[12]
	c.mu.Lock()
	if p.answer {
		p.msg = c.kinds[id]
		delete(c.kinds, id)
	} else {
		p.msg, c.kinds[id] = kind, kind
	}
	c.mu.Unlock()
	raw := make([]byte, 4+binary.BigEndian.Uint32(head))
	_, err = io.ReadFull(r, raw)
	return raw, err
}

// forward lets one packet meet its fate.
func (c *relayed) forward(dst net.Conn, raw []byte, p packet) error {
	for {
		f, changed, wait := c.rs.judge(p)
		switch {
		case f == drop:
			return nil
		case f == hold && p.raft:
			<-changed
			continue
		case f == hold:
			c.rs.mu.Lock()
			c.rs.held = append(c.rs.held, func() { _ = c.write(dst, raw) })
			c.rs.mu.Unlock()
			return nil
		case p.raft:
			time.Sleep(wait) // a slow line: order is kept
			return c.write(dst, raw)
		case wait > 0:
			c.rs.wg.Go(func() { time.Sleep(wait); _ = c.write(dst, raw) }) // frames overtake each other
			return nil
		}
		return c.write(dst, raw)
	}
}

// relayedThree forms a group of three whose peer connections all go through relays.
func relayedThree(t *testing.T, change func(cfgs []Config)) ([]*testNode, *relays) {
	t.Helper()
	rs := newRelays(t)
	var cfgs []Config
	var nodes []*testNode
	var join []string
	for i := range 3 {
		l := listen(t)
		cfg, tn := testConfig(t, fmt.Sprintf("n%d", i+1), l)
		cfg.Advertise = rs.before(t, l)
		cfgs, nodes, join = append(cfgs, cfg), append(nodes, tn), append(join, cfg.Advertise)
	}
	if change != nil {
		change(cfgs)
	}
	for i := range cfgs {
		cfgs[i].Expect, cfgs[i].Join = 3, join
		open(t, cfgs[i], nodes[i])
	}
	waitFormed(t, nodes...)
	return nodes, rs
}

// makeLeader hands leadership to a node.
func makeLeader(t *testing.T, want *testNode, nodes []*testNode) (rest []*testNode) {
	t.Helper()
	eventually(t, want.cfg.NodeID+" leads", func() bool {
		if want.Leads() {
			return true
		}
		for _, n := range nodes {
			if n.Leads() {
				id := n.raft().GetConfiguration().Configuration()
				for _, s := range id.Servers {
					if string(s.ID) == want.MemberID() {
						_ = n.raft().LeadershipTransferToServer(s.ID, s.Address).Error()
					}
				}
			}
		}
		return false
	})
	return slices.DeleteFunc(slices.Clone(nodes), func(n *testNode) bool { return n == want })
}
