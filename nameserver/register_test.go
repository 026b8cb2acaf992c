package nameserver

import (
	"fmt"
	"testing"
	"time"

	"namesrv/cluster"
	"namesrv/remoting/protocol"
)

func TestUnchangedRegistrationWritesNothing(t *testing.T) {
	r := newRig(t)
	c := r.dial()
	b := master("t1", "t2")
	c.register(b)
	before := r.group.entries()
	for range 5 {
		c.register(b)
	}
	if got := r.group.entries() - before; got != 0 {
		t.Errorf("%d log entries for registrations that change nothing", got)
	}
	if r.service.registers.unchanged.Load() != 5 {
		t.Errorf("unchanged: %d, want 5", r.service.registers.unchanged.Load())
	}
}

func TestFirstRegistrationOnAConnectionIsABirth(t *testing.T) {
	r := newRig(t)
	b := master("t1", "t2")
	r.dial().register(b)
	first := *r.tables.State().LiveByKey(b.key())
	before := r.group.entries()
	r.dial().register(b)
	live := r.tables.State().LiveByKey(b.key())
	if live.Birth <= first.Birth || live.Registered != live.Birth {
		t.Errorf("birth %d, registered %d after a second connection; the first was born at %d", live.Birth, live.Registered, first.Birth)
	}
	if n := r.group.entries() - before; n != 1 || len(r.group.logged[before]) > 100 {
		t.Errorf("%d entries, the first of %d bytes; one small one is enough", n, len(r.group.logged[before]))
	}
}

func TestRenewalRefusedByTheLeaderIsLogged(t *testing.T) {
	r := newRig(t)
	c := r.dial()
	b := master("t1", "t2")
	c.register(b)
	r.group.set(func(g *fakeGroup) { g.refuse = map[string]bool{b.key(): true} })
	before := r.tables.State().LiveByKey(b.key()).Registered
	c.register(b)
	if after := r.tables.State().LiveByKey(b.key()).Registered; after == before {
		t.Error("a registration that races its own removal was not logged: the removal would win")
	}
}

func TestRegistrationRefusals(t *testing.T) {
	tests := map[string]func(*protocol.Command){
		"no broker name":   func(c *protocol.Command) { delete(c.ExtFields, "brokerName") },
		"no address":       func(c *protocol.Command) { delete(c.ExtFields, "brokerAddr") },
		"no cluster":       func(c *protocol.Command) { delete(c.ExtFields, "clusterName") },
		"no id":            func(c *protocol.Command) { delete(c.ExtFields, "brokerId") },
		"id is no number":  func(c *protocol.Command) { c.ExtFields["brokerId"] = "x" },
		"wrong checksum":   func(c *protocol.Command) { c.ExtFields["bodyCrc32"] = "1" },
		"body cut":         func(c *protocol.Command) { c.Body = c.Body[:len(c.Body)/2]; delete(c.ExtFields, "bodyCrc32") },
		"not compressed":   func(c *protocol.Command) { c.ExtFields["compressed"] = "true" },
		"negative version": func(c *protocol.Command) { c.Version = -1 },
		"no header":        func(c *protocol.Command) { c.ExtFields = nil },
	}
	for name, spoil := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			req := master("t1", "t2").request()
			spoil(req)
			res := r.dial().send(req)
			if res.Code != protocol.SystemError || res.Remark == "" {
				t.Errorf("answered with %d %q, want 1 and a reason", res.Code, res.Remark)
			}
			if n := r.group.entries(); n != 0 {
				t.Errorf("left %d log entries", n)
			}
		})
	}
}

func TestSlaveLearnsItsMaster(t *testing.T) {
	r := newRig(t)
	m := master("t1", "t2")
	s := m
	s.addr, s.id = "10.0.0.2:10911", 1
	r.dial().register(m)
	res := r.dial().register(s)
	if res.ExtFields["masterAddr"] != m.addr || res.ExtFields["haServerAddr"] != m.addr+"1" {
		t.Errorf("fields %v", res.ExtFields)
	}
}

func TestRegistrationWithoutLeader(t *testing.T) {
	known := master("t1", "t2")
	changed := known
	changed.counter = 2
	for _, tt := range []struct {
		name   string
		refuse bool
		b      broker
		want   protocol.Code
	}{
		{"unchanged", false, known, protocol.Success},
		{"changed", false, changed, protocol.SystemError},
		{"unchanged, to be refused", true, known, protocol.SystemError},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, func(c *Config) { c.RefuseWithoutLeader = tt.refuse })
			c := r.dial()
			c.register(known)
			r.group.set(func(g *fakeGroup) { g.confirm, g.propose = cluster.ErrNoLeader, cluster.ErrNoLeader })
			if res := c.send(tt.b.request()); res.Code != tt.want {
				t.Errorf("answered with %d %q, want %d", res.Code, res.Remark, tt.want)
			}
		})
	}
}

func TestUnknownOutcomeIsDecidedByTheTables(t *testing.T) {
	for _, applied := range []bool{true, false} {
		t.Run(fmt.Sprint("applied=", applied), func(t *testing.T) {
			r := newRig(t)
			r.group.set(func(g *fakeGroup) { g.propose, g.apply = cluster.ErrUnknownOutcome, applied })
			want := protocol.SystemError
			if applied {
				want = protocol.Success
			}
			if res := r.dial().send(master("t1", "t2").request()); res.Code != want {
				t.Errorf("registration: %d %q, want %d", res.Code, res.Remark, want)
			}
			r.dial().want(want, protocol.PutKVConfig, fields{"namespace": "n", "key": "k", "value": "v"})
			if n := r.group.entries(); applied && n != 2 {
				t.Errorf("%d entries: a command was sent twice", n)
			}
		})
	}
}

func TestLateUnregistrationsDoNoHarm(t *testing.T) {
	b := master("t1", "t2")
	t.Run("of the connection that registered", func(t *testing.T) {
		r := newRig(t)
		c := r.dial()
		c.register(b)
		c.want(protocol.Success, protocol.UnregisterBroker, b.unregister())
		if r.tables.State().LiveByKey(b.key()) != nil {
			t.Error("still there")
		}
	})
	t.Run("of an older connection after the broker came back", func(t *testing.T) {
		r := newRig(t)
		old := r.dial()
		old.register(b)
		r.dial().register(b) // restarted: a new connection
		old.want(protocol.Success, protocol.UnregisterBroker, b.unregister())
		if r.tables.State().LiveByKey(b.key()) == nil {
			t.Error("a late copy removed the broker that came back")
		}
	})
	t.Run("of a connection older than the registration", func(t *testing.T) {
		r := newRig(t)
		stranger := r.dial()
		stranger.want(protocol.Success, protocol.BrokerHeartbeat, b.unregister()) // so that it is connected
		r.dial().register(b)
		stranger.want(protocol.Success, protocol.UnregisterBroker, b.unregister())
		if r.tables.State().LiveByKey(b.key()) == nil {
			t.Error("removed a birth that the connection cannot have meant")
		}
	})
	t.Run("three copies", func(t *testing.T) {
		r := newRig(t)
		var cs []*client
		for range 3 {
			c := r.dial()
			c.register(b)
			cs = append(cs, c)
		}
		for _, c := range cs {
			c.register(b) // the next period: each connection has seen the newest birth
		}
		for _, c := range cs {
			c.want(protocol.Success, protocol.UnregisterBroker, b.unregister())
		}
		if r.tables.State().LiveByKey(b.key()) != nil {
			t.Error("still there")
		}
	})
}

func TestClosedConnectionIsReported(t *testing.T) {
	r := newRig(t)
	b := master("t1", "t2")
	first, second := r.dial(), r.dial()
	first.register(b)
	second.register(b)
	state := func() string {
		r.sessions.mu.Lock()
		defer r.sessions.mu.Unlock()
		return r.sessions.byKey[b.key()].state.String()
	}
	first.Close() // not the one that registered last
	second.Client.Close()
	deadline := time.After(5 * time.Second)
	select {
	case <-r.sessions.poke:
	case <-deadline:
		t.Fatal("nobody was told of the closed connection")
	}
	if got := state(); got != "CLOSED" {
		t.Errorf("session is %s, want CLOSED", got)
	}
}

func BenchmarkRegister(b *testing.B) {
	for _, tt := range []struct {
		name    string
		changed bool
	}{{"unchanged", false}, {"changed", true}} {
		b.Run(tt.name, func(b *testing.B) {
			r := newRig(b)
			c := r.dial()
			br := master(manyTopics(1000)...)
			c.register(br)
			reqs := make([]*protocol.Command, 64)
			for i := range reqs {
				if tt.changed {
					br.counter++
				}
				reqs[i] = br.request()
			}
			b.ResetTimer()
			for i := range b.N {
				c.send(reqs[i%len(reqs)])
			}
		})
	}
}
