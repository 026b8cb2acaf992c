package nameserver

import (
	"testing"

	"namesrv/fsm"
	"namesrv/remoting/protocol"
)

// TestRouteCacheFollowsTheTables: an answer is kept as long as it would be built from the same values, and no longer.
func TestRouteCacheFollowsTheTables(t *testing.T) {
	registration := func(broker, addr string, perm int32, topics ...string) *fsm.Registration {
		r := &fsm.Registration{Broker: broker, Addr: addr, Cluster: "c", HasTable: true, DataVersion: protocol.DataVersion{Counter: int64(perm)}}
		for _, name := range topics {
			r.Topics = append(r.Topics, protocol.TopicConfig{Name: name, ReadQueueNums: 4, WriteQueueNums: 4, Perm: perm})
		}
		return r
	}
	filters := registration("b0", "10.0.0.1:1", 6, "T", "U")
	filters.Filters, filters.HasFilters = []string{"10.0.0.1:9"}, true
	tests := []struct {
		name   string
		change []byte
		kept   bool
	}{
		{"another topic of another broker", fsm.EncodeRegister(registration("b1", "10.0.0.2:1", 6, "V", "W")), true},
		{"another topic of the same broker", fsm.EncodeRegister(registration("b0", "10.0.0.1:1", 6, "T", "U", "V")), true},
		{"a key of another namespace", fsm.EncodePutKV("N", "T", "v"), true},
		{"the order of another topic", fsm.EncodePutKV(orderNamespace, "U", "b0:4"), true},
		{"the topic's order", fsm.EncodePutKV(orderNamespace, "T", "b0:4"), false},
		{"the topic at another broker", fsm.EncodeRegister(registration("b1", "10.0.0.2:1", 6, "T", "W")), false},
		{"the topic's permission", fsm.EncodeRegister(registration("b0", "10.0.0.1:1", 4, "T", "U")), false},
		{"the broker's address", fsm.EncodeRegister(registration("b0", "10.0.0.3:1", 7, "T", "U")), false},
		{"filter servers", fsm.EncodeRegister(filters), false},
		{"a setting", fsm.EncodeSetOptions(map[string]string{"orderMessageEnable": "false"}), false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := fsm.New()
			f.Apply(1, fsm.EncodeSetOptions(map[string]string{"orderMessageEnable": "true"}))
			f.Apply(2, fsm.EncodeRegister(registration("b0", "10.0.0.1:1", 6, "T", "U")))
			c := newRouteCache(1 << 20)
			before := c.get(f.State(), "T", protocol.Standard)
			f.Apply(3, tt.change)
			after := c.get(f.State(), "T", protocol.Standard)
			if (after == before) != tt.kept {
				t.Errorf("kept: %v, want %v\nbefore %s\nafter  %s", after == before, tt.kept, before.Body, after.Body)
			}
			if fresh := newRouteCache(1<<20).get(f.State(), "T", protocol.Standard); string(fresh.Body) != string(after.Body) {
				t.Errorf("answered %s, want %s", after.Body, fresh.Body)
			}
			if again := c.get(f.State(), "T", protocol.Standard); again != after {
				t.Error("built twice for the same tables")
			}
		})
	}
}

// TestRouteCacheAsksTheTablesOnce: a kept answer that fits after a change is found without the tables from then on.
func TestRouteCacheAsksTheTablesOnce(t *testing.T) {
	f := fsm.New()
	r := &fsm.Registration{Broker: "b0", Addr: "10.0.0.1:1", Cluster: "c", HasTable: true,
		Topics: []protocol.TopicConfig{{Name: "T", Perm: 6}, {Name: "U", Perm: 6}}}
	f.Apply(1, fsm.EncodeRegister(r))
	c := newRouteCache(1 << 20)
	c.get(f.State(), "T", protocol.Standard)
	f.Apply(2, fsm.EncodePutKV("N", "K", "v"))
	c.get(f.State(), "T", protocol.Standard)
	for i := range c.shards {
		shard := &c.shards[i]
		for _, e := range shard.byKey {
			if e.fitted.Load() != c.basisOf(f.State()) {
				t.Error("the tables of the second question were not remembered")
			}
		}
	}
}
