package protocol

import (
	"fmt"
	"strconv"
)

// BrokerAddr is the address of one member of a broker group.
type BrokerAddr struct {
	ID   int64 // 0 is the master; -1 occurs
	Addr string
}

// BrokerData is a broker group.
type BrokerData struct {
	Name, Cluster string
	Zone          string // "" is not written
	ActingMaster  bool
	Addrs         []BrokerAddr // written in the order of ID
}

// QueueData is what one broker group offers of a topic.
type QueueData struct {
	BrokerName                 string
	Read, Write, Perm, SysFlag int32
}

// FilterServers are the filter servers of the broker at Addr.
type FilterServers struct {
	Addr    string
	Servers []string
}

// TopicRoute is the body of an answer to GET_ROUTEINFO_BY_TOPIC (TopicRouteData).
type TopicRoute struct {
	Brokers      []BrokerData // written in the order given; clients compare bodies, so it should be sorted
	Queues       []QueueData  // likewise
	Filters      []FilterServers
	OrderConf    string
	HasOrderConf bool           // false: OrderConf is not written, which clients tell from an empty one
	Mappings     []QueueMapping // written by broker name; not at all when there are none
}

// AppendJSON appends the route in dialect d. filterServerTable and brokerAddrs are written when empty, too: clients
// rely on them.
func (r *TopicRoute) AppendJSON(dst []byte, d Dialect) []byte {
	dst = append(dst, `{"brokerDatas":[`...)
	for i := range r.Brokers {
		dst = comma(dst, i)
		dst = r.Brokers[i].appendJSON(dst, d)
	}
	dst = append(dst, `],"filterServerTable":{`...)
	for i, f := range sorted(r.Filters, func(f FilterServers) string { return f.Addr }) {
		dst = appendKey(comma(dst, i), f.Addr, d)
		dst = appendStrings(dst, f.Servers, d)
	}
	dst = append(dst, '}')
	if r.HasOrderConf {
		dst = appendString(append(dst, `,"orderTopicConf":`...), r.OrderConf, d)
	}
	dst = append(dst, `,"queueDatas":[`...)
	for i := range r.Queues {
		dst = comma(dst, i)
		dst = r.Queues[i].appendJSON(dst, d)
	}
	dst = append(dst, ']')
	if len(r.Mappings) > 0 {
		dst = append(dst, `,"topicQueueMappingByBroker":{`...)
		for i, q := range sorted(r.Mappings, func(q QueueMapping) string { return q.BrokerName }) {
			dst = appendKey(comma(dst, i), q.BrokerName, d)
			dst = q.appendJSON(dst, d)
		}
		dst = append(dst, '}')
	}
	return append(dst, '}')
}

func (b *BrokerData) appendJSON(dst []byte, d Dialect) []byte {
	dst = append(dst, '{')
	dst = appendAddrs(dst, b.Addrs, d)
	dst = appendString(append(dst, `,"brokerName":`...), b.Name, d)
	dst = appendString(append(dst, `,"cluster":`...), b.Cluster, d)
	dst = strconv.AppendBool(append(dst, `,"enableActingMaster":`...), b.ActingMaster)
	if b.Zone != "" {
		dst = appendString(append(dst, `,"zoneName":`...), b.Zone, d)
	}
	return append(dst, '}')
}

func (q *QueueData) appendJSON(dst []byte, d Dialect) []byte {
	dst = appendString(append(dst, `{"brokerName":`...), q.BrokerName, d)
	dst = strconv.AppendInt(append(dst, `,"perm":`...), int64(q.Perm), 10)
	dst = strconv.AppendInt(append(dst, `,"readQueueNums":`...), int64(q.Read), 10)
	dst = strconv.AppendInt(append(dst, `,"topicSysFlag":`...), int64(q.SysFlag), 10)
	dst = strconv.AppendInt(append(dst, `,"writeQueueNums":`...), int64(q.Write), 10)
	return append(dst, '}')
}

func (q *QueueMapping) appendJSON(dst []byte, d Dialect) []byte {
	dst = appendString(append(dst, `{"bname":`...), q.BrokerName, d)
	dst = append(dst, `,"currIdMap":{`...)
	for i, p := range sorted(q.CurrIDs, func(p IDPair) int32 { return p.Logic }) {
		dst = appendIntKey(comma(dst, i), int64(p.Logic), d)
		dst = strconv.AppendInt(dst, int64(p.Phys), 10)
	}
	dst = strconv.AppendBool(append(dst, `},"dirty":`...), q.Dirty)
	dst = strconv.AppendInt(append(dst, `,"epoch":`...), q.Epoch, 10)
	dst = appendString(append(dst, `,"scope":`...), q.Scope, d)
	dst = appendString(append(dst, `,"topic":`...), q.Topic, d)
	dst = strconv.AppendInt(append(dst, `,"totalQueues":`...), int64(q.TotalQueues), 10)
	return append(dst, '}')
}

// DecodeQueueDatas decodes the queueDatas of a TopicRouteData, all that REGISTER_TOPIC_IN_NAMESRV is read for. An absent
// body has none. A body that is not an object is ErrBody.
func DecodeQueueDatas(body []byte) ([]QueueData, error) {
	if len(body) == 0 {
		return nil, nil
	}
	s := newScanner(body)
	var list []QueueData
	for m := s.object(); m.next(); {
		if string(m.key.bytes) != "queueDatas" {
			s.skip()
		} else if !s.null() {
			list = s.queueDatas()
		}
	}
	if err := s.end(); err != nil {
		return nil, fmt.Errorf("%w: topic route: %w", ErrBody, err)
	}
	return list, nil
}

func (s *scanner) queueDatas() (list []QueueData) {
	for e := s.array(); e.next(); {
		list = append(list, s.queueData())
	}
	return list
}

func (s *scanner) queueData() (q QueueData) {
	for m := s.object(); m.next(); {
		switch string(m.key.bytes) {
		case "brokerName":
			q.BrokerName = s.string()
		case "perm":
			q.Perm = s.int32(0)
		case "readQueueNums":
			q.Read = s.int32(0)
		case "topicSysFlag", "topicSynFlag": // its name up to 4.8
			q.SysFlag = s.int32(0)
		case "writeQueueNums":
			q.Write = s.int32(0)
		default:
			s.skip()
		}
	}
	return q
}
