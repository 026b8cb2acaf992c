package nameserver

import (
	"context"
	"errors"
	"time"

	"namesrv/cluster"
	"namesrv/fsm"
	"namesrv/remoting"
	"namesrv/remoting/protocol"
)

// How long a request may take before it is answered that it could not be done.
// Brokers and tools wait 3 s for most answers, brokers before 5.0 wait 6 s for a
// registration, later ones 24 s; an answer that comes later is worse than a
// refusal, since they cut the connection.
const (
	requestLimit         = 2500 * time.Millisecond
	oldRegistrationLimit = 5 * time.Second
	registrationLimit    = 20 * time.Second
)

// Remarks that clients and people see.
const (
	remarkNotReady = "name server not ready"
	remarkNoLeader = "no leader can be reached: nothing was changed, try again"
	remarkUnknown  = "leader lost while the change was under way: it may or may not have been made"
	remarkSlow     = "no answer from the group in time"
	remarkStale    = "this peer was stopped and read the request too late; nothing was done"
	remarkLarge    = "too large: one change may take 4 MiB in the log"
)

// success is shared: the server puts opaque and flags into a copy of its own.
var success = protocol.NewResponse(protocol.Success, "")

func failure(remark string) *protocol.Command {
	return protocol.NewResponse(protocol.SystemError, remark)
}

// failureOf turns an error of the group into an answer.
func failureOf(err error) *protocol.Command {
	switch {
	case errors.Is(err, cluster.ErrNoLeader):
		return failure(remarkNoLeader)
	case errors.Is(err, cluster.ErrTooLarge):
		return failure(remarkLarge)
	case errors.Is(err, cluster.ErrUnknownOutcome):
		return failure(remarkUnknown)
	case errors.Is(err, context.DeadlineExceeded):
		return failure(remarkSlow)
	}
	return failure(err.Error())
}

func withBody(body []byte) *protocol.Command {
	c := protocol.NewResponse(protocol.Success, "")
	c.Body = body
	return c
}

// view is a read's tables, and whether they are known to show everything that
// was committed before the request came.
type view struct {
	*fsm.State
	confirmed bool
}

// read returns the tables to answer from. An error means that this peer has
// nothing it may show.
func (s *Service) read(ctx context.Context) (view, error) {
	if s.group.Confirmed() {
		return view{State: s.tables.State(), confirmed: true}, nil
	}
	if s.cfg.LocalReads && s.group.EverConfirmed() {
		return view{State: s.tables.State()}, nil
	}
	return s.readConfirmed(ctx)
}

// readConfirmed asks whether the tables are the newest. Without a leader it
// returns the last known state, unless that is not wanted or this process has
// never shown a confirmed one: it may be older than what it answered before.
func (s *Service) readConfirmed(ctx context.Context, heard ...string) (view, error) {
	_, err := s.group.Confirm(ctx, heard...)
	if err == nil {
		return view{State: s.tables.State(), confirmed: true}, nil
	}
	if errors.Is(err, cluster.ErrNoLeader) && !s.cfg.RefuseWithoutLeader && s.group.EverConfirmed() {
		s.unconfirmed.Add(1)
		if told, ok := ctx.Value(unconfirmedKey{}).(func()); ok {
			told()
		}
		return view{State: s.tables.State()}, nil
	}
	return view{}, err
}

// unconfirmedKey is where a context keeps what is called when an answer is old.
type unconfirmedKey struct{}

// WithUnconfirmed returns a context for reads of a Service, which call told when they
// answer from the last known state for want of a leader.
func WithUnconfirmed(ctx context.Context, told func()) context.Context {
	return context.WithValue(ctx, unconfirmedKey{}, told)
}

// absent makes sure before something is called absent: "no such thing" is a
// claim, and clients drop what they know when they hear it.
func (s *Service) absent(ctx context.Context, v view) (view, error) {
	if v.confirmed {
		return v, nil
	}
	again, err := s.readConfirmed(ctx)
	if err != nil {
		return view{}, err
	}
	if !again.confirmed {
		return view{}, cluster.ErrNoLeader
	}
	return again, nil
}

// change proposes a command and returns its result once this peer's tables show
// it. When nobody can say whether it was applied, done decides by a confirmed
// look at the tables, for which some of the time is kept; the command is never
// sent again.
func (s *Service) change(ctx context.Context, command []byte, done func(*fsm.State) bool) (fsm.Result, error) {
	proposing, cancel := context.WithTimeout(ctx, mostOf(ctx))
	defer cancel()
	raw, err := s.group.Propose(proposing, command)
	if errors.Is(err, cluster.ErrUnknownOutcome) && done != nil {
		if _, cerr := s.group.Confirm(ctx); cerr == nil && done(s.tables.State()) {
			return fsm.Result{}, nil
		}
	}
	if err != nil {
		return fsm.Result{}, err
	}
	return fsm.DecodeResult(raw)
}

// mostOf is four fifths of what a context has left.
func mostOf(ctx context.Context) time.Duration {
	left := requestLimit
	if d, ok := ctx.Deadline(); ok {
		left = time.Until(d)
	}
	return left * 4 / 5
}

// within gives a handler its time. A request that was read after this process was
// stopped for longer than that is not worked on: its sender has given up.
func (s *Service) within(limit time.Duration, h remoting.Handler) remoting.Handler {
	return func(ctx context.Context, c *remoting.Conn, req *protocol.Command) *protocol.Command {
		if s.stall.longer(limit) {
			return failure(remarkStale)
		}
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		return h(ctx, c, req)
	}
}

// unreadable answers a read for which there is nothing that may be shown.
func unreadable(err error) *protocol.Command {
	if errors.Is(err, cluster.ErrNoLeader) {
		return failure(remarkNotReady + ": no leader can be reached")
	}
	return failureOf(err)
}

func answerResult(r fsm.Result, err error) *protocol.Command {
	switch {
	case err != nil:
		return failureOf(err)
	case r.Code != protocol.Success:
		return protocol.NewResponse(r.Code, r.Remark)
	}
	return success
}
