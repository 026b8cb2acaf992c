package cluster

import (
	"errors"
	"fmt"
	"strings"
)

var (
	// ErrNoLeader says that no leader could be reached, and that the command was
	// surely not applied.
	ErrNoLeader = errors.New("no leader")
	// ErrUnknownOutcome says that a command was handed on and that nobody can say
	// whether it was or will be applied. It is never sent again by this package.
	ErrUnknownOutcome = errors.New("outcome unknown: leadership or connection lost after the command was sent")
	// ErrFenced says that a command named a term that is over; nothing was applied.
	ErrFenced = errors.New("term is over")
	// ErrTooLarge says that a command is over MaxCommand; nothing was sent.
	ErrTooLarge = errors.New("command too large for the log")
	// ErrStopped is returned by every method once Close has begun or after Fatal.
	ErrStopped = errors.New("cluster member is stopped")
	// ErrOtherNode says that a data directory belongs to a node of another id.
	ErrOtherNode = errors.New("data directory belongs to another node")
	// ErrOtherCluster says that a data directory belongs to another cluster than the
	// peers that were named.
	ErrOtherCluster = errors.New("data directory belongs to another cluster")
	// ErrRemoved says that the group has removed this member: it answers nothing any
	// more, and its data directory is not opened again.
	ErrRemoved = errors.New("this peer was removed from its cluster")
	// ErrRefused says that a change of the group's members would do harm or makes no
	// sense; nothing was changed. The text says why and what to do instead.
	ErrRefused = errors.New("refused")
	// ErrTooNew says that a command is one that some voter's binary may not know yet;
	// nothing was logged. It succeeds once all voters run a newer binary.
	ErrTooNew = errors.New("not every peer knows this change yet")
	// ErrTwin says that another process runs as this very member, on a copy of its data
	// directory.
	ErrTwin = errors.New("this data directory is a copy, or was copied")
	// ErrInUse says that another process holds the data directory.
	ErrInUse = errors.New("data directory is in use by another process")
)

// errOutside is what a peer without a cluster says instead of [ErrNoLeader] alone.
var errOutside = fmt.Errorf("%w: this peer is in no cluster yet: its log says what it waits for; one that lost its directory is let in by namesrv cluster join ID HOST:PORT --replace at another peer", ErrNoLeader)

// errTooOld says that a binary does not know the feature level of its cluster.
var errTooOld = errors.New("too old a binary")

// MaxCommand is the largest command, in bytes as it is stored in the log.
const MaxCommand = 4 << 20

// told is an error that a peer answered with, under the error that it began with there.
func told(kind error, text []byte) error {
	if rest, ok := strings.CutPrefix(string(text), kind.Error()); ok {
		return fmt.Errorf("%w%s", kind, rest)
	}
	return fmt.Errorf("%w: %s", kind, text)
}
