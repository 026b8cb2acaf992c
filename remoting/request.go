package remoting

import (
	"context"
	"runtime/debug"
	"strconv"
	"time"

	"namesrv/remoting/protocol"
)

// What the server answers by itself; the texts are the stock server's where it has any.
const (
	remarkBusy  = "[OVERLOAD]system busy, start flow control for a while"
	remarkPanic = "internal error"
)

// job is a request that goes through a pool.
type job struct {
	proc *Processor
	req  *protocol.Command
}

// request decodes a frame and executes it, or hands it to a pool. An error ends the connection.
func (c *Conn) request(frame []byte, owned bool) error {
	req := c.scratch
	if req == nil {
		req = new(protocol.Command)
	}
	c.scratch = nil
	if err := decode(req, frame, owned); err != nil {
		return err
	}
	if req.IsResponse() {
		return nil
	}
	proc := c.srv.processors[req.Code]
	if proc == nil {
		proc = c.srv.fallback
	}
	if proc.Inline != nil && c.inline(proc, req) {
		c.scratch = req
		return nil
	}
	c.enqueue(job{proc: proc, req: req})
	return nil
}

// inline executes a request at once and reports whether it did.
func (c *Conn) inline(proc *Processor, req *protocol.Command) bool {
	if proc.Ordered && c.isOrderedRunning() {
		return false
	}
	began := c.srv.began()
	resp, ok := c.callInline(proc, req)
	if !ok {
		return false
	}
	c.srv.observe(req, resp, began)
	c.mu.Lock()
	c.answerLocked(req, resp)
	if c.unsentLocked() >= earlyFlush {
		c.flushLocked()
	}
	c.mu.Unlock()
	return true
}

func (c *Conn) callInline(proc *Processor, req *protocol.Command) (resp *protocol.Command, ok bool) {
	defer func() {
		if cause := recover(); cause != nil {
			resp, ok = c.srv.panicked(req, cause), true
		}
	}()
	return proc.Inline(c, req)
}

// enqueue hands a request to its pool.
func (c *Conn) enqueue(j job) {
	c.mu.Lock()
	c.inFlight++
	c.inFlightBytes += len(j.req.Body)
	c.mu.Unlock()
	if j.proc.Ordered {
		c.enqueueOrdered(j)
		return
	}
	c.submit(j)
}

func (c *Conn) submit(j job) {
	if !j.proc.Pool.submit(func() { c.run(j) }) {
		c.refuse(j)
	}
}

// run executes a request in a pool, if it is not to wait aside.
func (c *Conn) run(j job) {
	if !c.park(j) {
		c.handle(j)
	}
}

// park sets a request aside when the connection's peer is behind with reading: its answer would only pile up.
func (c *Conn) park(j job) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || c.unsentLocked() <= c.srv.cfg.HighWater {
		return false
	}
	c.parked = append(c.parked, j)
	return true
}

// unpark gives requests that were set aside to their pools again.
func (c *Conn) unpark(parked []job) {
	for _, j := range parked {
		if j.proc.Ordered {
			c.submitOrdered()
		} else {
			c.submit(j)
		}
	}
}

// handle executes a request and sends its answer.
func (c *Conn) handle(j job) {
	began := c.srv.began()
	resp := c.callHandle(j)
	c.srv.observe(j.req, resp, began)
	c.done(j, resp)
}

func (c *Conn) callHandle(j job) (resp *protocol.Command) {
	defer func() {
		if cause := recover(); cause != nil {
			resp = c.srv.panicked(j.req, cause)
		}
	}()
	return j.proc.Handle(c.srv.ctx, c, j.req)
}

// refuse answers a request for which there is no room.
func (c *Conn) refuse(j job) {
	resp := protocol.NewResponse(protocol.SystemBusy, remarkBusy)
	c.srv.observe(j.req, resp, c.srv.began())
	c.done(j, resp)
}

func (c *Conn) done(j job, resp *protocol.Command) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.inFlight--
	c.inFlightBytes -= len(j.req.Body)
	c.answerLocked(j.req, resp)
	c.flushSoonLocked()
	c.room.Broadcast()
}

// began is the time at which a request begins to run, for observe; 0 when nobody asks.
func (s *Server) began() time.Duration {
	if s.cfg.OnRequest == nil {
		return 0
	}
	return s.now()
}

func (s *Server) observe(req, resp *protocol.Command, began time.Duration) {
	if s.cfg.OnRequest == nil {
		return
	}
	result := protocol.Success
	if resp != nil {
		result = resp.Code
	}
	s.cfg.OnRequest(req.Code, result, s.now()-began)
}

func (s *Server) panicked(req *protocol.Command, cause any) *protocol.Command {
	s.cfg.Logger.Error("handler panicked", "code", req.Code, "cause", cause, "stack", string(debug.Stack()))
	return protocol.NewResponse(protocol.SystemError, remarkPanic)
}

// unsupported is the processor of codes that have none, in the words of RocketMQ's NettyRemotingAbstract.
func unsupported() Processor {
	answer := func(req *protocol.Command) *protocol.Command {
		remark := " request type " + strconv.Itoa(int(req.Code)) + " not supported"
		return protocol.NewResponse(protocol.RequestCodeNotSupported, remark)
	}
	return Processor{
		Handle: func(_ context.Context, _ *Conn, req *protocol.Command) *protocol.Command { return answer(req) },
		Inline: func(_ *Conn, req *protocol.Command) (*protocol.Command, bool) { return answer(req), true },
	}
}
