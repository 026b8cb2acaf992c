package cluster

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"net"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"namesrv/cluster/clusterpb"
)

// maxServing bounds the requests of one member's connection that run at a time,
// maxStranger those of any other; the next is read when one is done.
const (
	maxServing  = 1024
	maxStranger = 4
)

// session is one C connection that was accepted here.
type session struct {
	node *Node
	conn net.Conn
	who  welcomed

	wmu sync.Mutex // one writer at a time
}

// serveCommands answers a peer until its connection ends, then waits for what is
// still running.
func (n *Node) serveCommands(c net.Conn, who welcomed) {
	s := &session{node: n, conn: c, who: who}
	ctx, cancel := context.WithCancel(n.ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	places, limit := maxStranger, maxStrange
	if who.trusted {
		places, limit = maxServing, maxFrame
	}
	slots := make(chan struct{}, places)
	r := bufio.NewReader(c)
	for {
		id, kind, deadline, payload, err := readFrame(r, limit)
		if err != nil {
			return
		}
		if kind == msgTerm { // no waiting in it, and many wait for it
			s.reply(id, s.term())
			continue
		}
		if who.trusted {
			n.said.heard(who.from)
		}
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			s.reply(id, s.serve(ctx, kind, deadline-n.clock(), payload))
		})
	}
}

func (s *session) reply(id uint64, a answer) {
	frame := appendFrame(nil, id, a.status, 0, a.payload)
	s.wmu.Lock()
	defer s.wmu.Unlock()
	s.conn.SetWriteDeadline(time.Now().Add(transportTimeout))
	if _, err := s.conn.Write(frame); err != nil {
		s.conn.Close()
	}
}

func (s *session) term() answer {
	r := s.node.raft()
	if !s.who.trusted || r == nil {
		return answer{status: statusNotServed}
	}
	return answer{payload: binary.BigEndian.AppendUint64(nil, r.CurrentTerm())}
}

func (s *session) serve(ctx context.Context, kind byte, left time.Duration, payload []byte) answer {
	if left <= 0 {
		return answer{status: statusLate, payload: []byte("came after its deadline; nothing was done")}
	}
	ctx, cancel := context.WithTimeout(ctx, min(left, transportTimeout))
	defer cancel()
	switch kind {
	case msgForm:
		return s.node.serveForm()
	case msgAdmit:
		return s.node.serveAdmit(payload)
	case msgJoin:
		return s.node.serveJoin(ctx, payload)
	}
	if !s.who.trusted {
		return answer{status: statusNotServed, payload: []byte("this connection is good for form, admit and join only")}
	}
	switch kind {
	case msgConfirm, msgPropose:
		if !s.node.isMember(s.who.from) {
			return answer{status: statusNoLeader, payload: []byte("no member of the group: " + s.who.from)}
		}
		if kind == msgPropose {
			return s.node.servePropose(ctx, payload)
		}
		return s.node.serveConfirm(ctx, s.who.from, payload)
	case msgStatus:
		return s.node.serveStatus(ctx, payload)
	case msgMember:
		return s.node.serveMember(ctx, payload)
	case msgRemoved:
		return s.node.serveRemoved(payload)
	case msgApp:
		return s.node.serveApp(s.who.from, payload)
	case msgPass:
		return s.node.servePass(ctx, s.who.from, payload)
	case msgPassed:
		return s.node.servePassed(payload)
	}
	return answer{status: statusNotServed, payload: []byte("unknown kind of message")}
}

// serveConfirm joins the leader's own rounds; it never asks another peer.
func (n *Node) serveConfirm(ctx context.Context, from string, payload []byte) answer {
	var req clusterpb.ConfirmRequest
	if err := proto.Unmarshal(payload, &req); err != nil {
		return answer{status: statusError, payload: []byte(err.Error())}
	}
	out, err := n.lead.join(ctx, heardBy(from, req.Heard)...)
	if err != nil {
		return answer{status: statusNoLeader, payload: []byte(err.Error())}
	}
	reply := &clusterpb.ConfirmReply{Index: out.index}
	for _, k := range out.refused {
		reply.Refused = append(reply.Refused, []byte(k))
	}
	return answerOf(reply)
}

// servePropose takes a forwarded entry, in the term in which it was sent. Not leading
// any more, or again, it says so; the entry is never passed on.
func (n *Node) servePropose(ctx context.Context, raw []byte) answer {
	if len(raw) > MaxCommand+termRoom {
		return answer{status: statusTooLarge}
	}
	envelope, err := decodeEnvelope(raw)
	if err != nil {
		return answer{status: statusError, payload: []byte(err.Error())}
	}
	if r := n.raft(); r != nil && envelope.Term != 0 && envelope.Term != r.CurrentTerm() {
		return answer{status: statusNoLeader, payload: []byte("sent to the leader of another term")}
	}
	index, res, err := n.applyHere(ctx, entry{raw: raw, needs: envelope.Level})
	switch {
	case errors.Is(err, ErrTooNew):
		return answer{status: statusTooNew, payload: []byte(err.Error())}
	case errors.Is(err, ErrNoLeader), errors.Is(err, ErrFenced): // fenced: logged in another term, so without effect
		return answer{status: statusNoLeader, payload: []byte(err.Error())}
	case err != nil:
		return answer{status: statusUnknown, payload: []byte(err.Error())}
	}
	return answerOf(&clusterpb.ProposeReply{Index: index, Result: res})
}

func answerOf(m proto.Message) answer {
	raw, err := proto.Marshal(m)
	if err != nil {
		return answer{status: statusError, payload: []byte(err.Error())}
	}
	return answer{payload: raw}
}
