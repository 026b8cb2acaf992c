package nameserver

import (
	"fmt"
	"strings"
	"testing"

	"namesrv/cluster"
	"namesrv/remoting/protocol"
)

// TestChangeThatNotAllPeersKnow promises that a change which the group cannot take yet is refused with the reason, and
// that what needs no change is answered as before.
func TestChangeThatNotAllPeersKnow(t *testing.T) {
	r := newRig(t)
	c := r.dial()
	known := master("t1", "t2")
	c.register(known)
	r.group.set(func(g *fakeGroup) { g.propose = fmt.Errorf("%w: install a newer namesrv at n3", cluster.ErrTooNew) })
	changed := known
	changed.counter++
	for name, res := range map[string]*protocol.Command{
		"value":        c.call(protocol.PutKVConfig, fields{"namespace": "n", "key": "k", "value": "v"}),
		"registration": c.send(changed.request()),
		"permission":   c.call(protocol.WipeWritePermOfBroker, fields{"brokerName": known.name}),
		"topic":        c.call(protocol.DeleteTopicInNamesrv, fields{"topic": "t1"}),
	} {
		if res.Code != protocol.SystemError || !strings.Contains(res.Remark, "install a newer namesrv at n3") {
			t.Errorf("%s: code %d %q", name, res.Code, res.Remark)
		}
	}
	c.register(known)
	c.want(protocol.Success, protocol.GetRouteInfoByTopic, fields{"topic": "t1"})
}
