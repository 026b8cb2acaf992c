package nameserver

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"namesrv/fsm"
	"namesrv/remoting"
	"namesrv/remoting/protocol"
)

// Bits of topicSysFlag, from RocketMQ's TopicSysFlag.
const (
	unitFlag    = 1
	unitSubFlag = 2
)

const remarkDisabled = "disable"

// lists answers a code whose switch may be off.
func (s *Service) lists(ctx context.Context, enabled func(fsm.Options) bool, build func(*fsm.State) []byte) *protocol.Command {
	v, err := s.read(ctx)
	if err != nil {
		return unreadable(err)
	}
	if !enabled(v.Options()) {
		return failure(remarkDisabled)
	}
	return withBody(build(v.State))
}

// allTopics answers GET_ALL_TOPIC_LIST_FROM_NAMESERVER.
func (s *Service) allTopics(ctx context.Context, _ *remoting.Conn, _ *protocol.Command) *protocol.Command {
	return s.lists(ctx, func(o fsm.Options) bool { return o.EnableAllTopicList }, func(st *fsm.State) []byte {
		return s.topics.get(st.TopicsVersion(), func() []byte { return protocol.AppendTopicList(nil, topicNames(st), "") })
	})
}

func topicNames(st *fsm.State) []string {
	var names []string
	for t := range st.Topics() {
		names = append(names, t.Name)
	}
	return names
}

// topicsByCluster answers GET_TOPICS_BY_CLUSTER; an unknown cluster has none.
func (s *Service) topicsByCluster(ctx context.Context, _ *remoting.Conn, req *protocol.Command) *protocol.Command {
	cluster := req.ExtFields["cluster"]
	return s.lists(ctx, topicListEnabled, func(st *fsm.State) []byte {
		return protocol.AppendTopicList(nil, st.TopicsOf(st.ClusterBrokers(cluster)), "")
	})
}

func topicListEnabled(o fsm.Options) bool { return o.EnableTopicList }

// unitTopics answers the three unit lists. The stock server looks at one
// arbitrary queue entry of each topic; here it is the first by broker name, so
// that every peer says the same.
func (s *Service) unitTopics(match func(flag int32) bool) remoting.Handler {
	return func(ctx context.Context, _ *remoting.Conn, _ *protocol.Command) *protocol.Command {
		return s.lists(ctx, topicListEnabled, func(st *fsm.State) []byte {
			var names []string
			for t := range st.Topics() {
				if match(t.Queues[0].Settings.SysFlag) {
					names = append(names, t.Name)
				}
			}
			return protocol.AppendTopicList(nil, names, "")
		})
	}
}

// systemTopics answers GET_SYSTEM_TOPIC_LIST_FROM_NS: cluster and broker names,
// and a broker to ask for the rest, a master where there is one.
func (s *Service) systemTopics(ctx context.Context, _ *remoting.Conn, _ *protocol.Command) *protocol.Command {
	v, err := s.read(ctx)
	if err != nil {
		return unreadable(err)
	}
	var names []string
	for _, c := range v.Clusters() {
		names = append(names, c.Name)
	}
	addr, master := "", false
	for g := range v.Brokers() {
		names = append(names, g.Name)
		if a, ok := g.Addr(0); ok && !master {
			addr, master = a, true
		} else if addr == "" && len(g.Addrs) > 0 {
			addr = g.Addrs[0].Addr
		}
	}
	return withBody(protocol.AppendTopicList(nil, slices.Compact(names), addr))
}

// deleteTopic answers DELETE_TOPIC_IN_NAMESRV, which succeeds for what is not there.
func (s *Service) deleteTopic(ctx context.Context, c *remoting.Conn, req *protocol.Command) *protocol.Command {
	topic, ok := req.Field("topic")
	if !ok {
		return failure("the header has no topic")
	}
	cluster := req.ExtFields["clusterName"]
	err := s.DeleteTopic(ctx, topic, cluster)
	s.audited("delete topic", c, err, "topic", topic, "cluster", cluster)
	return answerResult(fsm.Result{}, unlessAbsent(err))
}

// DeleteTopic removes a topic from one cluster, or from all when cluster is "". Its
// error is ErrAbsent when there certainly is none.
func (s *Service) DeleteTopic(ctx context.Context, topic, cluster string) error {
	gone := func(st *fsm.State) bool {
		t := st.Topic(topic)
		if t == nil || cluster == "" {
			return t == nil || len(t.Queues) == 0
		}
		in := st.ClusterBrokers(cluster)
		return !slices.ContainsFunc(t.Queues, func(q *fsm.QueueEntry) bool { return slices.Contains(in, q.Broker) })
	}
	v, err := s.readConfirmed(ctx)
	switch absent := err == nil && v.confirmed && gone(v.State); {
	case absent && cluster != "":
		return fmt.Errorf("no topic %q in cluster %q: %w", topic, cluster, ErrAbsent)
	case absent:
		return fmt.Errorf("no topic %q: %w", topic, ErrAbsent)
	}
	_, err = s.change(ctx, fsm.EncodeDeleteTopic(topic, cluster), gone)
	return err
}

// Topics returns the names of all topics that have a route, sorted.
func (s *Service) Topics(ctx context.Context) ([]string, error) {
	v, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	return topicNames(v.State), nil
}

// registerTopic answers REGISTER_TOPIC_IN_NAMESRV: all its queues or none, and
// success either way, as brokers expect.
func (s *Service) registerTopic(ctx context.Context, c *remoting.Conn, req *protocol.Command) *protocol.Command {
	topic, ok := req.Field("topic")
	if !ok || topic == "" {
		return failure("the header has no topic")
	}
	queues, err := protocol.DecodeQueueDatas(req.Body)
	if err != nil {
		return failure(err.Error())
	}
	if len(queues) == 0 {
		return success
	}
	res, err := s.change(ctx, fsm.EncodeRegisterTopic(topic, queues), func(st *fsm.State) bool { return hasQueues(st, topic, queues) })
	switch {
	case err != nil || res.Changed:
		s.audited("register topic", c, err, "topic", topic)
	case res.Code != protocol.Success:
		s.audited("register topic", c, errors.New(res.Remark), "topic", topic)
	}
	return answerResult(res, err)
}

func hasQueues(st *fsm.State, topic string, queues []protocol.QueueData) bool {
	t := st.Topic(topic)
	return t != nil && !slices.ContainsFunc(queues, func(q protocol.QueueData) bool {
		s := t.Queue(q.BrokerName)
		return s == nil || *s != fsm.QueueSettings{Read: q.Read, Write: q.Write, Perm: q.Perm, SysFlag: q.SysFlag}
	})
}
