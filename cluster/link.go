package cluster

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
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
	msgApp     = 7 // for the layer above
)

// answer status of C connections
const (
	statusOK        = 0
	statusError     = 1 // payload is text
	statusNoLeader  = 2 // surely not applied
	statusUnknown   = 3 // outcome unknown
	statusTooLarge  = 4
	statusNotServed = 5 // the connection is not good for this kind
)

const (
	frameHead = 17 // length 4, id 8, kind or status 1, milliseconds left 4
	maxFrame  = MaxCommand + 1<<20
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
type link struct {
	conn net.Conn

	wmu sync.Mutex // one writer at a time

	mu      sync.Mutex // guards the fields below
	next    uint64
	pending map[uint64]chan answer
	broken  error
}

func newLink(c net.Conn) *link { return &link{conn: c, pending: make(map[uint64]chan answer)} }

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
		return a, a.err
	case <-ctx.Done():
		return answer{}, ctx.Err()
	}
}

func (l *link) register() (uint64, chan answer, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.broken != nil {
		return 0, nil, l.broken
	}
	l.next++
	ch := make(chan answer, 1)
	l.pending[l.next] = ch
	return l.next, ch, nil
}

func (l *link) forget(id uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.pending, id)
}

func (l *link) send(ctx context.Context, id uint64, kind byte, payload []byte) error {
	left := time.Duration(0)
	if d, ok := ctx.Deadline(); ok {
		if left = time.Until(d); left <= 0 {
			return fmt.Errorf("%w: %w", errNotSent, context.DeadlineExceeded)
		}
	}
	frame := appendFrame(nil, id, kind, left, payload)
	l.wmu.Lock()
	defer l.wmu.Unlock()
	l.conn.SetWriteDeadline(time.Now().Add(transportTimeout))
	if _, err := l.conn.Write(frame); err != nil {
		l.breakWith(err)
		return fmt.Errorf("%w: %w", errLinkBroken, err)
	}
	return nil
}

// read takes answers until the connection ends, then fails all that wait.
func (l *link) read() {
	r := bufio.NewReader(l.conn)
	for {
		id, status, _, payload, err := readFrame(r)
		if err != nil {
			l.breakWith(err)
			return
		}
		l.mu.Lock()
		ch := l.pending[id]
		delete(l.pending, id)
		l.mu.Unlock()
		if ch != nil {
			ch <- answer{status: status, payload: payload}
		}
	}
}

func (l *link) breakWith(err error) {
	l.conn.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
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

func appendFrame(dst []byte, id uint64, kind byte, left time.Duration, payload []byte) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(frameHead-4+len(payload)))
	dst = binary.BigEndian.AppendUint64(dst, id)
	dst = append(dst, kind)
	dst = binary.BigEndian.AppendUint32(dst, uint32(min(left.Milliseconds(), 1<<31)))
	return append(dst, payload...)
}

func readFrame(r io.Reader) (id uint64, kind byte, left time.Duration, payload []byte, err error) {
	var head [frameHead]byte
	if _, err = io.ReadFull(r, head[:]); err != nil {
		return
	}
	size := binary.BigEndian.Uint32(head[:])
	if size < frameHead-4 || size > maxFrame {
		err = fmt.Errorf("frame of %d bytes", size)
		return
	}
	id, kind = binary.BigEndian.Uint64(head[4:]), head[12]
	left = time.Duration(binary.BigEndian.Uint32(head[13:])) * time.Millisecond
	payload = make([]byte, size-(frameHead-4))
	_, err = io.ReadFull(r, payload)
	return
}
