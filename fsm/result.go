package fsm

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"namesrv/fsm/fsmpb"
	"namesrv/remoting/protocol"
)

// RemarkStale is the remark of a touch whose registration is not the newest any
// more: the full registration is to be logged instead.
const RemarkStale = "stale"

// Result is what a command led to.
type Result struct {
	Code   protocol.Code // Success, or SystemError with a remark
	Remark string

	// Count is the number of entries that a permission command visited, a topic
	// deletion or an expiry removed, a topic registration named.
	Count int

	Birth    uint64 // of the live entry after a registration or touch
	Changed  bool   // the tables differ in more than the indexes of a live entry
	Conflict bool   // a registration lost against a higher state version
	Notices  []MinIDNotice
}

// EncodeResult returns the form in which Apply hands a result back.
func EncodeResult(r Result) []byte {
	m := &fsmpb.Result{
		Code:     int32(r.Code),
		Remark:   []byte(r.Remark),
		Count:    uint64(r.Count),
		Birth:    r.Birth,
		Changed:  r.Changed,
		Conflict: r.Conflict,
	}
	for _, n := range r.Notices {
		m.Notices = append(m.Notices, &fsmpb.Notice{
			Broker:      []byte(n.Broker),
			MinId:       n.MinID,
			MinAddr:     []byte(n.MinAddr),
			OfflineAddr: []byte(n.OfflineAddr),
			HaAddr:      []byte(n.HAAddr),
			Recipients:  toBytes(n.Recipients),
		})
	}
	return marshal(m)
}

// DecodeResult reads a result back. Fields of a newer version are skipped: a
// result is not state.
func DecodeResult(encoded []byte) (Result, error) {
	var m fsmpb.Result
	if err := proto.Unmarshal(encoded, &m); err != nil {
		return Result{}, fmt.Errorf("decode result: %w", err)
	}
	r := Result{
		Code:     protocol.Code(m.Code),
		Remark:   string(m.Remark),
		Count:    int(m.Count),
		Birth:    m.Birth,
		Changed:  m.Changed,
		Conflict: m.Conflict,
	}
	for _, n := range m.Notices {
		r.Notices = append(r.Notices, MinIDNotice{
			Broker:      string(n.Broker),
			MinID:       n.MinId,
			MinAddr:     string(n.MinAddr),
			OfflineAddr: string(n.OfflineAddr),
			HAAddr:      string(n.HaAddr),
			Recipients:  toStrings(n.Recipients),
		})
	}
	return r, nil
}
