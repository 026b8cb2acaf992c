package nameserver

import (
	"context"
	"fmt"
	"strconv"

	"namesrv/fsm"
	"namesrv/remoting"
	"namesrv/remoting/protocol"
)

// unregister answers UNREGISTER_BROKER. It removes no birth that is newer than
// what this connection has seen: copies of one request reach every peer, one
// after another, and the last may come when the broker is back.
func (s *Service) unregister(ctx context.Context, c *remoting.Conn, req *protocol.Command) *protocol.Command {
	f := req.ExtFields
	id, err := strconv.ParseInt(f["brokerId"], 10, 64)
	if err != nil || f["brokerName"] == "" || f["brokerAddr"] == "" || f["clusterName"] == "" {
		return failure(fmt.Sprintf("brokerName, brokerAddr, clusterName and a number as brokerId are needed (brokerId %q)", f["brokerId"]))
	}
	key, conn := fsm.Key(f["clusterName"], f["brokerAddr"]), stateOf(c)
	u := fsm.Unregistration{Cluster: f["clusterName"], Broker: f["brokerName"], Addr: f["brokerAddr"], ID: id, BirthAtMost: conn.birthLimit(key)}
	v, err := s.readConfirmed(ctx)
	if err == nil && v.confirmed && !s.wouldUnregister(v.State, key, u) {
		if v.LiveByKey(key) == nil {
			s.gone(c, key)
		}
		return success // gone already, or a birth that this request does not mean
	}
	res, err := s.change(ctx, fsm.EncodeUnregister(u), func(st *fsm.State) bool { return !s.wouldUnregister(st, key, u) })
	if err != nil {
		return failureOf(err)
	}
	if s.tables.State().LiveByKey(key) == nil {
		s.gone(c, key)
	}
	if res.Changed {
		s.log.Info("broker unregistered", "broker", u.Broker, "cluster", u.Cluster, "id", u.ID, "address", u.Addr, "index", s.group.Applied())
	}
	return success
}

// gone ends what this peer knows of a broker's registration over a connection.
func (s *Service) gone(c *remoting.Conn, key string) {
	stateOf(c).forget(key)
	s.sessions.left(key, c.ID())
}

func (s *Service) wouldUnregister(st *fsm.State, key string, u fsm.Unregistration) bool {
	l := st.LiveByKey(key)
	return l != nil && l.Birth <= u.BirthAtMost
}
