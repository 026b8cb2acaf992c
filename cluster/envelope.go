package cluster

import (
	"errors"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"namesrv/cluster/clusterpb"
)

// envelopeVersion is the newest log format that this binary writes and knows.
const envelopeVersion = 1

// errUnknownEntry says that an entry was written by a newer version. It is not
// skipped, unless it says that it may be: peers that skipped it and peers that did
// not would differ for ever.
var errUnknownEntry = errors.New("entry of a newer version: install a newer namesrv")

// entry is what goes into the log, and the feature level that it asks of every voter.
type entry struct {
	raw   []byte
	needs uint32
}

func encodeEnvelope(e *clusterpb.Envelope) (entry, error) {
	e.Version = envelopeVersion
	raw, err := proto.Marshal(e)
	if err != nil {
		return entry{}, fmt.Errorf("encode log entry: %w", err)
	}
	if len(raw) > MaxCommand {
		return entry{}, fmt.Errorf("%w: %d bytes of at most %d", ErrTooLarge, len(raw), MaxCommand)
	}
	return entry{raw: raw, needs: e.Level}, nil
}

// termRoom is what inTerm adds at most.
const termRoom = 16

// inTerm is the entry as it may be logged in one term only.
func (e entry) inTerm(term uint64) ([]byte, error) {
	field, err := proto.Marshal(&clusterpb.Envelope{Term: term})
	if err != nil {
		return nil, fmt.Errorf("encode log entry: %w", err)
	}
	return slices.Concat(e.raw, field), nil // the fields of both are those of one message
}

func decodeEnvelope(raw []byte) (*clusterpb.Envelope, error) {
	e := new(clusterpb.Envelope)
	if err := proto.Unmarshal(raw, e); err != nil {
		return nil, fmt.Errorf("decode log entry: %w", err)
	}
	if e.Version == 0 || e.Version > envelopeVersion && !e.Ignorable {
		return nil, fmt.Errorf("%w (entry version %d, known %d)", errUnknownEntry, e.Version, envelopeVersion)
	}
	return e, nil
}

// envelopeOf wraps a command of the state machine.
func (n *Node) envelopeOf(command []byte) *clusterpb.Envelope {
	return &clusterpb.Envelope{Kind: clusterpb.Envelope_KIND_APP, Payload: command, Level: n.cfg.Machine.Needs(command)}
}
