package nameserver

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"net"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"go.uber.org/goleak"

	"namesrv/fsm"
	"namesrv/remoting"
	"namesrv/remoting/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeGroup is the edge to the Raft group: it applies at once, or fails as told.
type fakeGroup struct {
	tables *Tables

	mu        sync.Mutex
	index     uint64
	logged    [][]byte
	lone      bool
	confirmed bool
	confirm   error       // of Confirm
	propose   error       // of Propose
	apply     bool        // whether a Propose that fails is applied all the same
	hold      func(n int) // before the n-th Propose is applied
	refuse    map[string]bool
	heard     []string
}

func (g *fakeGroup) Propose(_ context.Context, command []byte) ([]byte, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.propose != nil && !g.apply {
		return nil, g.propose
	}
	if g.hold != nil {
		g.hold(len(g.logged))
	}
	g.index++
	g.logged = append(g.logged, command)
	res, err := g.tables.Apply(g.index, command)
	if err == nil {
		err = g.propose
	}
	return res, err
}

func (g *fakeGroup) Confirm(_ context.Context, heard ...string) (bool, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.heard = append(g.heard, heard...)
	expiring := false
	for _, k := range heard {
		expiring = expiring || g.refuse[k] || g.tables.State().LiveByKey(k) == nil
	}
	return expiring, g.confirm
}

func (g *fakeGroup) Confirmed() bool     { return g.locked(func() bool { return g.lone }) }
func (g *fakeGroup) EverConfirmed() bool { return g.locked(func() bool { return g.confirmed }) }

func (g *fakeGroup) locked(f func() bool) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return f()
}

func (g *fakeGroup) Applied() uint64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.index
}

func (g *fakeGroup) set(f func(*fakeGroup)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	f(g)
}

func (g *fakeGroup) entries() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.logged)
}

// rig is a service behind a real listener.
type rig struct {
	t        testing.TB
	group    *fakeGroup
	tables   *Tables
	sessions *Sessions
	service  *Service
	addr     string
}

func newRig(t testing.TB, change ...func(*Config)) *rig {
	t.Helper()
	tables := NewTables()
	r := &rig{t: t, tables: tables, sessions: NewSessions(), group: &fakeGroup{tables: tables, confirmed: true, index: 1}}
	cfg := Config{Logger: hclog.NewNullLogger()}
	for _, f := range change {
		f(&cfg)
	}
	r.service = NewService(cfg, tables, r.group, r.sessions)
	r.serve(t)
	return r
}

// serve opens a port for the service until the test ends.
func (r *rig) serve(t testing.TB) {
	t.Helper()
	pools := Pools{Routes: remoting.NewPool("routes", 64, 1000), Default: remoting.NewPool("default", 64, 1000)}
	server := remoting.NewServer(remoting.ServerConfig{
		Processors: r.service.Processors(pools), Default: r.service.Default(pools),
		OnAccept: r.service.OnAccept, OnEvent: r.service.OnEvent, Idle: r.service.IdleTimeout,
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r.addr = l.Addr().String()
	done := make(chan struct{})
	go func() { defer close(done); server.Serve(l) }()
	t.Cleanup(func() { server.Close(); <-done })
}

// client is one connection to the rig.
type client struct {
	*remoting.Client
	r *rig
}

func (r *rig) dial() *client {
	c := &client{Client: remoting.NewClient(remoting.ClientConfig{}), r: r}
	r.t.Cleanup(c.Close)
	return c
}

type fields = map[string]string

func (c *client) call(code protocol.Code, ext fields, body ...byte) *protocol.Command {
	c.r.t.Helper()
	return c.send(&protocol.Command{Code: code, ExtFields: ext, Body: body, Version: protocol.Version})
}

func (c *client) send(req *protocol.Command) *protocol.Command {
	c.r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	res, err := c.InvokeSync(ctx, c.r.addr, req)
	if err != nil {
		c.r.t.Fatalf("code %d: %v", req.Code, err)
	}
	return res
}

func (c *client) want(code protocol.Code, req protocol.Code, ext fields, body ...byte) *protocol.Command {
	c.r.t.Helper()
	res := c.call(req, ext, body...)
	if res.Code != code {
		c.r.t.Fatalf("request %d answered with %d %q, want %d", req, res.Code, res.Remark, code)
	}
	return res
}

// broker is a broker as it registers.
type broker struct {
	cluster, name, addr string
	id                  int
	counter             int64
	topics              []string
	extra               fields
}

func (b broker) request() *protocol.Command {
	table := map[string]any{}
	for _, t := range b.topics {
		table[t] = map[string]any{"topicName": t, "readQueueNums": 8, "writeQueueNums": 8, "perm": 6, "topicFilterType": "SINGLE_TAG", "topicSysFlag": 0, "order": false, "attributes": map[string]string{}}
	}
	body, err := json.Marshal(map[string]any{"filterServerList": []string{}, "topicConfigSerializeWrapper": map[string]any{
		"dataVersion": map[string]int64{"counter": b.counter, "stateVersion": 0, "timestamp": 5}, "topicConfigTable": table, "topicQueueMappingInfoMap": map[string]any{}}})
	if err != nil {
		panic(err)
	}
	ext := fields{"brokerName": b.name, "brokerAddr": b.addr, "clusterName": b.cluster, "haServerAddr": b.addr + "1", "brokerId": strconv.Itoa(b.id),
		"enableActingMaster": "false", "compressed": "false", "bodyCrc32": strconv.Itoa(int(crc32.ChecksumIEEE(body) & 0x7fffffff))}
	for k, v := range b.extra {
		ext[k] = v
	}
	return &protocol.Command{Code: protocol.RegisterBroker, ExtFields: ext, Body: body, Version: protocol.Version}
}

func (b broker) key() string { return fsm.Key(b.cluster, b.addr) }

func (b broker) unregister() fields {
	return fields{"brokerName": b.name, "brokerAddr": b.addr, "clusterName": b.cluster, "brokerId": strconv.Itoa(b.id)}
}

func (c *client) register(b broker) *protocol.Command {
	c.r.t.Helper()
	res := c.send(b.request())
	if res.Code != protocol.Success {
		c.r.t.Fatalf("registration answered with %d %q", res.Code, res.Remark)
	}
	return res
}

func master(topics ...string) broker {
	return broker{cluster: "c", name: "b", addr: "10.0.0.1:10911", counter: 1, topics: topics}
}

func manyTopics(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("topic-%05d", i)
	}
	return names
}
