package nameserver

import (
	"context"
	"fmt"
	"strconv"

	"namesrv/fsm"
	"namesrv/remoting"
	"namesrv/remoting/protocol"
)

// clusterInfo answers GET_BROKER_CLUSTER_INFO.
func (s *Service) clusterInfo(ctx context.Context, _ *remoting.Conn, _ *protocol.Command) *protocol.Command {
	v, err := s.read(ctx)
	if err != nil {
		return unreadable(err)
	}
	return withBody(s.cluster.get(v.BrokersVersion(), func() []byte {
		var brokers []protocol.BrokerData
		for g := range v.Brokers() {
			brokers = append(brokers, protocol.BrokerData{Name: g.Name, Cluster: g.Cluster, Zone: g.Zone, ActingMaster: g.Acting, Addrs: g.Addrs})
		}
		return protocol.AppendClusterInfo(nil, brokers, v.Clusters())
	}))
}

// remarkMemberGroup is what the stock server leaves beside code 0 here.
const remarkMemberGroup = "not set any response code"

// memberGroup answers GET_BROKER_MEMBER_GROUP. A group that is unknown has an
// empty list, which a broker takes for "nobody else, go online": it is said only
// when it is certain; otherwise the broker is left waiting and asks again.
func (s *Service) memberGroup(ctx context.Context, _ *remoting.Conn, req *protocol.Command) *protocol.Command {
	name := req.ExtFields["brokerName"]
	v, err := s.read(ctx)
	if err != nil {
		return leaveWaiting()
	}
	g := v.Broker(name)
	if g == nil {
		if v, err = s.absent(ctx, v); err != nil {
			return leaveWaiting()
		}
		g = v.Broker(name)
	}
	var addrs []protocol.BrokerAddr
	if g != nil {
		addrs = g.Addrs
	}
	c := withBody(protocol.AppendMemberGroup(nil, req.ExtFields["clusterName"], name, addrs))
	c.Remark = remarkMemberGroup
	return c
}

// wipeWrite answers WIPE_WRITE_PERM_OF_BROKER.
func (s *Service) wipeWrite(ctx context.Context, c *remoting.Conn, req *protocol.Command) *protocol.Command {
	count, err := s.WipeWrite(ctx, req.ExtFields["brokerName"])
	s.audited("wipe write permission", c, err, "broker", req.ExtFields["brokerName"], "topics", count)
	return countAnswer("wipeTopicCount", count, unlessAbsent(err))
}

// addWrite answers ADD_WRITE_PERM_OF_BROKER.
func (s *Service) addWrite(ctx context.Context, c *remoting.Conn, req *protocol.Command) *protocol.Command {
	count, err := s.AddWrite(ctx, req.ExtFields["brokerName"])
	s.audited("add write permission", c, err, "broker", req.ExtFields["brokerName"], "topics", count)
	return countAnswer("addTopicCount", count, unlessAbsent(err))
}

func countAnswer(field string, count int, err error) *protocol.Command {
	if err != nil {
		return typed(failureOf(err))
	}
	c := typed(protocol.NewResponse(protocol.Success, ""))
	c.ExtFields[field] = strconv.Itoa(count)
	return c
}

// WipeWrite takes the write permission from all queues of a broker name and
// returns how many it has, changed or not. Its error is ErrAbsent when nothing is
// known of the name.
func (s *Service) WipeWrite(ctx context.Context, broker string) (int, error) {
	return s.changePerm(ctx, broker, fsm.EncodeWipeWrite(broker), func(perm int32) bool { return perm&2 == 0 })
}

// AddWrite sets the permission of all queues of a broker name to 6. What it returns
// is as with WipeWrite.
func (s *Service) AddWrite(ctx context.Context, broker string) (int, error) {
	return s.changePerm(ctx, broker, fsm.EncodeAddWrite(broker), func(perm int32) bool { return perm == 6 })
}

func (s *Service) changePerm(ctx context.Context, broker string, command []byte, ok func(perm int32) bool) (int, error) {
	if v, err := s.readConfirmed(ctx); err == nil && v.confirmed && !knowsBroker(v.State, broker) {
		return 0, fmt.Errorf("no broker %q: %w", broker, ErrAbsent)
	}
	count := 0
	res, err := s.change(ctx, command, func(st *fsm.State) bool {
		count = 0
		for t := range st.Topics() {
			if q := t.Queue(broker); q != nil {
				if !ok(q.Perm) {
					return false
				}
				count++
			}
		}
		return true
	})
	return max(count, res.Count), err
}

// knowsBroker says whether a broker of the name is registered or has queues left.
func knowsBroker(st *fsm.State, name string) bool {
	if st.Broker(name) != nil {
		return true
	}
	for t := range st.Topics() {
		if t.Queue(name) != nil {
			return true
		}
	}
	return false
}

// Broker is one registered address, for people.
type Broker struct {
	*fsm.Live
	Zone   string
	Acting bool
}

// Brokers returns every registered address, by cluster and address.
func (s *Service) Brokers(ctx context.Context) ([]Broker, error) {
	v, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	var out []Broker
	for _, l := range v.Lives() {
		b := Broker{Live: l}
		if g := v.Broker(l.Broker); g != nil {
			b.Zone, b.Acting = g.Zone, g.Acting
		}
		out = append(out, b)
	}
	return out, nil
}
