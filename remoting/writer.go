package remoting

import (
	"sync"
	"time"

	"namesrv/remoting/protocol"
)

const (
	// writeTimeout is how long a write may make no progress.
	writeTimeout = 30 * time.Second

	// maxWrite is the most that one write has to get rid of within writeTimeout: a slow peer is not a dead one.
	maxWrite = 256 << 10

	// earlyFlush is how many bytes of inline answers are written before all that has arrived is answered.
	earlyFlush = 64 << 10

	// maxKeptBuffer is the largest buffer that is kept for reuse.
	maxKeptBuffer = 256 << 10
)

// buffer holds answers on their way to a socket. Connections share a stock of them, so that an idle one holds none.
type buffer struct{ b []byte }

var buffers = sync.Pool{New: func() any { return new(buffer) }}

func (b *buffer) release() {
	if cap(b.b) <= maxKeptBuffer {
		b.b = b.b[:0]
		buffers.Put(b)
	}
}

// answerLocked adds the answer to a request to what is to be sent.
func (c *Conn) answerLocked(req, resp *protocol.Command) {
	if c.closed || resp == nil || req.OneWay() {
		return
	}
	answer := *resp // it may be shared
	answer.Opaque, answer.Flag, answer.Serialize = req.Opaque, protocol.FlagResponse, c.srv.cfg.Serialize
	answer.Language, answer.Version = protocol.Java, protocol.Version
	if c.pending == nil {
		c.pending = buffers.Get().(*buffer)
	}
	start := len(c.pending.b)
	c.pending.b = protocol.AppendFrame(c.pending.b, &answer)
	if len(c.pending.b)-start > c.srv.cfg.MaxFrame {
		answer.Code, answer.Remark = protocol.SystemError, "the answer is too large"
		answer.ExtFields, answer.Body = nil, nil
		c.pending.b = protocol.AppendFrame(c.pending.b[:start], &answer)
	}
}

func (c *Conn) unsentLocked() int {
	if c.pending == nil {
		return c.sending
	}
	return c.sending + len(c.pending.b)
}

func (c *Conn) dropPendingLocked() {
	if c.pending != nil {
		c.pending.release()
		c.pending = nil
	}
}

// flush writes what is to be sent, unless someone else is at it.
func (c *Conn) flush() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.flushLocked()
}

// flushLocked is flush. It gives up the lock in between.
func (c *Conn) flushLocked() {
	if !c.flushing && c.pending != nil {
		c.flushing = true
		c.sendLocked()
	}
}

// flushSoonLocked starts a goroutine that writes what is to be sent. It is for those who must not block on a socket.
// Close and Shutdown wait for the goroutine.
func (c *Conn) flushSoonLocked() {
	if c.flushing || c.pending == nil {
		return
	}
	c.flushing = true
	c.srv.flushers.Go(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.sendLocked()
	})
}

// sendLocked writes until nothing is left; flushing must be set, and is cleared. It gives up the lock in between.
func (c *Conn) sendLocked() {
	for c.pending != nil {
		batch := c.pending
		c.pending = nil
		c.sending = len(batch.b)
		c.mu.Unlock()
		err := c.write(batch.b)
		batch.release()
		if err != nil {
			c.shut(Errored, err)
		}
		c.mu.Lock()
		c.sending = 0
		c.sentLocked()
	}
	c.flushing = false
}

// sentLocked lets those go on who waited for room. It gives up the lock in between.
func (c *Conn) sentLocked() {
	c.room.Broadcast()
	if len(c.parked) == 0 || c.unsentLocked() > c.srv.cfg.HighWater/2 {
		return
	}
	parked := c.parked
	c.parked = nil
	c.mu.Unlock()
	c.unpark(parked)
	c.mu.Lock()
}

// write writes b in parts that each have writeTimeout.
func (c *Conn) write(b []byte) error {
	for len(b) > 0 {
		n := min(len(b), maxWrite)
		c.extendWrite()
		if _, err := c.nc.Write(b[:n]); err != nil {
			return err
		}
		c.touch()
		b = b[n:]
	}
	return nil
}

// extendWrite moves the write deadline when a fair part of it has passed: doing so for each write would cost more than
// it is worth.
func (c *Conn) extendWrite() {
	now := c.srv.now()
	if c.writable-now > writeTimeout*3/4 {
		return
	}
	c.writable = now + writeTimeout
	_ = c.nc.SetWriteDeadline(time.Now().Add(writeTimeout))
}
