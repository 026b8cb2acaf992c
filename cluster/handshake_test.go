package cluster

import (
	"bytes"
	"context"
	"encoding/binary"
	"net"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"namesrv/cluster/clusterpb"
)

// greetWith dials a node and says hello as somebody else.
func greetWith(t *testing.T, n *testNode, kind byte, h *clusterpb.Hello) (*clusterpb.HelloReply, net.Conn, error) {
	t.Helper()
	c, err := net.Dial("tcp", n.cfg.Advertise)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(5 * time.Second))
	if err := writeMessage(c, []byte{kind}, h); err != nil {
		t.Fatal(err)
	}
	reply := new(clusterpb.HelloReply)
	err = readMessage(c, reply)
	return reply, c, err
}

func TestHandshakeRefuses(t *testing.T) {
	n := single(t)
	st := n.Status()
	tests := map[string]struct {
		kind  byte
		hello *clusterpb.Hello
		want  string
	}{
		"another protocol":        {connCommands, &clusterpb.Hello{Version: 9, Uuid: st.UUID, To: st.Member}, "protocol"},
		"another receiver":        {connCommands, &clusterpb.Hello{Version: peerProtocol, Uuid: st.UUID, To: "n9-1"}, "this is member"},
		"another cluster":         {connCommands, &clusterpb.Hello{Version: peerProtocol, Uuid: "u", To: st.Member}, "of cluster"},
		"raft without a cluster":  {connRaft, &clusterpb.Hello{Version: peerProtocol, To: st.Member}, "not been admitted"},
		"raft without a receiver": {connRaft, &clusterpb.Hello{Version: peerProtocol, Uuid: st.UUID}, "not been admitted"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			reply, _, err := greetWith(t, n, tt.kind, tt.hello)
			if err != nil || !strings.Contains(reply.Error, tt.want) {
				t.Errorf("reply %q, %v; want something about %q", reply.GetError(), err, tt.want)
			}
		})
	}
}

func TestUntrustedConnectionIsGoodForFormAndAdmitOnly(t *testing.T) {
	n := single(t)
	_, c, err := greetWith(t, n, connCommands, &clusterpb.Hello{Version: peerProtocol, From: "stranger"})
	if err != nil {
		t.Fatal(err)
	}
	for kind, want := range map[byte]byte{msgForm: statusOK, msgTerm: statusNotServed, msgConfirm: statusNotServed, msgPropose: statusNotServed, msgStatus: statusNotServed, msgApp: statusNotServed, 99: statusNotServed} {
		if _, err := c.Write(appendFrame(nil, uint64(kind), kind, time.Hour, []byte("x"))); err != nil {
			t.Fatal(err)
		}
		id, status, _, _, err := readFrame(c, maxFrame)
		if err != nil || id != uint64(kind) || status != want {
			t.Errorf("kind %d: status %d of request %d, %v; want %d", kind, status, id, err, want)
		}
	}
}

func TestGarbageOnThePeerPortHurtsNobody(t *testing.T) {
	n := single(t)
	huge := binary.BigEndian.AppendUint32([]byte{connCommands}, 1<<31)
	for name, garbage := range map[string][]byte{"http": []byte("GET / HTTP/1.1\r\n\r\n"), "nothing": nil, "huge hello": huge, "half": {connRaft, 0, 0}, "no protobuf": {connCommands, 0, 0, 0, 3, 0xff, 0xff, 0xff}} {
		t.Run(name, func(t *testing.T) {
			c, err := net.Dial("tcp", n.cfg.Advertise)
			if err != nil {
				t.Fatal(err)
			}
			c.Write(garbage)
			c.(*net.TCPConn).CloseWrite()
			c.SetDeadline(time.Now().Add(5 * time.Second))
			if got := make([]byte, 1); func() int { k, _ := c.Read(got); return k }() != 0 {
				t.Error("garbage was answered")
			}
			c.Close()
		})
	}
	propose(t, n, "after")
}

func TestForwardedProposalIsNotPassedOn(t *testing.T) {
	nodes := three(t)
	_, rest := leaderOf(t, nodes...)
	e, err := encodeEnvelope(&clusterpb.Envelope{Kind: clusterpb.Envelope_KIND_APP, Payload: []byte("x")})
	if err != nil {
		t.Fatal(err)
	}
	a, err := rest[0].peers.call(soon(t), rest[1].MemberID(), rest[1].cfg.Advertise, msgPropose, e.raw)
	if err != nil || a.status != statusNoLeader {
		t.Errorf("a follower that was handed a proposal answered %d %q, %v; want no leader", a.status, a.payload, err)
	}
}

func TestDeadlineTravelsWithTheProposal(t *testing.T) {
	l := newLink(nil, 0)
	ctx, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	if err := l.send(ctx, 1, msgPropose, nil); err == nil || !strings.Contains(err.Error(), errNotSent.Error()) {
		t.Errorf("%v, want: not sent", err)
	}
	_, _, left, _, err := readFrame(bytes.NewReader(appendFrame(nil, 1, msgPropose, 1500*time.Millisecond, nil)), maxFrame)
	if err != nil || left != 1500*time.Millisecond {
		t.Errorf("%v %v", left, err)
	}
}

func FuzzDecodeEnvelope(f *testing.F) {
	good, err := encodeEnvelope(&clusterpb.Envelope{Kind: clusterpb.Envelope_KIND_APP, Payload: []byte("command"), Term: 3})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good.raw)
	f.Add(good.raw[:len(good.raw)/2])
	f.Fuzz(func(t *testing.T, raw []byte) {
		e, err := decodeEnvelope(raw)
		if err == nil && (e.Version == 0 || e.Version > envelopeVersion && !e.Ignorable) {
			t.Errorf("took version %d", e.Version)
		}
	})
}

func FuzzReadState(f *testing.F) {
	f.Add(encodeState(view{uuid: "u", formed: true, peers: map[string]*clusterpb.Peer{"m": {Member: "m", Node: "n"}}}, 7))
	f.Add([]byte(snapshotMagic))
	f.Fuzz(func(t *testing.T, raw []byte) {
		st, err := readState(bytes.NewReader(raw))
		if err == nil && proto.Size(st) > len(raw) {
			t.Errorf("%d bytes became a state of %d", len(raw), proto.Size(st))
		}
	})
}

func FuzzReadFrame(f *testing.F) {
	f.Add(appendFrame(nil, 1, msgTerm, time.Second, []byte("x")))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, raw []byte) {
		id, kind, left, payload, err := readFrame(bytes.NewReader(raw), maxFrame)
		if err != nil {
			return
		}
		if again := appendFrame(nil, id, kind, left, payload); !bytes.HasPrefix(raw, again[:12]) {
			t.Errorf("read %x, wrote %x", raw, again)
		}
	})
}
