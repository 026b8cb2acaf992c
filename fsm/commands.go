package fsm

import (
	"namesrv/fsm/fsmpb"
	"namesrv/remoting/protocol"
)

// skipped is a command that a newer binary has logged for those who know it.
type skipped struct{}

func (skipped) apply(s *State, _ uint64) (*State, Result) {
	return s, Result{Code: protocol.Success}
}

type registerCommand struct{ r *Registration }

func (c registerCommand) apply(s *State, index uint64) (*State, Result) {
	next, out := s.Register(c.r, index)
	res := Result{
		Code:     protocol.Success,
		Birth:    out.Birth,
		Changed:  out.Changed,
		Conflict: out.Conflict,
		Notices:  out.Notices,
	}
	if out.Refused != "" {
		res.Code, res.Remark = protocol.SystemError, out.Refused
	}
	return next, res
}

type unregisterCommand Unregistration

func (c unregisterCommand) apply(s *State, _ uint64) (*State, Result) {
	return s.unregister(Unregistration(c))
}

type expireCommand []Expired

func (c expireCommand) apply(s *State, _ uint64) (*State, Result) { return s.expire(c) }

type touchCommand struct {
	key        string
	registered uint64
}

func (c touchCommand) apply(s *State, index uint64) (*State, Result) {
	return s.touch(c.key, c.registered, index)
}

type deleteTopicCommand struct{ topic, cluster string }

func (c deleteTopicCommand) apply(s *State, _ uint64) (*State, Result) {
	return s.deleteTopic(c.topic, c.cluster)
}

type registerTopicCommand struct {
	topic  string
	queues []protocol.QueueData
}

func (c registerTopicCommand) apply(s *State, _ uint64) (*State, Result) {
	return s.registerTopic(c.topic, c.queues)
}

type setPermCommand struct {
	broker   string
	addWrite bool
}

func (c setPermCommand) apply(s *State, _ uint64) (*State, Result) {
	return s.setPerm(c.broker, c.addWrite)
}

type putKVCommand struct {
	namespace, key string
	value          *string // nil: see putKV
}

func (c putKVCommand) apply(s *State, _ uint64) (*State, Result) {
	return s.putKV(c.namespace, c.key, c.value)
}

type deleteKVCommand struct{ namespace, key string }

func (c deleteKVCommand) apply(s *State, _ uint64) (*State, Result) {
	return s.deleteKV(c.namespace, c.key)
}

type setOptionsCommand struct{ m *fsmpb.Options }

func (c setOptionsCommand) apply(s *State, _ uint64) (*State, Result) {
	d := s.edit()
	d.options = d.options.with(c.m)
	return d.commit(), Result{Code: protocol.Success, Changed: d.dirty()}
}

type initCommand struct{ m *fsmpb.Init }

// apply takes the first values of a cluster; later copies find it initialised.
func (c initCommand) apply(s *State, _ uint64) (*State, Result) {
	if s.initialized {
		return s, Result{Code: protocol.Success}
	}
	d := s.edit()
	d.initialized = true
	d.options = d.options.with(c.m.Options)
	for _, ns := range c.m.Kv {
		d.namespace(string(ns.Name))
		for _, p := range ns.Pairs {
			value := string(p.Value)
			d.putKV(string(ns.Name), string(p.Key), &value)
		}
	}
	return d.commit(), Result{Code: protocol.Success, Changed: true}
}
