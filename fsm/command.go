package fsm

import (
	"bytes"
	"compress/flate"
	"fmt"
	"slices"
	"strings"
	"sync"

	"google.golang.org/protobuf/proto"

	"namesrv/fsm/fsmpb"
	"namesrv/remoting/protocol"
)

const (
	// MaxCommand is the size in bytes up to which a command should be proposed. A
	// constructor returns longer ones all the same; the caller refuses them.
	MaxCommand = 4 << 20

	// maxInflated bounds what a compressed registration may become.
	maxInflated = 64 << 20

	// deflateFrom is the size from which compressing a registration pays.
	deflateFrom = 1 << 10
)

// EncodeRegister returns the command that applies a registration. Its topics come
// in the order of their names: that compresses well, and every peer then changes
// neighbours in its tree one after another.
func EncodeRegister(r *Registration) []byte {
	sorted := *r
	sorted.Topics = slices.Clone(r.Topics)
	slices.SortStableFunc(sorted.Topics, func(a, b protocol.TopicConfig) int { return strings.Compare(a.Name, b.Name) })
	m := storeRegistration(&sorted)
	plain := marshal(m)
	if len(plain) < deflateFrom {
		return encodeCommand(&fsmpb.Command{Kind: &fsmpb.Command_Register{Register: m}})
	}
	return encodeCommand(&fsmpb.Command{Kind: &fsmpb.Command_RegisterDeflated{
		RegisterDeflated: &fsmpb.Deflated{Size: uint32(len(plain)), Data: deflate(plain)},
	}})
}

// EncodeTouch returns the command that renews a live entry and begins a new
// birth, provided that expectRegistered is still its newest registration.
func EncodeTouch(key string, expectRegistered uint64) []byte {
	return encodeCommand(&fsmpb.Command{Kind: &fsmpb.Command_Touch{
		Touch: &fsmpb.Touch{Key: []byte(key), Registered: expectRegistered},
	}})
}

// EncodeUnregister returns the command that applies an unregistration.
func EncodeUnregister(u Unregistration) []byte {
	return encodeCommand(&fsmpb.Command{Kind: &fsmpb.Command_Unregister{Unregister: &fsmpb.Unregister{
		Cluster:     []byte(u.Cluster),
		Broker:      []byte(u.Broker),
		Addr:        []byte(u.Addr),
		Id:          u.ID,
		BirthAtMost: u.BirthAtMost,
	}}})
}

// EncodeExpire returns the command that removes silent addresses.
func EncodeExpire(list []Expired) []byte {
	m := new(fsmpb.Expire)
	for _, e := range list {
		m.Keys = append(m.Keys, []byte(e.Key))
		m.Registered = append(m.Registered, e.Registered)
	}
	return encodeCommand(&fsmpb.Command{Kind: &fsmpb.Command_Expire{Expire: m}})
}

// EncodeDeleteTopic returns the command for code 216; cluster may be "".
func EncodeDeleteTopic(topic, cluster string) []byte {
	return encodeCommand(&fsmpb.Command{Kind: &fsmpb.Command_DeleteTopic{
		DeleteTopic: &fsmpb.DeleteTopic{Topic: []byte(topic), Cluster: []byte(cluster)},
	}})
}

// EncodeRegisterTopic returns the command for code 217.
func EncodeRegisterTopic(topic string, queues []protocol.QueueData) []byte {
	m := &fsmpb.RegisterTopic{Topic: []byte(topic), Queues: new(fsmpb.Queues)}
	for _, q := range queues {
		m.Brokers = append(m.Brokers, []byte(q.BrokerName))
		appendRow(m.Queues, QueueSettings{Read: q.Read, Write: q.Write, Perm: q.Perm, SysFlag: q.SysFlag})
	}
	return encodeCommand(&fsmpb.Command{Kind: &fsmpb.Command_RegisterTopic{RegisterTopic: m}})
}

// EncodeWipeWrite returns the command for code 205: the broker's topics lose the
// write permission.
func EncodeWipeWrite(broker string) []byte { return encodeSetPerm(broker, false) }

// EncodeAddWrite returns the command for code 327: the permission of the
// broker's topics becomes exactly 6.
func EncodeAddWrite(broker string) []byte { return encodeSetPerm(broker, true) }

func encodeSetPerm(broker string, addWrite bool) []byte {
	return encodeCommand(&fsmpb.Command{Kind: &fsmpb.Command_SetPerm{
		SetPerm: &fsmpb.SetPerm{Broker: []byte(broker), AddWrite: addWrite},
	}})
}

// EncodePutKV returns the command for code 100.
func EncodePutKV(namespace, key, value string) []byte {
	return encodeCommand(&fsmpb.Command{Kind: &fsmpb.Command_PutKv{
		PutKv: &fsmpb.PutKV{Namespace: []byte(namespace), Key: []byte(key), Value: append([]byte{}, value...)},
	}})
}

// EncodeDeleteKV returns the command for code 102.
func EncodeDeleteKV(namespace, key string) []byte {
	return encodeCommand(&fsmpb.Command{Kind: &fsmpb.Command_DeleteKv{
		DeleteKv: &fsmpb.DeleteKV{Namespace: []byte(namespace), Key: []byte(key)},
	}})
}

// EncodeSetOptions returns the command that changes cluster-wide settings, given
// as stock properties. Names that [OptionKeys] does not list are left out.
func EncodeSetOptions(properties map[string]string) []byte {
	return encodeCommand(&fsmpb.Command{Kind: &fsmpb.Command_SetOptions{SetOptions: storeOptions(properties)}})
}

// EncodeInit returns the first command of a cluster: its settings, as for
// [EncodeSetOptions], and its KV table by namespace. It has no effect on a state
// that has been initialised.
func EncodeInit(options map[string]string, kv map[string]map[string]string) []byte {
	m := &fsmpb.Init{Options: storeOptions(options)}
	for _, name := range sortedKeys(kv) {
		ns := &fsmpb.Namespace{Name: []byte(name)}
		for _, key := range sortedKeys(kv[name]) {
			ns.Pairs = append(ns.Pairs, &fsmpb.Pair{Key: []byte(key), Value: []byte(kv[name][key])})
		}
		m.Kv = append(m.Kv, ns)
	}
	return encodeCommand(&fsmpb.Command{Kind: &fsmpb.Command_Init{Init: m}})
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// encodeCommand writes a command that every binary knows. One that came later is
// marked with the version it came with, not with the newest: a group in the middle
// of an upgrade then still takes all the others.
func encodeCommand(m *fsmpb.Command) []byte {
	m.Version = firstVersion
	return marshal(m)
}

// marshal encodes a message of the schema. That cannot fail: it has no text that
// must be UTF-8 and no required field.
func marshal(m proto.Message) []byte {
	encoded, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		panic(fmt.Sprintf("encode %T: %v", m, err))
	}
	return encoded
}

// deflaters are kept for reuse: making one clears more than a megabyte, which
// takes longer than compressing most registrations.
var deflaters = sync.Pool{New: func() any {
	w, err := flate.NewWriter(nil, flate.BestSpeed)
	if err != nil {
		panic(fmt.Sprintf("deflate: %v", err)) // the level is one there is
	}
	return w
}}

func deflate(plain []byte) []byte {
	var out bytes.Buffer
	w := deflaters.Get().(*flate.Writer)
	defer deflaters.Put(w)
	w.Reset(&out)
	_, err := w.Write(plain)
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		panic(fmt.Sprintf("deflate in memory: %v", err))
	}
	return out.Bytes()
}
