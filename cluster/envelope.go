package cluster

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	"namesrv/cluster/clusterpb"
)

// envelopeVersion is the newest log format that this binary writes and knows.
const envelopeVersion = 1

// errUnknownEntry says that an entry was written by a newer version. It is never
// skipped: peers that skipped it and peers that did not would differ for ever.
var errUnknownEntry = errors.New("log entry of a newer version: install a newer namesrv")

func encodeEnvelope(e *clusterpb.Envelope) ([]byte, error) {
	e.Version = envelopeVersion
	raw, err := proto.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("encode log entry: %w", err)
	}
	if len(raw) > MaxCommand {
		return nil, fmt.Errorf("%w: %d bytes of at most %d", ErrTooLarge, len(raw), MaxCommand)
	}
	return raw, nil
}

func decodeEnvelope(raw []byte) (*clusterpb.Envelope, error) {
	e := new(clusterpb.Envelope)
	if err := proto.Unmarshal(raw, e); err != nil {
		return nil, fmt.Errorf("decode log entry: %w", err)
	}
	if e.Version == 0 || e.Version > envelopeVersion {
		return nil, fmt.Errorf("%w (entry version %d, known %d)", errUnknownEntry, e.Version, envelopeVersion)
	}
	return e, nil
}
