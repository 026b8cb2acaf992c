package fsm

import (
	"bytes"
	"fmt"
	"testing"

	"namesrv/fsm/fsmpb"
	"namesrv/remoting/protocol"
)

// world is a state machine under test: it gives each command the next index.
type world struct {
	t     testing.TB
	f     *FSM
	index uint64
}

func newWorld(t testing.TB) *world { return &world{t: t, f: New()} }

func (w *world) apply(command []byte) Result {
	w.t.Helper()
	if err := Check(command); err != nil {
		w.t.Fatalf("Check: %v", err)
	}
	w.index++
	r, err := DecodeResult(w.f.Apply(w.index, command))
	if err != nil {
		w.t.Fatalf("DecodeResult: %v", err)
	}
	return r
}

func (w *world) register(r *Registration) Result {
	w.t.Helper()
	return w.apply(EncodeRegister(r))
}

func (w *world) set(key, value string) {
	w.t.Helper()
	w.apply(EncodeSetOptions(map[string]string{key: value}))
}

func (w *world) state() *State { return w.f.State() }

// perm returns the permission of a topic on a broker, -1 when it is not there.
func (w *world) perm(topic, broker string) int32 {
	if t := w.state().Topic(topic); t != nil {
		if q := t.Queue(broker); q != nil {
			return q.Perm
		}
	}
	return -1
}

// members renders a group as "0=A 1=B", "" when there is none.
func (w *world) members(broker string) string {
	g := w.state().Broker(broker)
	if g == nil {
		return ""
	}
	var b bytes.Buffer
	for i, a := range g.Addrs {
		if i > 0 {
			b.WriteByte(' ')
		}
		fmt.Fprintf(&b, "%d=%s", a.ID, a.Addr)
	}
	return b.String()
}

func (w *world) snapshot() []byte {
	w.t.Helper()
	return snapshotOf(w.t, w.f.Snapshot(), w.index)
}

func snapshotOf(t testing.TB, s *State, index uint64) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := s.WriteSnapshot(&b, index); err != nil {
		t.Fatalf("WriteSnapshot: %v", err)
	}
	return b.Bytes()
}

// reg makes the registration of a 5.x broker with two topics, "t1" and "t2".
func reg(broker string, id int64, addr string, change ...func(*Registration)) *Registration {
	r := &Registration{
		Broker:       broker,
		Addr:         addr,
		Cluster:      "c",
		HAServerAddr: "ha-" + addr,
		ID:           id,
		Acting:       ActingFalse,
		DataVersion:  protocol.DataVersion{Timestamp: 1, Counter: 1},
		HasTable:     true,
		Topics:       configs("t1", "t2"),
		HasFilters:   true,
	}
	for _, c := range change {
		c(r)
	}
	return r
}

func configs(names ...string) []protocol.TopicConfig {
	var list []protocol.TopicConfig
	for _, n := range names {
		list = append(list, protocol.TopicConfig{Name: n, ReadQueueNums: 8, WriteQueueNums: 8, Perm: 6})
	}
	return list
}

func topics(names ...string) func(*Registration) {
	return func(r *Registration) { r.Topics = configs(names...) }
}

func perms(perm int32) func(*Registration) {
	return func(r *Registration) {
		for i := range r.Topics {
			r.Topics[i].Perm = perm
		}
	}
}

func version(state, timestamp, counter int64) func(*Registration) {
	return func(r *Registration) {
		r.DataVersion = protocol.DataVersion{StateVersion: state, Timestamp: timestamp, Counter: counter}
	}
}

func cluster(name string) func(*Registration) { return func(r *Registration) { r.Cluster = name } }

func acting(a Acting) func(*Registration) { return func(r *Registration) { r.Acting = a } }

func filters(list ...string) func(*Registration) { return func(r *Registration) { r.Filters = list } }

func mapping(topic, broker string, epoch int64) protocol.QueueMapping {
	return protocol.QueueMapping{
		Topic: topic, Scope: "__global__", TotalQueues: 2, BrokerName: broker, Epoch: epoch,
		CurrIDs: []protocol.IDPair{{Logic: 0, Phys: 0}, {Logic: 1, Phys: 3}},
	}
}

func mappings(list ...protocol.QueueMapping) func(*Registration) {
	return func(r *Registration) { r.Mappings = list }
}

// unreg names the registration's address, whatever its birth.
func unreg(r *Registration) Unregistration {
	return Unregistration{Cluster: r.Cluster, Broker: r.Broker, Addr: r.Addr, ID: r.ID, BirthAtMost: 1 << 60}
}

// encodePutNullKV returns the command that leaves a namespace without the key. No
// request leads to it any more; a log may hold it.
func encodePutNullKV(namespace, key string) []byte {
	return encodeCommand(&fsmpb.Command{Kind: &fsmpb.Command_PutKv{PutKv: &fsmpb.PutKV{Namespace: []byte(namespace), Key: []byte(key)}}})
}
