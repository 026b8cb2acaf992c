package fsm

import (
	"errors"

	"namesrv/fsm/fsmpb"
	"namesrv/remoting/protocol"
)

// Complaints about messages whose parts do not fit together.
var (
	errColumns  = errors.New("columns of different length")
	errMapping  = errors.New("mapping with columns of different length")
	errActing   = errors.New("unknown value of the acting flag")
	errRowCount = errors.New("not one row of queue settings for each name")
)

func storeRegistration(r *Registration) *fsmpb.Register {
	m := &fsmpb.Register{
		Broker:        []byte(r.Broker),
		Addr:          []byte(r.Addr),
		Cluster:       []byte(r.Cluster),
		HaServerAddr:  []byte(r.HAServerAddr),
		Id:            r.ID,
		TimeoutMillis: r.TimeoutMillis,
		Acting:        fsmpb.Acting(r.Acting),
		Zone:          []byte(r.Zone),
		DataVersion:   storeDataVersion(r.DataVersion),
		HasTable:      r.HasTable,
		Topics:        make([][]byte, len(r.Topics)),
		Queues:        new(fsmpb.Queues),
		Filters:       toBytes(r.Filters),
		HasFilters:    r.HasFilters,
		NewBirth:      r.NewBirth,
	}
	for i := range r.Topics {
		m.Topics[i] = []byte(r.Topics[i].Name)
		appendRow(m.Queues, settingsOf(&r.Topics[i], false))
	}
	for _, mapping := range r.Mappings {
		m.Mappings = append(m.Mappings, storeMapping(mapping))
	}
	return m
}

func loadRegistration(m *fsmpb.Register) (*Registration, error) {
	r := &Registration{
		Broker:        string(m.Broker),
		Addr:          string(m.Addr),
		Cluster:       string(m.Cluster),
		HAServerAddr:  string(m.HaServerAddr),
		ID:            m.Id,
		TimeoutMillis: m.TimeoutMillis,
		Acting:        Acting(m.Acting),
		Zone:          string(m.Zone),
		DataVersion:   loadDataVersion(m.DataVersion),
		HasTable:      m.HasTable,
		Filters:       toStrings(m.Filters),
		HasFilters:    m.HasFilters,
		NewBirth:      m.NewBirth,
	}
	if r.Acting < ActingAbsent || r.Acting > ActingTrue {
		return nil, errActing
	}
	rows, err := rowCount(m.Queues)
	if err != nil {
		return nil, err
	}
	if rows != len(m.Topics) {
		return nil, errRowCount
	}
	r.Topics = make([]protocol.TopicConfig, rows)
	for i := range r.Topics {
		q := row(m.Queues, i)
		r.Topics[i] = protocol.TopicConfig{
			Name: string(m.Topics[i]), ReadQueueNums: q.Read, WriteQueueNums: q.Write, Perm: q.Perm, SysFlag: q.SysFlag,
		}
	}
	r.Mappings, err = loadMappings(m.Mappings)
	return r, err
}

func storeDataVersion(v protocol.DataVersion) *fsmpb.DataVersion {
	return &fsmpb.DataVersion{StateVersion: v.StateVersion, Timestamp: v.Timestamp, Counter: v.Counter}
}

func loadDataVersion(m *fsmpb.DataVersion) protocol.DataVersion {
	return protocol.DataVersion{
		StateVersion: m.GetStateVersion(), Timestamp: m.GetTimestamp(), Counter: m.GetCounter(),
	}
}

func appendRow(q *fsmpb.Queues, v QueueSettings) {
	q.Read = append(q.Read, v.Read)
	q.Write = append(q.Write, v.Write)
	q.Perm = append(q.Perm, v.Perm)
	q.SysFlag = append(q.SysFlag, v.SysFlag)
}

func row(q *fsmpb.Queues, i int) QueueSettings {
	return QueueSettings{Read: q.Read[i], Write: q.Write[i], Perm: q.Perm[i], SysFlag: q.SysFlag[i]}
}

func rowCount(q *fsmpb.Queues) (int, error) {
	n := len(q.GetRead())
	if len(q.GetWrite()) != n || len(q.GetPerm()) != n || len(q.GetSysFlag()) != n {
		return 0, errColumns
	}
	return n, nil
}

func storeMapping(m protocol.QueueMapping) *fsmpb.Mapping {
	stored := &fsmpb.Mapping{
		Topic:       []byte(m.Topic),
		Scope:       []byte(m.Scope),
		TotalQueues: m.TotalQueues,
		Broker:      []byte(m.BrokerName),
		Epoch:       m.Epoch,
		Dirty:       m.Dirty,
	}
	for _, p := range m.CurrIDs {
		stored.Logic = append(stored.Logic, p.Logic)
		stored.Phys = append(stored.Phys, p.Phys)
	}
	return stored
}

func loadMappings(stored []*fsmpb.Mapping) ([]protocol.QueueMapping, error) {
	if len(stored) == 0 {
		return nil, nil
	}
	mappings := make([]protocol.QueueMapping, len(stored))
	for i, s := range stored {
		if len(s.Logic) != len(s.Phys) {
			return nil, errMapping
		}
		m := protocol.QueueMapping{
			Topic:       string(s.Topic),
			Scope:       string(s.Scope),
			TotalQueues: s.TotalQueues,
			BrokerName:  string(s.Broker),
			Epoch:       s.Epoch,
			Dirty:       s.Dirty,
		}
		for j := range s.Logic {
			m.CurrIDs = append(m.CurrIDs, protocol.IDPair{Logic: s.Logic[j], Phys: s.Phys[j]})
		}
		mappings[i] = m
	}
	return mappings, nil
}

func toBytes(texts []string) [][]byte {
	var list [][]byte
	for _, t := range texts {
		list = append(list, []byte(t))
	}
	return list
}

func toStrings(list [][]byte) []string {
	var texts []string
	for _, b := range list {
		texts = append(texts, string(b))
	}
	return texts
}
