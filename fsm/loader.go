package fsm

import (
	"errors"
	"fmt"

	"namesrv/fsm/fsmpb"
	"namesrv/remoting/protocol"
)

var (
	errOrder   = errors.New("records are not in order")
	errNoMeta  = errors.New("first record is not the meta record")
	errNoKind  = errors.New("record of no kind")
	errListing = errors.New("live entries and listed addresses differ")
	errUpload  = errors.New("restore that is under way has more parts than it announced")
)

// The parts of a snapshot, in their order.
const (
	partMeta = iota + 1
	partBrokers
	partLives
	partTopics
	partKV
	partUpload
)

// loader builds a state from records and checks all that the commands keep true.
type loader struct {
	d       *draft
	part    int
	last    string               // key of the last record of the part
	begun   bool                 // the part has had a record
	entries []*entrySource       // by position of the broker
	listed  int                  // addresses of all groups
	covered map[listing]struct{} // those that have a live entry

	namespace *Namespace
	values    edit[string]
	lastValue string
}

// listing is a place in a group.
type listing struct {
	broker string
	id     int64
}

func newLoader() *loader {
	return &loader{d: emptyState().edit(), covered: make(map[listing]struct{})}
}

func (l *loader) add(m *fsmpb.Record) error {
	if _, isMeta := m.Kind.(*fsmpb.Record_Meta); isMeta != (l.part == 0) {
		return errNoMeta
	}
	switch kind := m.Kind.(type) {
	case *fsmpb.Record_Meta:
		l.part = partMeta
		l.d.initialized = kind.Meta.Initialized
		l.d.restored = string(kind.Meta.Restored)
		l.d.options = l.d.options.with(kind.Meta.Options)
		return nil
	case *fsmpb.Record_Broker:
		return l.addBroker(kind.Broker)
	case *fsmpb.Record_Live:
		return l.addLive(kind.Live)
	case *fsmpb.Record_Topic:
		return l.addTopic(kind.Topic)
	case *fsmpb.Record_Namespace:
		return l.addNamespace(string(kind.Namespace))
	case *fsmpb.Record_Value:
		return l.addValue(string(kind.Value.Key), string(kind.Value.Value))
	case *fsmpb.Record_Restoring:
		return l.addUpload(kind.Restoring)
	case *fsmpb.Record_RestorePart:
		return l.addPart(kind.RestorePart)
	}
	return errNoKind
}

// step checks that a record follows the one before it.
func (l *loader) step(part int, key string) error {
	if part < l.part || part == l.part && l.begun && key <= l.last {
		return fmt.Errorf("%w: %q", errOrder, key)
	}
	l.part, l.last, l.begun = part, key, true
	return nil
}

func (l *loader) addBroker(m *fsmpb.Broker) error {
	g := &BrokerGroup{
		Name:    string(m.Name),
		Cluster: string(m.Cluster),
		Zone:    string(m.Zone),
		Acting:  m.Acting,
		Addrs:   make([]protocol.BrokerAddr, len(m.Addrs)),
	}
	if err := l.step(partBrokers, g.Name); err != nil {
		return err
	}
	if len(m.Addrs) == 0 || len(m.Addrs) != len(m.Ids) {
		return fmt.Errorf("broker %q: %w", g.Name, errColumns)
	}
	seen := make(map[string]struct{}, len(m.Addrs))
	for i, addr := range m.Addrs {
		if i > 0 && m.Ids[i] <= m.Ids[i-1] {
			return fmt.Errorf("broker %q: %w", g.Name, errOrder)
		}
		g.Addrs[i] = protocol.BrokerAddr{ID: m.Ids[i], Addr: string(addr)}
		seen[string(addr)] = struct{}{}
	}
	if len(seen) != len(g.Addrs) {
		return fmt.Errorf("broker %q lists an address twice", g.Name)
	}
	l.entries = append(l.entries, l.d.entriesOf(g.Name))
	l.listed += len(g.Addrs)
	l.d.brokers.put(g.Name, g)
	return nil
}

func (l *loader) addLive(m *fsmpb.Live) error {
	live := &Live{
		Cluster:       string(m.Cluster),
		Addr:          string(m.Addr),
		Broker:        string(m.Broker),
		ID:            m.Id,
		Registered:    m.Registered,
		Birth:         m.Birth,
		TimeoutMillis: m.TimeoutMillis,
		DataVersion:   loadDataVersion(m.DataVersion),
		HAServerAddr:  string(m.HaServerAddr),
		Filters:       toStrings(m.Filters),
	}
	if err := l.step(partLives, live.key()); err != nil {
		return err
	}
	place := listing{broker: live.Broker, id: live.ID}
	g, ok := l.d.brokers.get(live.Broker)
	if !ok {
		return fmt.Errorf("%w: no broker %q", errListing, live.Broker)
	}
	if addr, ok := g.Addr(live.ID); !ok || addr != live.Addr {
		return fmt.Errorf("%w: broker %q does not list %q", errListing, live.Broker, live.Addr)
	}
	if _, twice := l.covered[place]; twice {
		return fmt.Errorf("%w: %q is live twice", errListing, live.Addr)
	}
	l.covered[place] = struct{}{}
	l.d.putLive(nil, live)
	return nil
}

func (l *loader) addTopic(m *fsmpb.Topic) error {
	t := &Topic{Name: string(m.Name)}
	if err := l.step(partTopics, t.Name); err != nil {
		return err
	}
	var err error
	if t.Queues, err = l.loadQueues(m); err != nil {
		return fmt.Errorf("topic %q: %w", t.Name, err)
	}
	if t.Mappings, err = loadMappings(m.Mappings); err != nil {
		return fmt.Errorf("topic %q: %w", t.Name, err)
	}
	for i, mapping := range t.Mappings {
		if mapping.Topic != t.Name || i > 0 && mapping.BrokerName <= t.Mappings[i-1].BrokerName {
			return fmt.Errorf("topic %q: mappings: %w", t.Name, errOrder)
		}
	}
	l.d.replaceTopic(&Topic{Name: t.Name}, t)
	return nil
}

func (l *loader) loadQueues(m *fsmpb.Topic) ([]*QueueEntry, error) {
	rows, err := rowCount(m.Queues)
	if err != nil {
		return nil, err
	}
	if rows != len(m.Brokers) {
		return nil, errRowCount
	}
	queues := make([]*QueueEntry, rows)
	for i, pos := range m.Brokers {
		if int(pos) >= len(l.entries) || i > 0 && pos <= m.Brokers[i-1] {
			return nil, errOrder
		}
		queues[i] = l.entries[pos].get(row(m.Queues, i))
	}
	return queues, nil
}

func (l *loader) addNamespace(name string) error {
	if err := l.step(partKV, name); err != nil {
		return err
	}
	l.closeNamespace()
	l.namespace = &Namespace{Name: name, values: newTable[string]()}
	l.values = edit[string]{base: l.namespace.values}
	return nil
}

func (l *loader) addValue(key, value string) error {
	if l.part != partKV || l.namespace == nil || l.values.dirty() && key <= l.lastValue {
		return fmt.Errorf("%w: value %q", errOrder, key)
	}
	l.lastValue = key
	l.values.put(key, value)
	return nil
}

func (l *loader) closeNamespace() {
	if l.namespace != nil {
		l.namespace.values = l.values.commit()
		l.d.kv.put(l.namespace.Name, l.namespace)
	}
}

func (l *loader) addUpload(m *fsmpb.RestoreBegin) error {
	if err := l.step(partUpload, ""); err != nil {
		return err
	}
	l.d.upload = newUpload(m)
	if l.d.upload.tooLarge() {
		return errUpload
	}
	return nil
}

func (l *loader) addPart(data []byte) error {
	if l.part != partUpload || len(data) == 0 {
		return errOrder
	}
	next := l.d.upload.with(data)
	if next == nil {
		return errUpload
	}
	l.d.upload = next
	return nil
}

func (l *loader) finish() (*State, error) {
	if l.part == 0 {
		return nil, errNoMeta
	}
	if len(l.covered) != l.listed {
		return nil, errListing
	}
	for _, entries := range l.entries {
		entries.keep()
	}
	l.closeNamespace()
	return l.d.commit(), nil
}
