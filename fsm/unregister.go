package fsm

import "namesrv/remoting/protocol"

// Unregistration is code 104: a broker says that it goes.
type Unregistration struct {
	Cluster string
	Broker  string
	Addr    string
	ID      int64

	// BirthAtMost is the newest birth of the address that the unregistration may
	// remove: late copies must not hurt a broker that has come back since.
	BirthAtMost uint64
}

// Expired is a live entry that its judge found silent for too long.
type Expired struct {
	Key        string // made by [Key]
	Registered uint64 // the registration that the judge saw
}

// unregister removes the address when it is live under exactly the names and id
// given and was not born too late. Everything else is a success without effect:
// an unknown address, an id that another address or the same one under another
// role has taken, a cluster that the address has left.
func (s *State) unregister(u Unregistration) (*State, Result) {
	l := s.Live(u.Cluster, u.Addr)
	if l == nil || l.Broker != u.Broker || l.ID != u.ID || l.Birth > u.BirthAtMost {
		return s, Result{Code: protocol.Success}
	}
	return s.remove([]*Live{l})
}

// expire removes those of the entries that have not been registered since.
func (s *State) expire(list []Expired) (*State, Result) {
	var silent []*Live
	seen := make(map[string]struct{}, len(list))
	for _, e := range list {
		if _, ok := seen[e.Key]; ok {
			continue
		}
		seen[e.Key] = struct{}{}
		if l := s.LiveByKey(e.Key); l != nil && l.Registered == e.Registered {
			silent = append(silent, l)
		}
	}
	if len(silent) == 0 {
		return s, Result{Code: protocol.Success}
	}
	return s.remove(silent)
}

func (s *State) remove(lives []*Live) (*State, Result) {
	d := s.edit()
	rm := newRemoval(d)
	for _, l := range lives {
		rm.drop(l)
	}
	notices := rm.finish()
	return d.commit(), Result{Code: protocol.Success, Count: len(lives), Changed: true, Notices: notices}
}

// touch renews a live entry whose registration changes nothing: the first one on
// a new connection is logged in this short form.
func (s *State) touch(key string, expect, index uint64) (*State, Result) {
	l := s.LiveByKey(key)
	if l == nil || l.Registered != expect {
		return s, Result{Code: protocol.SystemError, Remark: RemarkStale}
	}
	d := s.edit()
	next := *l
	next.Registered, next.Birth = index, index
	d.putLive(l, &next)
	return d.commit(), Result{Code: protocol.Success, Birth: index}
}
