package cluster

import (
	"errors"
	"io"
	"net"
	"syscall"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
)

// calmLogger is what Raft logs with. It lowers to Debug what Raft calls a warning or
// an error although it is how things go at a first start, a polite stop or a restart,
// or is said by changes once instead of with every try.
type calmLogger struct {
	hclog.Logger
	// lost is told which member did not answer for a lease; nil: nobody is told.
	lost func(member raft.ServerID)
}

// expectedLine is one kind of line that is lowered.
type expectedLine struct {
	message string
	error   func(err error) bool // nil: whatever the error
	why     string
}

// expectedLines are all of them. None is lowered on its text alone where the same
// text may mean that something is broken.
var expectedLines = []expectedLine{
	{"failed to get previous log", isLogNotFound, "how a follower says that it is behind, as each newcomer is"},
	{"appendEntries rejected, sending older logs", nil, "how a leader takes that"},
	{"failed to decode incoming command", isConnectionEnd, "the other side, or this one, closed a connection: peers stop that way"},
	{"failed to flush response", isConnectionEnd, "as above"},
	{"failed to heartbeat to", nil, "changes says once that the member is silent"},
	{"failed to appendEntries to", isConnectionEnd, "as above: heartbeats fail with it"},
	{"failed to pipeline appendEntries", isConnectionEnd, "as above"},
	{"failed to start pipeline replication to", isConnectionEnd, "as above"},
	{"failed to make requestVote RPC", isConnectionEnd, "no vote comes from a peer that stops; an election that lacks votes is loud itself"},
	{"rejecting vote request since our last term is greater", nil, "how a voter passes over a candidate that is behind; changes says who leads"},
	{"rejecting vote request since our last index is greater", nil, "as above"},
	{"rejecting pre-vote request since our last term is greater", nil, "as above"},
	{"rejecting pre-vote request since our last index is greater", nil, "as above"},
	{"peer has newer term, stopping replication", nil, "how a leader that handed over learns that it succeeded"},
}

// Warn lowers what is expected.
func (l calmLogger) Warn(msg string, args ...any) { l.Log(hclog.Warn, msg, args...) }

// Error lowers what is expected.
func (l calmLogger) Error(msg string, args ...any) { l.Log(hclog.Error, msg, args...) }

// Log lowers what is expected.
func (l calmLogger) Log(level hclog.Level, msg string, args ...any) {
	if level >= hclog.Warn && (isExpected(msg, args) || l.passedOn(msg, args)) {
		level = hclog.Debug
	}
	l.Logger.Log(level, msg, args...)
}

// Named keeps the lowering.
func (l calmLogger) Named(name string) hclog.Logger {
	return calmLogger{l.Logger.Named(name), l.lost}
}

// ResetNamed keeps the lowering.
func (l calmLogger) ResetNamed(name string) hclog.Logger {
	return calmLogger{l.Logger.ResetNamed(name), l.lost}
}

// With keeps the lowering.
func (l calmLogger) With(args ...any) hclog.Logger {
	return calmLogger{l.Logger.With(args...), l.lost}
}

// passedOn finds the lines that a leader writes three times for a member that does
// not answer. Raft observes failed heartbeats only, and one to a member that hangs
// fails late; so changes learns it from here, and says it once.
func (l calmLogger) passedOn(msg string, args []any) bool {
	if msg != "failed to contact" || l.lost == nil {
		return false
	}
	member, ok := valueOf(args, "server-id").(raft.ServerID)
	if ok {
		l.lost(member)
	}
	return ok
}

func isExpected(msg string, args []any) bool {
	for _, line := range expectedLines {
		if line.message == msg {
			return line.error == nil || line.error(errorOf(args))
		}
	}
	return false
}

// errorOf finds the error among the pairs of a line.
func errorOf(args []any) error {
	err, _ := valueOf(args, "error").(error)
	return err
}

func valueOf(args []any, key string) any {
	for i := 0; i+1 < len(args); i += 2 {
		if args[i] == key {
			return args[i+1]
		}
	}
	return nil
}

func isLogNotFound(err error) bool { return errors.Is(err, raft.ErrLogNotFound) }

// isConnectionEnd says whether a connection was closed, or there is nobody to make
// one to.
func isConnectionEnd(err error) bool {
	var decoding interface{ Cause() error } // of the library that decodes, whose errors do not unwrap
	if errors.As(err, &decoding) {
		err = decoding.Cause()
	}
	for _, end := range []error{raft.ErrTransportShutdown, io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, syscall.ECONNRESET, syscall.EPIPE, syscall.ECONNREFUSED} {
		if errors.Is(err, end) {
			return true
		}
	}
	return false
}
