package nameserver

import (
	"context"
	"strings"

	"namesrv/fsm"
	"namesrv/remoting"
	"namesrv/remoting/protocol"
)

// syncTopicPrefix starts the pseudo topics by whose routes brokers find their
// group's members before they go online. An empty answer means "nobody else" to
// them, and so does an error code.
const syncTopicPrefix = "rmq_sys_SYNC_BROKER_MEMBER_"

// routeNow answers GET_ROUTEINFO_BY_TOPIC where nobody need be asked first: the
// bytes are there, or are built once.
func (s *Service) routeNow(_ *remoting.Conn, req *protocol.Command) (*protocol.Command, bool) {
	if s.waiting() || !s.group.Confirmed() {
		return nil, false
	}
	return s.routeAnswer(s.tables.State(), req), true
}

// route answers GET_ROUTEINFO_BY_TOPIC.
func (s *Service) route(ctx context.Context, _ *remoting.Conn, req *protocol.Command) *protocol.Command {
	if s.waiting() {
		return failure(remarkNotReady)
	}
	v, err := s.read(ctx)
	if err != nil {
		return unsureOfRoute(req)
	}
	c := s.routeAnswer(v.State, req)
	if c.Code == protocol.Success || v.confirmed {
		return c
	}
	if v, err = s.absent(ctx, v); err != nil {
		return unsureOfRoute(req)
	}
	return s.routeAnswer(v.State, req)
}

// unsureOfRoute answers that the route cannot be told now. A broker that asks for
// its group is left waiting instead, and asks again after its time-out.
func unsureOfRoute(req *protocol.Command) *protocol.Command {
	if strings.HasPrefix(req.ExtFields["topic"], syncTopicPrefix) {
		return leaveWaiting()
	}
	return failure(remarkNotReady)
}

// leaveWaiting is no answer at all: the caller's time-out makes it ask again.
func leaveWaiting() *protocol.Command { return nil }

func (s *Service) routeAnswer(state *fsm.State, req *protocol.Command) *protocol.Command {
	topic := textOf(req, "topic")
	zone, zoned := zoneOf(req)
	if zoned {
		return s.zoneAnswer(state, topic, zone)
	}
	d := protocol.DialectFor(req.Version, isTrue(req.ExtFields["acceptStandardJsonOnly"]))
	if answer := s.routes.get(state, topic, d); answer != nil {
		return answer
	}
	return noRoute(topic)
}

func noRoute(topic string) *protocol.Command {
	return protocol.NewResponse(protocol.TopicNotExist,
		"No topic route info in name server for the topic: "+topic+
			"\nSee https://rocketmq.apache.org/docs/bestPractice/06FAQ for further details.")
}

// Route returns a topic's route in the standard dialect; found is false only when
// there certainly is none.
func (s *Service) Route(ctx context.Context, topic string) (body []byte, found bool, err error) {
	v, err := s.read(ctx)
	if err != nil {
		return nil, false, err
	}
	answer := s.routes.get(v.State, topic, protocol.Standard)
	if answer == nil {
		if v, err = s.absent(ctx, v); err != nil {
			return nil, false, err
		}
		answer = s.routes.get(v.State, topic, protocol.Standard)
	}
	if answer == nil {
		return nil, false, nil
	}
	return answer.Body, true, nil
}
