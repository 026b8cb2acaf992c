package nameserver

import (
	"testing"

	"namesrv/remoting/protocol"
)

// TestHeldUnregistrationAfterTheBrokerIsBack promises that a copy of an unregistration which was held on its way does
// nothing to the broker that has registered since, whether it was absent in between or not, and over whatever
// connection the copy comes.
func TestHeldUnregistrationAfterTheBrokerIsBack(t *testing.T) {
	b := master("t1", "t2")
	for _, tc := range []struct {
		name       string
		absence    bool
		registered bool // the connection over which the copy comes had registered the broker
	}{
		{"absence, its own connection", true, true},
		{"absence, another connection", true, false},
		{"no absence, its own connection", false, true},
		{"no absence, another connection", false, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t)
			held, first := r.dial(), r.dial()
			held.want(protocol.Success, protocol.BrokerHeartbeat, b.unregister()) // so that it is connected
			if tc.registered {
				held.register(b)
			}
			first.register(b)
			first.register(b) // it has seen the newest birth
			if tc.absence {
				first.want(protocol.Success, protocol.UnregisterBroker, b.unregister())
				if r.tables.State().LiveByKey(b.key()) != nil {
					t.Fatal("still there")
				}
			}
			back := r.dial()
			back.register(b)
			held.want(protocol.Success, protocol.UnregisterBroker, b.unregister())
			if r.tables.State().LiveByKey(b.key()) == nil {
				t.Error("a held copy removed the broker that is back")
			}
			back.want(protocol.Success, protocol.UnregisterBroker, b.unregister())
			if r.tables.State().LiveByKey(b.key()) != nil {
				t.Error("the unregistration that was meant did nothing")
			}
		})
	}
}
