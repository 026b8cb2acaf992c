package nameserver

import (
	"context"

	"namesrv/fsm"
	"namesrv/remoting"
	"namesrv/remoting/protocol"
)

// heartbeat answers BROKER_HEARTBEAT: it moves a deadline at the leader with the
// next report, and nothing else. Unknown addresses are fine.
func (s *Service) heartbeat(_ context.Context, _ *remoting.Conn, req *protocol.Command) *protocol.Command {
	key, ok := liveKey(req)
	if !ok {
		return failure("clusterName and brokerAddr are needed")
	}
	s.heard(key)
	return success
}

// heard takes a sign of life of a registered address; others leave no trace.
func (s *Service) heard(key string) {
	if s.tables.State().LiveByKey(key) != nil {
		s.sessions.heard(key)
	}
}

func liveKey(req *protocol.Command) (string, bool) {
	cluster, addr := req.ExtFields["clusterName"], req.ExtFields["brokerAddr"]
	return fsm.Key(cluster, addr), cluster != "" && addr != ""
}

// queryDataVersion answers QUERY_DATA_VERSION: whether a broker's topic table has
// changed since it was registered. It is also a sign of life.
func (s *Service) queryDataVersion(ctx context.Context, _ *remoting.Conn, req *protocol.Command) *protocol.Command {
	key, ok := liveKey(req)
	if !ok {
		return failure("clusterName and brokerAddr are needed")
	}
	var asked protocol.DataVersion
	given := len(req.Body) > 0 && string(req.Body) != "null"
	if given {
		var err error
		if asked, err = protocol.ParseDataVersion(req.Body); err != nil {
			return failure(err.Error())
		}
	}
	s.heard(key)
	if req.OneWay() {
		return nil // nobody waits for the answer; the next report carries the sign of life
	}
	expiring, err := s.group.Confirm(ctx, key)
	if err != nil {
		return failureOf(err)
	}
	c := typed(protocol.NewResponse(protocol.Success, ""))
	c.ExtFields["changed"] = "true"
	live := s.tables.State().LiveByKey(key)
	if live == nil {
		return c
	}
	c.Body = live.DataVersion.AppendJSON(nil)
	if !expiring && given && live.DataVersion == asked {
		c.ExtFields["changed"] = "false"
	}
	return c
}
