package cluster

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"sync"
	"time"
)

// message kinds of C connections
const (
	msgForm    = 1 // what a peer shows before there is a cluster
	msgAdmit   = 2 // you belong to this cluster now
	msgTerm    = 3 // your current term, for Confirm
	msgConfirm = 4
	msgPropose = 5
	msgStatus  = 6
	msgApp     = 7  // for the layer above
	msgMember  = 8  // change who belongs to the group; to the leader
	msgJoin    = 9  // a newcomer asks any member to be admitted
	msgRemoved = 10 // to a member that was removed: a StatusReply that shows it

	// A member that does not reach the leader asks another one to pass a message of
	// the layer above on; what was passed on goes no further.
	msgPass   = 11
	msgPassed = 12
)

// answer status of C connections
const (
	statusOK        = 0
	statusError     = 1 // payload is text
	statusNoLeader  = 2 // surely not applied
	statusUnknown   = 3 // outcome unknown
	statusTooLarge  = 4
	statusNotServed = 5 // the connection is not good for this kind
	statusRefused   = 6 // payload says why; nothing was changed
	statusLate      = 7 // came after its deadline; nothing was done
	statusTooNew    = 8 // payload says why; nothing was logged
)

const (
	frameHead = 21 // length 4, id 8, kind or status 1, deadline 8
	maxFrame  = MaxCommand + 1<<20
	// maxStrange is the largest frame of a connection that is good for form, admit
	// and join only.
	maxStrange = 64 << 10
)

const (
	linkWrite = 2 * time.Second // a write that takes longer ends the connection
	linkQuiet = 3 * time.Second // without any answer to what was sent, the connection is given up
)

// errLinkBroken fails every call that was waiting when a connection ended.
var errLinkBroken = errors.New("connection to peer lost")

// errNotSent marks a call that never left this process.
var errNotSent = errors.New("not sent")

type answer struct {
	status  byte
	payload []byte
	err     error
}

// link is one outgoing C connection; calls share it.
//
// Deadlines travel as points on the receiver's own clock, of which the handshake
// told one. Counted from the arrival of a message they would be worth nothing: a
// stream that stalled, or a receiver that was stopped, would deliver a command
// long after its sender had given it up and others had changed the same thing.
type link struct {
	conn    net.Conn
	clock   time.Duration // receiver's clock at began, or a little earlier
	began   time.Time
	writing chan struct{} // one place: one writer at a time

	mu         sync.Mutex // guards the fields below
	next       uint64
	pending    map[uint64]chan answer
	unanswered time.Time // when the first message since the last answer was sent; zero: none
	broken     error
}

func newLink(c net.Conn, clock time.Duration) *link {
	return &link{conn: c, clock: clock, began: time.Now(), writing: make(chan struct{}, 1), pending: make(map[uint64]chan answer)}
}

// deadline turns what a context has left into a point on the receiver's clock.
func (l *link) deadline(ctx context.Context) (time.Duration, error) {
	d, ok := ctx.Deadline()
	if !ok {
		d = time.Now().Add(transportTimeout)
	}
	left := time.Until(d)
	if left <= 0 {
		return 0, context.DeadlineExceeded
	}
	return l.clock + time.Since(l.began) + left, nil
}

// call sends one message and waits for its answer. An error that wraps
// errNotSent says that the other side cannot have seen it.
func (l *link) call(ctx context.Context, kind byte, payload []byte) (answer, error) {
	if len(payload) > maxFrame-frameHead {
		return answer{}, fmt.Errorf("%w: %w", errNotSent, ErrTooLarge)
	}
	id, ch, err := l.register()
	if err != nil {
		return answer{}, fmt.Errorf("%w: %w", errNotSent, err)
	}
	defer l.forget(id)
	if err := l.send(ctx, id, kind, payload); err != nil {
		return answer{}, err
	}
	select {
	case a := <-ch:
		if a.status == statusLate && ctx.Err() == nil {
			l.breakWith(errors.New("the other side's clock was told late"))
		}
		return a, a.err
	case <-ctx.Done():
		return answer{}, ctx.Err()
	}
}

func (l *link) register() (uint64, chan answer, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.broken == nil && !l.unanswered.IsZero() && time.Since(l.unanswered) > linkQuiet {
		l.breakLocked(fmt.Errorf("no answer for %v", linkQuiet))
	}
	if l.broken != nil {
		return 0, nil, l.broken
	}
	l.next++
	ch := make(chan answer, 1)
	l.pending[l.next] = ch
	if l.unanswered.IsZero() {
		l.unanswered = time.Now()
	}
	return l.next, ch, nil
}

func (l *link) forget(id uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.pending, id)
}

func (l *link) send(ctx context.Context, id uint64, kind byte, payload []byte) error {
	select {
	case l.writing <- struct{}{}:
		defer func() { <-l.writing }()
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", errNotSent, ctx.Err())
	}
	deadline, err := l.deadline(ctx)
	if err != nil {
		return fmt.Errorf("%w: %w", errNotSent, err)
	}
	l.conn.SetWriteDeadline(time.Now().Add(linkWrite))
	if _, err := l.conn.Write(appendFrame(nil, id, kind, deadline, payload)); err != nil {
		l.breakWith(err)
		return fmt.Errorf("%w: %w", errLinkBroken, err)
	}
	return nil
}

// read takes answers until the connection ends, then fails all that wait.
func (l *link) read() {
	r := bufio.NewReader(l.conn)
	for {
		id, status, _, payload, err := readFrame(r, maxFrame)
		if err != nil {
			l.breakWith(err)
			return
		}
		l.mu.Lock()
		ch := l.pending[id]
		delete(l.pending, id)
		l.unanswered = time.Time{}
		if len(l.pending) > 0 {
			l.unanswered = time.Now()
		}
		l.mu.Unlock()
		if ch != nil {
			ch <- answer{status: status, payload: payload}
		}
	}
}

func (l *link) breakWith(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.breakLocked(err)
}

func (l *link) breakLocked(err error) {
	l.conn.Close()
	if l.broken != nil {
		return
	}
	l.broken = fmt.Errorf("%w: %w", errLinkBroken, err)
	for id, ch := range l.pending {
		ch <- answer{err: l.broken}
		delete(l.pending, id)
	}
}

func (l *link) isBroken() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.broken != nil
}

func appendFrame(dst []byte, id uint64, kind byte, deadline time.Duration, payload []byte) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(frameHead-4+len(payload)))
	dst = binary.BigEndian.AppendUint64(dst, id)
	dst = append(dst, kind)
	dst = binary.BigEndian.AppendUint64(dst, uint64(max(deadline, 0)))
	return append(dst, payload...)
}

func readFrame(r io.Reader, limit int) (id uint64, kind byte, deadline time.Duration, payload []byte, err error) {
	var head [frameHead]byte
	if _, err = io.ReadFull(r, head[:]); err != nil {
		return
	}
	size := binary.BigEndian.Uint32(head[:])
	if size < frameHead-4 || int64(size) > int64(limit) {
		err = fmt.Errorf("frame of %d bytes", size)
		return
	}
	id, kind = binary.BigEndian.Uint64(head[4:]), head[12]
	deadline = time.Duration(binary.BigEndian.Uint64(head[13:]) & math.MaxInt64)
	payload = make([]byte, size-(frameHead-4))
	_, err = io.ReadFull(r, payload)
	return
}
