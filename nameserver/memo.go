package nameserver

import (
	"hash/maphash"
	"maps"
	"slices"

	"namesrv/fsm"
	"namesrv/remoting/protocol"
)

// memo remembers a registration that changed nothing. Brokers send the same bytes
// every thirty seconds, up to megabytes of them: while the tables it was compared
// with are the same, the same bytes need be neither decoded nor compared again.
type memo struct {
	digest uint64
	basis  fsm.Basis
}

// digest hashes all that a registration says, with a seed of this process.
func (s *Service) digest(req *protocol.Command) uint64 {
	var h maphash.Hash
	h.SetSeed(s.seed)
	part := func(text string) {
		maphash.WriteComparable(&h, len(text))
		h.WriteString(text)
	}
	maphash.WriteComparable(&h, req.Version)
	for _, name := range slices.Sorted(maps.Keys(req.ExtFields)) {
		part(name)
		part(req.ExtFields[name])
	}
	h.Write(req.Body)
	return h.Sum64()
}

// header is who registers: what an answer needs of a registration.
type header struct {
	cluster, broker, addr string
	id                    int64
}

func (h header) key() string { return fsm.Key(h.cluster, h.addr) }
