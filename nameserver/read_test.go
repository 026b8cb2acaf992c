package nameserver

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"namesrv/cluster"
	"namesrv/fsm"
	"namesrv/remoting"
	"namesrv/remoting/protocol"
)

// noLeader makes the group unreachable.
func noLeader(g *fakeGroup) { g.confirm, g.propose = cluster.ErrNoLeader, cluster.ErrNoLeader }

func TestAbsenceIsOnlyClaimedWhenItIsCertain(t *testing.T) {
	for _, local := range []bool{false, true} {
		r := newRig(t, func(c *Config) { c.LocalReads = local })
		c := r.dial()
		c.register(master("t1", "t2"))
		c.want(protocol.TopicNotExist, protocol.GetRouteInfoByTopic, fields{"topic": "none"})
		c.want(protocol.QueryNotFound, protocol.GetKVConfig, fields{"namespace": "n", "key": "k"})
		c.want(protocol.QueryNotFound, protocol.GetKVListByNamespace, fields{"namespace": "n"})
		r.group.set(noLeader)
		c.want(protocol.SystemError, protocol.GetRouteInfoByTopic, fields{"topic": "none"})
		c.want(protocol.SystemError, protocol.GetKVConfig, fields{"namespace": "n", "key": "k"})
		c.want(protocol.SystemError, protocol.GetKVListByNamespace, fields{"namespace": "n"})
		c.want(protocol.Success, protocol.GetRouteInfoByTopic, fields{"topic": "t1"}) // what is known is told
		c.want(protocol.Success, protocol.GetBrokerMemberGroup, fields{"clusterName": "c", "brokerName": "b"})
	}
}

func TestBrokerThatAsksForItsGroupIsLeftWaiting(t *testing.T) {
	r := newRig(t)
	r.group.set(noLeader)
	for code, ext := range map[protocol.Code]fields{
		protocol.GetBrokerMemberGroup: {"clusterName": "c", "brokerName": "b"},
		protocol.GetRouteInfoByTopic:  {"topic": syncTopicPrefix + "b"},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		res, err := r.dial().InvokeSync(ctx, r.addr, &protocol.Command{Code: code, ExtFields: ext, Version: protocol.Version})
		cancel()
		if !errors.Is(err, remoting.ErrTimeout) && !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("code %d was answered: %+v, %v", code, res, err)
		}
	}
}

func TestNothingIsServedBeforeTheFirstConfirmation(t *testing.T) {
	r := newRig(t)
	c := r.dial()
	c.register(master("t1", "t2"))
	r.group.set(func(g *fakeGroup) { g.confirmed = false; noLeader(g) })
	c.want(protocol.SystemError, protocol.GetRouteInfoByTopic, fields{"topic": "t1"})
	if res := c.send(master("t1", "t2").request()); res.Code != protocol.SystemError || res.Remark != remarkNoLeader {
		t.Errorf("unchanged registration: %d %q", res.Code, res.Remark)
	}
}

func TestRefuseWithoutLeader(t *testing.T) {
	r := newRig(t, func(c *Config) { c.RefuseWithoutLeader = true })
	c := r.dial()
	c.register(master("t1", "t2"))
	r.group.set(noLeader)
	c.want(protocol.SystemError, protocol.GetRouteInfoByTopic, fields{"topic": "t1"})
	c.want(protocol.SystemError, protocol.GetBrokerClusterInfo, nil)
}

func TestRouteIsBuiltAgainWhenWhatItShowsChanged(t *testing.T) {
	r := newRig(t)
	c := r.dial()
	b := master("t1", "t2")
	route := func() string {
		return string(c.want(protocol.Success, protocol.GetRouteInfoByTopic, fields{"topic": "t1"}).Body)
	}
	c.register(b)
	first := route()
	other := broker{cluster: "c", name: "other", addr: "10.0.0.9:10911", counter: 1, topics: []string{"x", "y"}}
	c.register(other)
	if got := route(); got != first {
		t.Errorf("an unrelated broker changed the route: %s", got)
	}
	steps := []struct {
		what string
		do   func()
		want string
	}{
		{"a slave", func() { s := b; s.id, s.addr = 1, "10.0.0.2:10911"; c.register(s) }, "10.0.0.2:10911"},
		{"another broker of the topic", func() { other.counter, other.topics = 2, []string{"t1", "x", "y"}; c.register(other) }, `"other"`},
		{"permission", func() { c.want(0, protocol.WipeWritePermOfBroker, fields{"brokerName": "b"}) }, `"perm":4`},
		{"order configuration", func() {
			c.want(0, protocol.UpdateNamesrvConfig, nil, []byte("orderMessageEnable=true")...)
			c.want(0, protocol.PutKVConfig, fields{"namespace": orderNamespace, "key": "t1", "value": "b:8"})
		}, `"orderTopicConf":"b:8"`},
		{"another order", func() {
			c.want(0, protocol.PutKVConfig, fields{"namespace": orderNamespace, "key": "t1", "value": "b:4"})
		}, `"orderTopicConf":"b:4"`},
	}
	for _, s := range steps {
		s.do()
		if got := route(); !strings.Contains(got, s.want) {
			t.Errorf("after %s the route is %s", s.what, got)
		}
	}
}

func TestRouteCacheIsBounded(t *testing.T) {
	r := newRig(t)
	r.dial().register(master(manyTopics(500)...))
	cache := newRouteCache(routeShards * 4096)
	for range 2 {
		for _, topic := range manyTopics(500) {
			if cache.get(r.tables.State(), topic, protocol.Standard) == nil {
				t.Fatalf("no route of %s", topic)
			}
		}
	}
	for i := range cache.shards {
		s := &cache.shards[i]
		sum := 0
		for k, e := range s.byKey {
			sum += e.size(k)
		}
		if s.bytes != sum || s.bytes > 4096 {
			t.Errorf("shard %d counts %d bytes, holds %d, may hold 4096", i, s.bytes, sum)
		}
	}
}

func TestConfig(t *testing.T) {
	saved := make(map[string]string)
	r := newRig(t, func(c *Config) {
		c.SaveSettings = func(changes map[string]string) (func() error, error) { maps.Copy(saved, changes); return nil, nil }
	})
	c := r.dial()
	tests := []struct {
		name, body string
		want       protocol.Code
		shows      string // a line of the configuration afterwards
	}{
		{"cluster-wide", "enableTopicList=false", protocol.Success, "enableTopicList=false\n"},
		{"own", "waitSecondsForService=7", protocol.Success, "waitSecondsForService=7\n"},
		{"unknown", "noSuchKey=1", protocol.Success, "waitSecondsForService=7\n"},
		{"no number", "waitSecondsForService=x", protocol.Success, "waitSecondsForService=7\n"},
		{"out of range", "scanNotActiveBrokerInterval=-1", protocol.SystemError, "scanNotActiveBrokerInterval=5000\n"},
		{"black list", "enableTopicList=true\nkvConfigPath=/x", protocol.NoPermission, "enableTopicList=false\n"},
		{"out of range beside a good one", "enableTopicList=true\nlistenPort=70000", protocol.SystemError, "enableTopicList=false\n"},
		{"membership", "join=a:1", protocol.NoPermission, "enableTopicList=false\n"},
		{"no properties", `a=\uZZZZ`, protocol.SystemError, "enableTopicList=false\n"},
		{"empty", "", protocol.Success, "enableTopicList=false\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c.want(tt.want, protocol.UpdateNamesrvConfig, nil, []byte(tt.body)...)
			if shown := string(c.want(0, protocol.GetNamesrvConfig, nil).Body); !strings.Contains(shown, tt.shows) {
				t.Errorf("shows no %q", tt.shows)
			}
		})
	}
	if diff := cmp.Diff(map[string]string{"waitSecondsForService": "7"}, saved); diff != "" { // enableTopicList is in the log
		t.Errorf("saved (-want +got):\n%s", diff)
	}
	c.want(protocol.SystemError, protocol.GetTopicsByCluster, fields{"cluster": "c"}) // the switch works
}

func TestWaitForService(t *testing.T) {
	r := newRig(t)
	c := r.dial()
	c.register(master("t1", "t2"))
	c.want(0, protocol.UpdateNamesrvConfig, nil, []byte("needWaitForService=true")...)
	if res := c.want(protocol.SystemError, protocol.GetRouteInfoByTopic, fields{"topic": "t1"}); res.Remark != remarkNotReady {
		t.Errorf("remark %q", res.Remark)
	}
	c.want(0, protocol.GetBrokerClusterInfo, nil) // only routes are gated
	c.want(0, protocol.UpdateNamesrvConfig, nil, []byte("waitSecondsForService=0")...)
	c.want(0, protocol.GetRouteInfoByTopic, fields{"topic": "t1"})
}

func TestGoAway(t *testing.T) {
	r := newRig(t)
	c := r.dial()
	c.register(master("t1", "t2"))
	r.service.Leave()
	for version, want := range map[int32]protocol.Code{479: protocol.GoAway, 475: protocol.Success, 317: protocol.Success} {
		res := c.send(&protocol.Command{Code: protocol.GetRouteInfoByTopic, ExtFields: fields{"topic": "t1"}, Version: version})
		if res.Code != want {
			t.Errorf("version %d answered with %d, want %d", version, res.Code, want)
		}
	}
}

func TestHeartbeatOfAStrangerLeavesNoTrace(t *testing.T) {
	r := newRig(t)
	c := r.dial()
	c.want(0, protocol.BrokerHeartbeat, fields{"clusterName": "c", "brokerAddr": "1.1.1.1:1"})
	if len(r.sessions.byKey) != 0 {
		t.Errorf("remembered: %v", r.sessions.byKey)
	}
	res := c.want(0, protocol.QueryDataVersion, fields{"clusterName": "c", "brokerAddr": "1.1.1.1:1"})
	if res.ExtFields["changed"] != "true" || res.Body != nil {
		t.Errorf("%v %s", res.ExtFields, res.Body)
	}
}

func TestApplyStopsAtAnUnknownCommand(t *testing.T) {
	if _, err := NewTables().Apply(1, []byte("\xff\xff\xff")); !errors.Is(err, fsm.ErrBadCommand) && !errors.Is(err, fsm.ErrUnknownCommand) {
		t.Errorf("%v", err)
	}
}

func TestIdleTimeIsLiveForNewConnections(t *testing.T) {
	r := newRig(t)
	c := r.dial()
	if got := r.service.IdleTimeout(); got != 120*time.Second {
		t.Errorf("%v at the start", got)
	}
	c.want(0, protocol.UpdateNamesrvConfig, nil, []byte("serverChannelMaxIdleTimeSeconds=7")...)
	if got := r.service.IdleTimeout(); got != 7*time.Second {
		t.Errorf("%v after the change", got)
	}
}
