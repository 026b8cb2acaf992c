package cluster

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"namesrv/cluster/clusterpb"
)

// First byte of a peer connection.
const (
	connRaft     = 'R'
	connCommands = 'C'
)

const (
	peerProtocol     = 1        // version in Hello
	maxHello         = 64 << 10 // bytes
	handshakeTimeout = 5 * time.Second
)

// errRefused says that the other side answered the handshake with an error.
var errRefused = errors.New("peer refused the connection")

// greeting is what the accepting side said of itself.
type greeting struct {
	member string
	clock  time.Duration // its clock, at the latest when it answered
	// instance is of its process: another one, or a later one, has another.
	instance uint64
}

// greet opens a connection that this node dialled. With an empty to, whoever
// answers is only asked who it is: no cluster is named, and the connection is
// good for form and admit exchanges only.
func (n *Node) greet(c net.Conn, kind byte, to string) (greeting, error) {
	id := n.identity()
	c.SetDeadline(time.Now().Add(handshakeTimeout))
	defer c.SetDeadline(time.Time{})
	hello := &clusterpb.Hello{Version: peerProtocol, From: id.MemberID, To: to, Knows: n.cfg.Machine.Knows(),
		Address: n.cfg.Advertise, Instance: n.instance}
	if to != "" {
		hello.Uuid, hello.Level = id.UUID, n.machine.level()
	}
	if err := writeMessage(c, []byte{kind}, hello); err != nil {
		return greeting{}, noPeer(err)
	}
	var reply clusterpb.HelloReply
	if err := readMessage(c, &reply); err != nil {
		return greeting{}, noPeer(err)
	}
	if to != "" && reply.Member == to {
		n.told.note(to, reply.Knows)
		n.judgeOwnBinary(reply.Level)
	}
	if to != "" && reply.Member == to && reply.Twin {
		n.fail(fmt.Errorf("%w%s", ErrTwin, strings.TrimPrefix(reply.Error, ErrTwin.Error())))
	}
	if reply.Error != "" {
		return greeting{}, fmt.Errorf("%w: %s", errRefused, reply.Error)
	}
	return greeting{member: reply.Member, clock: time.Duration(reply.ClockMillis) * time.Millisecond, instance: reply.Instance}, nil
}

// noPeer says what is likely where somebody answers and does not greet. The text is the
// same each time: the ports of single connections are left out.
func noPeer(err error) error {
	var op *net.OpError
	if errors.As(err, &op) {
		err = op.Err
	}
	return fmt.Errorf("handshake: %w: not a port for peers (--peer-advertise), or only one of the two has peer TLS?", err)
}

// welcomed is what the accepting side knows of a connection after the handshake.
type welcomed struct {
	kind    byte
	from    string
	trusted bool // both ends are of one cluster and the sender meant this member
	// instance is of the sender's process.
	instance uint64
}

// welcome answers a connection that was accepted here.
func (n *Node) welcome(c net.Conn) (welcomed, error) {
	c.SetDeadline(time.Now().Add(handshakeTimeout))
	defer c.SetDeadline(time.Time{})
	var kind [1]byte
	if _, err := io.ReadFull(c, kind[:]); err != nil {
		return welcomed{}, fmt.Errorf("handshake: %w", err)
	}
	if kind[0] != connRaft && kind[0] != connCommands {
		return welcomed{}, fmt.Errorf("handshake: connection of unknown kind %#x", kind[0])
	}
	var hello clusterpb.Hello
	if err := readMessage(c, &hello); err != nil {
		return welcomed{}, fmt.Errorf("handshake: %w", err)
	}
	w, refusal := n.judge(kind[0], &hello)
	if refusal == nil && w.trusted {
		refusal = n.refuseTwin(&hello)
	}
	reply := &clusterpb.HelloReply{Version: peerProtocol, Member: n.identity().MemberID, ClockMillis: uint64(n.clock().Milliseconds()),
		Knows: n.cfg.Machine.Knows(), Level: n.machine.level(), Instance: n.instance}
	if refusal != nil {
		reply.Error, reply.Twin = refusal.Error(), errors.Is(refusal, ErrTwin)
	}
	if err := writeMessage(c, nil, reply); err != nil {
		return welcomed{}, fmt.Errorf("handshake: %w", err)
	}
	return w, refusal
}

func (n *Node) judge(kind byte, h *clusterpb.Hello) (welcomed, error) {
	id := n.identity()
	w := welcomed{kind: kind, from: h.From, instance: h.Instance}
	switch {
	case h.Version != peerProtocol:
		return w, fmt.Errorf("peer protocol %d is spoken here, not %d", peerProtocol, h.Version)
	case h.To != "" && h.To != id.MemberID:
		return w, fmt.Errorf("this is member %s, not %s", id.MemberID, h.To)
	case h.Uuid != "" && id.UUID != "" && h.Uuid != id.UUID:
		return w, fmt.Errorf("this is a member of cluster %s, not of %s", id.UUID, h.Uuid)
	}
	if h.Uuid != "" && h.Uuid == id.UUID {
		if err := n.judgeBinaries(h); err != nil {
			return w, err
		}
	}
	w.trusted = id.UUID != "" && h.Uuid == id.UUID && h.To == id.MemberID
	if kind == connRaft && !w.trusted {
		return w, errors.New("this member has not been admitted to your cluster")
	}
	if w.trusted {
		n.told.note(h.From, h.Knows)
	}
	return w, nil
}

func writeMessage(w io.Writer, prefix []byte, m proto.Message) error {
	raw, err := proto.Marshal(m)
	if err != nil {
		return err
	}
	out := binary.BigEndian.AppendUint32(prefix, uint32(len(raw)))
	_, err = w.Write(append(out, raw...))
	return err
}

func readMessage(r io.Reader, m proto.Message) error {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return err
	}
	n := binary.BigEndian.Uint32(size[:])
	if n > maxHello {
		return fmt.Errorf("message of %d bytes, at most %d are taken", n, maxHello)
	}
	raw := make([]byte, n)
	if _, err := io.ReadFull(r, raw); err != nil {
		return err
	}
	return proto.Unmarshal(raw, m)
}
