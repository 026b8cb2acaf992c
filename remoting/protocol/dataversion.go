package protocol

import (
	"fmt"
	"strconv"
)

// DataVersion is the version that a broker gives its topic table. Two are equal when all three members are; only
// StateVersion is ever ordered.
type DataVersion struct {
	StateVersion int64 // the broker's term or epoch; 0 for classic brokers
	Timestamp    int64 // milliseconds of the broker's clock
	Counter      int64
}

// AppendJSON appends the version as the body that QUERY_DATA_VERSION is answered with.
func (v DataVersion) AppendJSON(dst []byte) []byte {
	dst = append(dst, `{"counter":`...)
	dst = strconv.AppendInt(dst, v.Counter, 10)
	dst = append(dst, `,"stateVersion":`...)
	dst = strconv.AppendInt(dst, v.StateVersion, 10)
	dst = append(dst, `,"timestamp":`...)
	dst = strconv.AppendInt(dst, v.Timestamp, 10)
	return append(dst, '}')
}

// ParseDataVersion decodes the body of QUERY_DATA_VERSION. Members that are missing or null are 0; 4.x brokers send no
// stateVersion. It returns ErrBody for anything that is not an object, an absent body included.
func ParseDataVersion(body []byte) (DataVersion, error) {
	s := newScanner(body)
	v := s.dataVersion()
	if err := s.end(); err != nil {
		return DataVersion{}, fmt.Errorf("%w: data version: %w", ErrBody, err)
	}
	return v, nil
}

func (s *scanner) dataVersion() (v DataVersion) {
	for m := s.object(); m.next(); {
		switch string(m.key.bytes) {
		case "counter":
			v.Counter = s.int64(0)
		case "stateVersion":
			v.StateVersion = s.int64(0)
		case "timestamp":
			v.Timestamp = s.int64(0)
		default:
			s.skip()
		}
	}
	return v
}
