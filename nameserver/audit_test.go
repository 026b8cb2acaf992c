package nameserver

import (
	"bytes"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	"namesrv/cluster"
	"namesrv/internal/settings"
	"namesrv/remoting/protocol"
)

// auditLog keeps what the audit writes.
type auditLog struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
}

func (l *auditLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// lines returns the audit lines so far.
func (l *auditLog) lines() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var lines []string
	for line := range strings.Lines(l.text.String()) {
		if strings.Contains(line, " audit: ") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

func logTo(log *auditLog) func(*Config) {
	return func(cfg *Config) { cfg.Logger = hclog.New(&hclog.LoggerOptions{Output: log}) }
}

// newAuditedRig is a rig with one broker, whose log is kept.
func newAuditedRig(t *testing.T) (*rig, *client, *auditLog) {
	t.Helper()
	log := new(auditLog)
	r := newRig(t, logTo(log))
	c := r.dial()
	c.register(master("T", "V"))
	return r, c, log
}

// wireChanges are the requests of the client port that change something, and what
// their audit line says beside who asked.
var wireChanges = []struct {
	name string
	code protocol.Code
	ext  fields
	body string
	line string
}{
	{"put", protocol.PutKVConfig, fields{"namespace": "ns", "key": "k", "value": "hidden"}, "", "put kv: namespace=ns key=k"},
	{"delete", protocol.DeleteKVConfig, fields{"namespace": "ORDER", "key": "T"}, "", "delete kv: namespace=ORDER key=T"},
	{"delete topic", protocol.DeleteTopicInNamesrv, fields{"topic": "T"}, "", `delete topic: topic=T cluster=""`},
	{"register topic", protocol.RegisterTopicInNamesrv, fields{"topic": "U"}, `{"queueDatas":[{"brokerName":"b","readQueueNums":4,"writeQueueNums":4,"perm":6,"topicSysFlag":0}]}`, "register topic: topic=U"},
	{"update config", protocol.UpdateNamesrvConfig, nil, "orderMessageEnable=true", `update config: settings=["orderMessageEnable"]`},
	{"update config of one peer", protocol.UpdateNamesrvConfig, nil, "serverChannelMaxIdleTimeSeconds=60", `update config: settings=["serverChannelMaxIdleTimeSeconds"]`},
	{"wipe", protocol.WipeWritePermOfBroker, fields{"brokerName": "b"}, "", "wipe write permission: broker=b topics=2"},
	{"add", protocol.AddWritePermOfBroker, fields{"brokerName": "b"}, "", "add write permission: broker=b topics=2"},
}

// without takes the sender out of an audit line, which must have it.
func without(t *testing.T, line string) string {
	t.Helper()
	_, line, _ = strings.Cut(line, " audit: ")
	what, rest, ok := strings.Cut(line, ": who=127.0.0.1:")
	if !ok {
		t.Errorf("it does not say who asked: %s", line)
	}
	_, rest, _ = strings.Cut(rest, " ")
	return what + ": " + rest
}

func TestEveryChangeOnTheWireLeavesOneAuditLine(t *testing.T) {
	for _, tc := range wireChanges {
		t.Run(tc.name, func(t *testing.T) {
			_, c, log := newAuditedRig(t)
			c.want(protocol.Success, protocol.PutKVConfig, fields{"namespace": "ORDER", "key": "T", "value": "b:8"})
			before := len(log.lines())
			c.want(protocol.Success, tc.code, tc.ext, []byte(tc.body)...)
			lines := log.lines()[before:]
			if len(lines) != 1 {
				t.Fatalf("audit lines: %q", lines)
			}
			if got := without(t, lines[0]); !strings.HasPrefix(got, tc.line+" result=done index=") {
				t.Errorf("%s\nwant %s result=done index=…", got, tc.line)
			}
			if strings.Contains(lines[0], "hidden") {
				t.Errorf("it tells a value: %s", lines[0])
			}
		})
		if strings.Contains(tc.name, "of one peer") {
			continue // it needs no leader, and so does not fail without one
		}
		t.Run(tc.name+", failed", func(t *testing.T) {
			r, c, log := newAuditedRig(t)
			r.group.set(func(g *fakeGroup) { g.propose, g.confirm = cluster.ErrNoLeader, cluster.ErrNoLeader })
			c.want(protocol.SystemError, tc.code, tc.ext, []byte(tc.body)...)
			if lines := log.lines(); len(lines) != 1 || !strings.Contains(lines[0], "result=\""+cluster.ErrNoLeader.Error()) || strings.Contains(lines[0], "index=") {
				t.Errorf("audit lines: %q", lines)
			}
		})
	}
}

// unaudited are the requests that change nothing, or that brokers send of themselves:
// those have lines of their own.
var unaudited = []protocol.Code{
	protocol.GetRouteInfoByTopic, protocol.RegisterBroker, protocol.UnregisterBroker, protocol.BrokerHeartbeat, protocol.QueryDataVersion,
	protocol.GetKVConfig, protocol.GetKVListByNamespace, protocol.GetBrokerClusterInfo, protocol.GetBrokerMemberGroup, protocol.GetAllTopicList,
	protocol.GetTopicsByCluster, protocol.GetSystemTopicList, protocol.GetUnitTopicList, protocol.GetHasUnitSubTopicList,
	protocol.GetHasUnitSubUnunitTopicList, protocol.GetNamesrvConfig,
}

func TestEveryCodeIsAuditedOrKnownNotToBe(t *testing.T) {
	known := slices.Clone(unaudited)
	for _, change := range wireChanges {
		known = append(known, change.code)
	}
	for _, code := range newRig(t).service.Codes() {
		if !slices.Contains(known, code) {
			t.Errorf("request code %d: is it a change? Then it leaves an audit line and belongs into wireChanges, else into unaudited", code)
		}
	}
}

func TestRefusedAndNeedlessChangesAreAudited(t *testing.T) {
	tests := []struct {
		name string
		code protocol.Code
		want protocol.Code
		ext  fields
		body string
		line string // part of it
	}{
		{"a key that is not there", protocol.DeleteKVConfig, protocol.Success, fields{"namespace": "n", "key": "k"}, "", `no key`},
		{"a topic that is not there", protocol.DeleteTopicInNamesrv, protocol.Success, fields{"topic": "none"}, "", "nothing was changed"},
		{"a broker that is not there", protocol.WipeWritePermOfBroker, protocol.Success, fields{"brokerName": "none"}, "", "nothing was changed"},
		{"a setting of the black list", protocol.UpdateNamesrvConfig, protocol.NoPermission, nil, "kvConfigPath=/x", `forbidden=["kvConfigPath"]`},
		{"settings that cannot be read", protocol.UpdateNamesrvConfig, protocol.SystemError, nil, `a=\u12`, "update config"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			_, c, log := newAuditedRig(t)
			c.want(tc.want, tc.code, tc.ext, []byte(tc.body)...)
			if lines := log.lines(); len(lines) != 1 || !strings.Contains(lines[0], tc.line) || strings.Contains(lines[0], "result=done") {
				t.Errorf("audit lines: %q, want one with %q", lines, tc.line)
			}
		})
	}
}

func TestSettingOfTheNextStart(t *testing.T) {
	first, _, err := settings.Load(settings.Source{})
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, func(cfg *Config) { cfg.Settings = first })
	r.dial().want(protocol.Success, protocol.UpdateNamesrvConfig, nil, []byte("defaultThreadPoolNums=32\nserverChannelMaxIdleTimeSeconds=60")...)
	list, err := r.service.Settings(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]Setting{
		"defaultThreadPoolNums":           {Name: "defaultThreadPoolNums", Value: "16", Next: "32"},
		"serverChannelMaxIdleTimeSeconds": {Name: "serverChannelMaxIdleTimeSeconds", Value: "60", Next: "60"},
	}
	for _, s := range list {
		if expected, asked := want[s.Name]; asked && s != expected {
			t.Errorf("%+v, want %+v", s, expected)
		}
		delete(want, s.Name)
	}
	if len(want) > 0 {
		t.Errorf("not listed: %v", want)
	}
}

// TestSettingThatWillNotHold says so of those that were changed, and of no other.
func TestSettingThatWillNotHold(t *testing.T) {
	first, _, err := settings.Load(settings.Source{})
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, func(cfg *Config) {
		cfg.Settings = first
		cfg.Overruled = func(name string) string {
			if name == "serverWorkerThreads" {
				return ""
			}
			return "no file"
		}
	})
	r.dial().want(protocol.Success, protocol.UpdateNamesrvConfig, nil, []byte("defaultThreadPoolNums=32\nserverChannelMaxIdleTimeSeconds=60\nserverWorkerThreads=9\norderMessageEnable=true")...)
	list, err := r.service.Settings(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []Setting
	for _, s := range list {
		if s.Next != s.Value || s.Note != "" || s.Name == "orderMessageEnable" {
			got = append(got, s)
		}
	}
	want := []Setting{
		{Name: "defaultThreadPoolNums", Value: "16", Next: "16", Note: "no file"},
		{Name: "orderMessageEnable", Value: "true", Next: "true", Shared: true},
		{Name: "serverChannelMaxIdleTimeSeconds", Value: "60", Next: "120", Note: "no file"},
		{Name: "serverWorkerThreads", Value: "8", Next: "9"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
