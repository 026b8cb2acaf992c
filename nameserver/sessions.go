package nameserver

import (
	"math/rand/v2"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"namesrv/nameserver/reportpb"
)

// Sessions knows which brokers speak to this peer. It is local and in memory;
// the leader hears of it by reports.
type Sessions struct {
	started time.Time
	poke    chan struct{} // something closed: report now

	run uint64 // random: tells this process's reports from its predecessor's

	mu    sync.Mutex // guards the fields below
	seq   uint64
	byKey map[string]*session
}

// session is one broker address at this peer. As on the stock server, the
// connection that counts is the one that registered it last.
type session struct {
	conn  uint64 // 0: none
	state reportpb.Report_State
	heard time.Time
}

// NewSessions makes the list of a process that starts now.
func NewSessions() *Sessions {
	return &Sessions{started: time.Now(), run: rand.Uint64(), poke: make(chan struct{}, 1), byKey: make(map[string]*session)}
}

func (s *Sessions) getLocked(key string) *session {
	e := s.byKey[key]
	if e == nil {
		e = &session{}
		s.byKey[key] = e
	}
	return e
}

// opened says that key registers over a connection. It is called before the
// leader hears of the registration, so that no later report denies it.
func (s *Sessions) opened(key string, conn uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.getLocked(key)
	e.conn, e.state, e.heard = conn, reportpb.Report_OPEN, time.Now()
}

// heard says that key gave a sign of life over any connection.
func (s *Sessions) heard(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.getLocked(key).heard = time.Now()
}

// closed says that a connection ended, and returns whether it was the one that
// counts for key.
func (s *Sessions) closed(key string, conn uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.byKey[key]
	if e == nil || e.conn != conn {
		return false
	}
	e.conn, e.state = 0, reportpb.Report_CLOSED
	select {
	case s.poke <- struct{}{}:
	default:
	}
	return true
}

// left says that key ended its registration over a connection, or that none came
// of it: the connection's own end says nothing about it any more.
func (s *Sessions) left(key string, conn uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.byKey[key]; e != nil && e.conn == conn {
		e.conn, e.state = 0, reportpb.Report_SILENT
	}
}

// open is how many broker addresses have a connection here.
func (s *Sessions) open() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, e := range s.byKey {
		if e.state == reportpb.Report_OPEN {
			n++
		}
	}
	return n
}

// report encodes everything that is known, and forgets what is neither connected
// nor registered any more.
func (s *Sessions) report(registered func(key string) bool) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	s.seq++
	r := &reportpb.Report{Run: s.run, Seq: s.seq, RanMillis: millis(now.Sub(s.started))}
	for key, e := range s.byKey {
		if e.state != reportpb.Report_OPEN && !registered(key) {
			delete(s.byKey, key)
			continue
		}
		r.Sessions = append(r.Sessions, &reportpb.Report_Session{Key: []byte(key), State: e.state, HeardAgoMillis: millis(now.Sub(e.heard))})
	}
	raw, err := proto.Marshal(r)
	if err != nil {
		panic("nameserver: encode report: " + err.Error()) // bytes and numbers always encode
	}
	return raw
}

func millis(d time.Duration) uint64 { return uint64(max(d, 0) / time.Millisecond) }
