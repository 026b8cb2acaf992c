package fsm

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"namesrv/remoting/protocol"
)

// step is one random command with what the model does about it.
type step struct {
	command []byte
	reg     *Registration
	model   func(m *model, index uint64) protocol.Code
	count   func(m *model) int // before the command; nil: not compared
}

func succeed(f func(m *model)) func(*model, uint64) protocol.Code {
	return func(m *model, _ uint64) protocol.Code { f(m); return protocol.Success }
}

var (
	drawBroker  = rapid.SampledFrom([]string{"x", "y", "z"})
	drawAddr    = rapid.SampledFrom([]string{"A", "B", "C", "D"})
	drawCluster = rapid.SampledFrom([]string{"c", "d"})
	drawTopic   = rapid.SampledFrom([]string{"t", "t1", "t2", "u", "ü\xff"})
	drawID      = rapid.SampledFrom([]int64{0, 0, 1, -1, 2})
	drawPerm    = rapid.SampledFrom([]int32{6, 7, 4, 2, 0})
	drawBit     = rapid.SampledFrom([]int64{0, 1})
	drawKind    = rapid.SampledFrom([]string{
		"register", "register", "register", "register", "register", "register", "register", "register",
		"unregister", "expire", "touch", "delete topic", "register topic", "set perm", "kv", "options",
		"restore", "restore", "restore",
	})
	drawText = rapid.SampledFrom([]string{"", "a", "a\x00", "b\xfe"})
)

func drawRegistration(t *rapid.T) *Registration {
	r := &Registration{
		Broker:        drawBroker.Draw(t, "broker"),
		Addr:          drawAddr.Draw(t, "addr"),
		Cluster:       drawCluster.Draw(t, "cluster"),
		HAServerAddr:  drawText.Draw(t, "ha"),
		ID:            drawID.Draw(t, "id"),
		TimeoutMillis: rapid.Int64Range(-1, 2).Draw(t, "timeout"),
		Acting:        rapid.SampledFrom([]Acting{ActingAbsent, ActingFalse, ActingTrue}).Draw(t, "acting"),
		Zone:          drawText.Draw(t, "zone"),
		DataVersion:   protocol.DataVersion{StateVersion: drawBit.Draw(t, "state"), Counter: drawBit.Draw(t, "counter")},
		HasTable:      rapid.IntRange(0, 9).Draw(t, "table") > 0,
		Filters:       rapid.SliceOfN(drawText, 0, 2).Draw(t, "filters"),
		HasFilters:    rapid.Bool().Draw(t, "has filters"),
		NewBirth:      rapid.Bool().Draw(t, "new birth"),
	}
	for _, name := range rapid.SliceOfNDistinct(drawTopic, 0, 4, rapid.ID).Draw(t, "topics") {
		r.Topics = append(r.Topics, protocol.TopicConfig{Name: name, ReadQueueNums: 8, WriteQueueNums: 4, Perm: drawPerm.Draw(t, "perm")})
	}
	for range rapid.IntRange(0, 1).Draw(t, "mappings") {
		r.Mappings = append(r.Mappings, mapping(drawTopic.Draw(t, "topic"), drawBroker.Draw(t, "bname"), rapid.Int64Range(0, 1).Draw(t, "epoch")))
	}
	return r
}

func drawStep(t *rapid.T, s *State, past []*Registration) step {
	switch drawKind.Draw(t, "kind") {
	case "register":
		r := drawRegistration(t)
		if len(past) > 0 && rapid.Bool().Draw(t, "again") {
			r = rapid.SampledFrom(past).Draw(t, "registration")
		}
		return step{command: EncodeRegister(r), reg: r, model: func(m *model, index uint64) protocol.Code { return m.register(r, index) }}
	case "unregister":
		u := Unregistration{
			Cluster: drawCluster.Draw(t, "cluster"), Broker: drawBroker.Draw(t, "broker"), Addr: drawAddr.Draw(t, "addr"),
			ID: drawID.Draw(t, "id"), BirthAtMost: rapid.Uint64Range(0, 60).Draw(t, "birth"),
		}
		return step{command: EncodeUnregister(u), model: succeed(func(m *model) { m.unregister(u) })}
	case "expire":
		return drawExpire(t, s)
	case "touch":
		return drawTouch(t, s)
	case "delete topic":
		topic, cluster := drawTopic.Draw(t, "topic"), rapid.SampledFrom([]string{"", "c", "d", "e"}).Draw(t, "cluster")
		return step{command: EncodeDeleteTopic(topic, cluster), model: succeed(func(m *model) { m.deleteTopic(topic, cluster) })}
	case "register topic":
		topic := drawTopic.Draw(t, "topic")
		var queues []protocol.QueueData
		for _, b := range rapid.SliceOfNDistinct(drawBroker, 0, 2, rapid.ID).Draw(t, "brokers") {
			queues = append(queues, protocol.QueueData{BrokerName: b, Read: 1, Perm: drawPerm.Draw(t, "perm")})
		}
		return step{command: EncodeRegisterTopic(topic, queues), model: succeed(func(m *model) { m.registerTopic(topic, queues) })}
	case "set perm":
		broker, add := drawBroker.Draw(t, "broker"), rapid.Bool().Draw(t, "add")
		command, change := EncodeWipeWrite(broker), withoutWrite
		if add {
			command, change = EncodeAddWrite(broker), readWrite
		}
		return step{
			command: command,
			model:   succeed(func(m *model) { m.setPerm(broker, change) }),
			count:   func(m *model) int { return m.setPerm(broker, func(p int32) int32 { return p }) },
		}
	case "kv":
		return drawKV(t)
	case "restore":
		return drawRestore(t, s)
	default:
		return drawOptions(t)
	}
}

func drawExpire(t *rapid.T, s *State) step {
	var list []Expired
	var hit []modelAddr
	for key, l := range s.Lives() {
		switch rapid.IntRange(0, 3).Draw(t, "expire") {
		case 0:
			list = append(list, Expired{Key: key, Registered: l.Registered})
			hit = append(hit, modelAddr{l.Cluster, l.Addr})
		case 1:
			list = append(list, Expired{Key: key, Registered: l.Registered - 1})
		}
	}
	return step{
		command: EncodeExpire(list),
		model: succeed(func(m *model) {
			for _, key := range hit {
				m.remove(key)
			}
		}),
		count: func(*model) int { return len(hit) },
	}
}

func drawTouch(t *rapid.T, s *State) step {
	key := modelAddr{drawCluster.Draw(t, "cluster"), drawAddr.Draw(t, "addr")}
	expect := uint64(1)
	if l := s.Live(key.Cluster, key.Addr); l != nil {
		expect = l.Registered - rapid.Uint64Range(0, 1).Draw(t, "behind")
	}
	return step{
		command: EncodeTouch(Key(key.Cluster, key.Addr), expect),
		model: func(m *model, index uint64) protocol.Code {
			l, ok := m.Lives[key]
			if !ok || l.Registered != expect {
				return protocol.SystemError
			}
			l.Registered, l.Birth = index, index
			m.Lives[key] = l
			return protocol.Success
		},
	}
}

func drawKV(t *rapid.T) step {
	ns, key := drawText.Draw(t, "namespace"), drawText.Draw(t, "key")
	switch rapid.IntRange(0, 3).Draw(t, "kv") {
	case 0:
		return step{command: EncodeDeleteKV(ns, key), model: succeed(func(m *model) { delete(m.KV[ns], key) })}
	case 1:
		return step{command: encodePutNullKV(ns, key), model: succeed(func(m *model) { m.putKV(ns, key, nil) })}
	}
	value := drawText.Draw(t, "value")
	return step{command: EncodePutKV(ns, key, value), model: succeed(func(m *model) { m.putKV(ns, key, &value) })}
}

func setAllOptions() step {
	properties := make(map[string]string)
	for _, key := range OptionKeys() {
		properties[key] = "true"
	}
	return step{
		command: EncodeSetOptions(properties),
		model: succeed(func(m *model) {
			for _, opt := range optionList {
				*opt.value(&m.Options) = true
			}
		}),
	}
}

func drawOptions(t *rapid.T) step {
	properties := map[string]string{
		rapid.SampledFrom(OptionKeys()).Draw(t, "option"): rapid.SampledFrom([]string{"true", "false", "TRUE", "true "}).Draw(t, "value"),
	}
	change := func(m *model) {
		for _, opt := range optionList {
			if text, ok := properties[opt.key]; ok {
				*opt.value(&m.Options) = strings.ToLower(text) == "true"
			}
		}
	}
	if rapid.Bool().Draw(t, "set") {
		return step{command: EncodeSetOptions(properties), model: succeed(change)}
	}
	kv := map[string]map[string]string{"n": {"k": "v"}, "empty": {}}
	return step{command: EncodeInit(properties, kv), model: succeed(func(m *model) {
		if m.Init {
			return
		}
		m.Init = true
		change(m)
		v := "v"
		m.putKV("n", "k", &v)
		if m.KV["empty"] == nil {
			m.KV["empty"] = map[string]string{}
		}
	})}
}

// TestRandomCommands drives two state machines and the model with the same log.
// One of them is replaced by its restored snapshot now and then.
func TestRandomCommands(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, m := New(), New(), newModel()
		var past []*Registration
		remembered := make(map[*Registration]Basis)
		all := rapid.Bool().Draw(t, "all options on")
		for index := range uint64(rapid.IntRange(1, 60).Draw(t, "commands")) {
			s := a.State()
			st := drawStep(t, s, past)
			if all && index == 0 {
				st = setAllOptions()
			}
			if r := st.reg; r != nil {
				checkBasis(t, s, r, remembered)
				past = append(past, r)
			}
			result := applyBoth(t, a, b, index, st.command)
			if st.count != nil {
				if want := st.count(m); result.Count != want {
					t.Fatalf("count %d, want %d", result.Count, want)
				}
			}
			before := modelOf(s).withoutIndexes()
			if code := st.model(m, index); result.Code != code {
				t.Fatalf("code %d, want %d", result.Code, code)
			}
			now := modelOf(a.State())
			if diff := cmp.Diff(m, now, cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("tables differ from the model (-model +state):\n%s", diff)
			}
			if same := cmp.Equal(before, now.withoutIndexes(), cmpopts.EquateEmpty()); same == result.Changed {
				t.Fatalf("changed is %v, tables the same: %v", result.Changed, same)
			}
			checkInvariants(t, a.State())
			if rapid.IntRange(0, 4).Draw(t, "restore") == 0 {
				b = restored(t, b.State(), index)
			}
		}
	})
}

func applyBoth(t *rapid.T, a, b *FSM, index uint64, command []byte) Result {
	encoded := a.Apply(index, command)
	if other := b.Apply(index, command); !bytes.Equal(encoded, other) {
		t.Fatalf("results differ: %x and %x", encoded, other)
	}
	if diff := cmp.Diff(image(t, a.State(), index), image(t, b.State(), index)); diff != "" {
		t.Fatalf("snapshots differ:\n%s", diff)
	}
	r, err := DecodeResult(encoded)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func image(t *rapid.T, s *State, index uint64) []byte {
	var out bytes.Buffer
	if err := s.WriteSnapshot(&out, index); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func restored(t *rapid.T, s *State, index uint64) *FSM {
	f := New()
	got, err := f.RestoreSnapshot(bytes.NewReader(image(t, s, index)))
	if err != nil || got != index {
		t.Fatalf("restored index %d, error %v", got, err)
	}
	return f
}

// checkBasis holds Register to what Basis promises.
func checkBasis(t *rapid.T, s *State, r *Registration, remembered map[*Registration]Basis) {
	basis := s.Basis(r.Cluster, r.Addr, r.Broker)
	_, out := s.Register(r, 1)
	if old, ok := remembered[r]; ok && old == basis && out.Changed {
		t.Fatalf("changed on an equal basis")
	}
	if !out.Changed && !out.Conflict && out.Refused == "" {
		remembered[r] = basis
	}
}

// checkInvariants holds a state to what doc.go promises.
func checkInvariants(t *rapid.T, s *State) {
	listed := 0
	for g := range s.Brokers() {
		listed += len(g.Addrs)
		for _, a := range g.Addrs {
			if l := s.LiveOf(g, a.Addr); l == nil || l.ID != a.ID {
				t.Fatalf("%s lists %d=%s, live entry %+v", g.Name, a.ID, a.Addr, l)
			}
		}
	}
	want := Counts{Brokers: s.brokers.len(), Addresses: listed, Namespaces: s.kv.len()}
	for topic := range s.Topics() {
		want.Topics++
		want.QueueEntries += len(topic.Queues)
	}
	if diff := cmp.Diff(want, s.Counts()); diff != "" {
		t.Fatalf("counts (-walked +kept):\n%s", diff)
	}
}
