package protocol

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// TopicConfig is one topic of a broker, as far as a name server uses it.
type TopicConfig struct {
	Name                                         string
	ReadQueueNums, WriteQueueNums, Perm, SysFlag int32
}

// QueueMapping is a static topic's map from logical to physical queues on one broker (TopicQueueMappingInfo).
type QueueMapping struct {
	Topic       string
	Scope       string
	TotalQueues int32
	BrokerName  string
	Epoch       int64
	Dirty       bool
	CurrIDs     []IDPair // sorted by Logic, each Logic once
}

// IDPair maps a logical queue id to a physical one.
type IDPair struct{ Logic, Phys int32 }

// RegisterBody is what a broker registers, whichever way it was encoded.
type RegisterBody struct {
	DataVersion DataVersion
	HasTable    bool           // false: the sender wrote null for its table, which is not the same as an empty one
	Topics      []TopicConfig  // in the order of arrival; a name that was sent twice is here twice, the later one counts
	Mappings    []QueueMapping // in the order of arrival
	Filters     []string       // addresses of the broker's filter servers
	HasFilters  bool           // false: leave the filter servers as they are
}

// What a topic has when its sender left the member out: the initial values of RocketMQ's TopicConfig.
const (
	defaultQueueNums = 16
	defaultPerm      = 6
)

// scopeGlobal is the scope of a static topic that names none (MixAll.METADATA_SCOPE_GLOBAL).
const scopeGlobal = "__global__"

// zlibHeader is the first byte of every zlib stream that brokers write. JSON cannot begin with it.
const zlibHeader = 0x78

var (
	errTopicName   = errors.New("topic without a name")
	errMappingName = errors.New("static topic without a broker name")
)

// DecodeRegisterBody decodes the body of REGISTER_BROKER for a sender of the given version. compressed is the header's
// field of that name; a zlib stream is recognised without it, since 5.x brokers compress and do not say so.
//
// An absent body is an empty table with the zero DataVersion and no filter servers. Below V3_0_11 the body is the inner
// topic table alone, and filter servers are left as they are. Errors are ErrBody, and ErrTooLarge as well when the body
// inflates to more than MaxInflated; nothing of such a body may be used.
func DecodeRegisterBody(body []byte, version int32, compressed bool) (*RegisterBody, error) {
	b := &RegisterBody{HasTable: true, HasFilters: version >= V3_0_11}
	if len(body) == 0 {
		return b, nil
	}
	var err error
	if b.HasFilters && (compressed || body[0] == zlibHeader) {
		err = b.decodeCompressed(body, version)
	} else {
		err = b.decodeJSON(body)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: registration: %w", ErrBody, err)
	}
	return b, nil
}

func (b *RegisterBody) decodeJSON(body []byte) error {
	s := newScanner(body)
	if b.HasFilters {
		b.outer(&s)
	} else {
		b.wrapper(&s)
	}
	if err := s.end(); err != nil {
		return err
	}
	return b.check()
}

// check refuses what the stock server fails on with a null pointer.
func (b *RegisterBody) check() error {
	for i := range b.Topics {
		if b.Topics[i].Name == "" {
			return errTopicName
		}
	}
	for i := range b.Mappings {
		if b.Mappings[i].BrokerName == "" {
			return errMappingName
		}
	}
	return nil
}

// outer reads a RegisterBrokerBody.
func (b *RegisterBody) outer(s *scanner) {
	for m := s.object(); m.next(); {
		switch string(m.key.bytes) {
		case "filterServerList":
			b.HasFilters = !s.null()
			if b.HasFilters {
				b.Filters = s.strings()
			}
		case "topicConfigSerializeWrapper":
			if b.HasTable = !s.null(); b.HasTable {
				b.wrapper(s)
			}
		default:
			s.skip()
		}
	}
}

// wrapper reads a TopicConfigSerializeWrapper.
func (b *RegisterBody) wrapper(s *scanner) {
	for m := s.object(); m.next(); {
		switch string(m.key.bytes) {
		case "dataVersion":
			if !s.null() {
				b.DataVersion = s.dataVersion()
			}
		case "topicConfigTable":
			if b.HasTable = !s.null(); b.HasTable {
				b.Topics = s.topics()
			}
		case "topicQueueMappingInfoMap":
			if !s.null() {
				b.Mappings = s.mappings()
			}
		default:
			s.skip()
		}
	}
}

// strings consumes an array of strings without its nulls.
func (s *scanner) strings() (list []string) {
	for e := s.array(); e.next(); {
		if !s.null() {
			list = append(list, s.str(s.scalar()))
		}
	}
	return list
}

// topics consumes a topic table. A topic is called what its topicName says, whatever its key in the table.
func (s *scanner) topics() (list []TopicConfig) {
	for m := s.object(); m.next(); {
		if s.null() {
			list = append(list, TopicConfig{})
			continue
		}
		list = append(list, s.topic())
	}
	return list
}

func (s *scanner) topic() TopicConfig {
	t := TopicConfig{ReadQueueNums: defaultQueueNums, WriteQueueNums: defaultQueueNums, Perm: defaultPerm}
	for m := s.object(); m.next(); {
		switch string(m.key.bytes) {
		case "topicName":
			t.Name = s.string()
		case "readQueueNums":
			t.ReadQueueNums = s.int32(defaultQueueNums)
		case "writeQueueNums":
			t.WriteQueueNums = s.int32(defaultQueueNums)
		case "perm":
			t.Perm = s.int32(defaultPerm)
		case "topicSysFlag":
			t.SysFlag = s.int32(0)
		default:
			s.skip()
		}
	}
	return t
}

// mappings consumes a map of static topics. The key stands in for a topic member that is missing.
func (s *scanner) mappings() (list []QueueMapping) {
	for m := s.object(); m.next(); {
		key := s.str(m.key)
		if s.null() {
			list = append(list, QueueMapping{})
			continue
		}
		q := s.mapping()
		if q.Topic == "" {
			q.Topic = key
		}
		list = append(list, q)
	}
	return list
}

func (s *scanner) mapping() QueueMapping {
	q := QueueMapping{Scope: scopeGlobal}
	for m := s.object(); m.next(); {
		switch string(m.key.bytes) {
		case "bname":
			q.BrokerName = s.string()
		case "currIdMap":
			q.CurrIDs = s.idPairs()
		case "dirty":
			q.Dirty = s.bool()
		case "epoch":
			q.Epoch = s.int64(0)
		case "scope":
			if !s.null() {
				q.Scope = s.string()
			}
		case "topic":
			q.Topic = s.string()
		case "totalQueues":
			q.TotalQueues = s.int32(0)
		default:
			s.skip()
		}
	}
	return q
}

// idPairs consumes an object of integers by integer, which brokers write with bare keys.
func (s *scanner) idPairs() (pairs []IDPair) {
	if s.null() {
		return nil
	}
	for m := s.object(); m.next(); {
		logic, ok := parseInt(m.key.bytes)
		if !ok || logic != int64(int32(logic)) {
			s.fail("expected a queue id")
		}
		pairs = append(pairs, IDPair{Logic: int32(logic), Phys: s.int32(0)})
	}
	slices.SortStableFunc(pairs, func(a, b IDPair) int { return cmp.Compare(a.Logic, b.Logic) })
	return lastOfEach(pairs)
}

// lastOfEach keeps the last of the pairs that share a logical id.
func lastOfEach(pairs []IDPair) []IDPair {
	kept := pairs[:0]
	for i, p := range pairs {
		if i+1 == len(pairs) || pairs[i+1].Logic != p.Logic {
			kept = append(kept, p)
		}
	}
	return kept
}
