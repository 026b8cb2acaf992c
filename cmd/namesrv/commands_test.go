package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"namesrv/admin"
)

// fakePeer is a served API whose tables hold one of each.
type fakePeer struct {
	kv       map[string]map[string]string
	notReady []string
	err      error
	block    bool

	unconfirmed bool // what is read of the tables

	joined   string         // node that was admitted; it is a voter the next time the members are listed
	slowVote bool           // it is not
	members  []admin.Member // what Members says, where it is not the usual three
	uuid     string         // what Status says

	set                map[string]string
	snapshot, restored []byte
	restoreID          string // of the last restore
	leader             string // what Status says
}

// reading lets a peer answer from the last known state.
func (p *fakePeer) reading(ctx context.Context, unconfirmed func()) context.Context {
	if p.unconfirmed {
		unconfirmed()
	}
	return ctx
}

func (p *fakePeer) fail(ctx context.Context) error {
	if p.block {
		<-ctx.Done()
		return ctx.Err()
	}
	return p.err
}

func (p *fakePeer) NotReady() []string { return p.notReady }

func (p *fakePeer) ClientAddresses() []string { return nil }

func (p *fakePeer) Join(ctx context.Context, req admin.JoinRequest) (admin.Change, error) {
	p.joined = req.ID
	return admin.Change{ID: req.ID, Member: req.ID + "-6c", Outcome: admin.OutcomeAdded, VotersBefore: 3, VotersAfter: 4, MajorityBefore: 2, MajorityAfter: 3,
		Warnings: []string{"Four is even."}}, p.fail(ctx)
}

func (p *fakePeer) Remove(ctx context.Context, id string, force bool) (admin.Change, error) {
	return admin.Change{ID: id, Member: id + "-3f", Outcome: admin.OutcomeRemoved, VotersBefore: 3, VotersAfter: 2, MajorityBefore: 2, MajorityAfter: 2, Reachable: 2}, p.fail(ctx)
}

func (p *fakePeer) Transfer(ctx context.Context, id string) (admin.Change, error) {
	return admin.Change{ID: id, Outcome: admin.OutcomeLeads}, p.fail(ctx)
}

func (p *fakePeer) Members(ctx context.Context) ([]admin.Member, error) {
	if p.joined != "" {
		return []admin.Member{{ID: p.joined, Member: p.joined + "-6c", Voter: !p.slowVote, Reachable: true}}, p.fail(ctx)
	}
	if p.members != nil {
		return p.members, p.fail(ctx)
	}
	return []admin.Member{
		{ID: "n1", Member: "n1-3f", Peer: "ns1:9875", Client: "ns1:9876", Voter: true, Leader: true, Reachable: true, LastIndex: 9},
		{ID: "n2", Member: "n2-4a", Peer: "ns2:9875", Voter: true, LastIndex: 7, Lag: 2},
		{ID: "n3", Member: "n3-5b", Peer: "ns3:9875"},
	}, p.fail(ctx)
}

func (p *fakePeer) Status(context.Context) (admin.Status, error) {
	return admin.Status{ID: "n1", State: "follower", Term: 3, Leader: p.leader, Cluster: p.uuid, Started: time.Unix(1700000000, 0).UTC()}, nil
}

func (p *fakePeer) GetKV(ctx context.Context, ns, key string) (string, bool, error) {
	value, ok := p.kv[ns][key]
	return value, ok, p.fail(ctx)
}

func (p *fakePeer) PutKV(ctx context.Context, ns, key, value string) error {
	if err := p.fail(ctx); err != nil {
		return err
	}
	if p.kv[ns] == nil {
		p.kv[ns] = make(map[string]string)
	}
	p.kv[ns][key] = value
	return nil
}

func (p *fakePeer) DeleteKV(ctx context.Context, ns, key string) error {
	delete(p.kv[ns], key)
	return p.fail(ctx)
}

func (p *fakePeer) ListKV(ctx context.Context, ns string) (map[string]string, bool, error) {
	values, ok := p.kv[ns]
	return values, ok, p.fail(ctx)
}

func (p *fakePeer) Topics(ctx context.Context) ([]string, error) {
	return []string{"TopicA", "bad\x1b[2Jname"}, p.fail(ctx)
}

func (p *fakePeer) Route(ctx context.Context, topic string) (json.RawMessage, bool, error) {
	return json.RawMessage(`{"brokerDatas":[{"brokerAddrs":{"10":"h:3","2":"h:2","0":"h:1"},"brokerName":"broker-a","cluster":"C"}],` +
		`"queueDatas":[{"brokerName":"broker-a","perm":4,"readQueueNums":8,"writeQueueNums":6,"topicSysFlag":0}]}`), topic == "%RETRY%g/中", p.fail(ctx)
}

func (p *fakePeer) DeleteTopic(ctx context.Context, topic, cluster string) error {
	p.kv["deleted"] = map[string]string{topic: cluster}
	return p.fail(ctx)
}

func (p *fakePeer) Brokers(ctx context.Context) ([]admin.Broker, error) {
	return []admin.Broker{{Name: "broker-a", Cluster: "C", Address: "h:1", TimeoutMS: 120000, Registered: 42}}, p.fail(ctx)
}

func (p *fakePeer) WipeWrite(ctx context.Context, _ string) (int, error) { return 3, p.fail(ctx) }
func (p *fakePeer) AddWrite(ctx context.Context, _ string) (int, error)  { return 4, p.fail(ctx) }

func (p *fakePeer) AllKV(ctx context.Context) (map[string]map[string]string, error) {
	return p.kv, p.fail(ctx)
}

func (p *fakePeer) Settings(ctx context.Context) ([]admin.Setting, error) {
	list := []admin.Setting{{Name: "listenPort", Value: "9876", Next: "9876"}, {Name: "orderMessageEnable", Value: "true", Next: "true", Shared: true},
		{Name: "productEnvName", Value: "center", Next: "center"}}
	for i := range list {
		if value, set := p.set[list[i].Name]; set {
			list[i].Next = value
			if list[i].Shared {
				list[i].Value = value
			}
		}
	}
	return list, p.fail(ctx)
}

func (p *fakePeer) SetSettings(ctx context.Context, changes map[string]string) error {
	p.set = changes
	return p.fail(ctx)
}

func (p *fakePeer) SaveSnapshot(ctx context.Context) (admin.Snapshot, error) {
	return admin.Snapshot{Index: 42, Data: p.snapshot}, p.fail(ctx)
}

func (p *fakePeer) RestoreSnapshot(ctx context.Context, id string, data []byte) (int, error) {
	p.restored, p.restoreID = data, id
	return 1, p.fail(ctx)
}

func (p *fakePeer) RestoreState(ctx context.Context) (admin.RestoreState, error) {
	return admin.RestoreState{Restored: p.restoreID, Running: "r2", Bytes: 7}, p.fail(ctx)
}

// servePeer starts a peer that asks for token, and points every command at it.
func servePeer(t *testing.T, token string) *fakePeer {
	t.Helper()
	p := &fakePeer{leader: "n1", kv: map[string]map[string]string{"NS": {"k": "v", "a": "1"}}}
	server := httptest.NewServer(admin.NewHandler(admin.Config{Cluster: p, Tables: p, Reading: p.reading, Gatherer: prometheus.NewRegistry(), Token: token}))
	t.Cleanup(server.Close)
	t.Setenv("NAMESRV_ADMIN", server.URL)
	return p
}

func TestCommandsPrint(t *testing.T) {
	tests := []struct {
		name string
		args []string
		want string // "" where only json is compared
		json string // of the same with -o json
	}{
		{
			name: "members", args: []string{"cluster", "members"},
			want: "ID  ROLE       REACHABLE  LAST INDEX  LAG  PEER      CLIENT    ADMIN  VERSION\n" +
				"n1  leader     yes        9           0    ns1:9875  ns1:9876  -      -\n" +
				"n2  voter      no         -           -    ns2:9875  -         -      -\n" +
				"n3  non-voter  no         -           -    ns3:9875  -         -      -\n",
		},
		{name: "kv get", args: []string{"kv", "get", "NS", "k"}, want: "v\n", json: `{"namespace":"NS","key":"k","value":"v"}`},
		{name: "kv list", args: []string{"kv", "list", "NS"}, want: "KEY  VALUE\na    1\nk    v\n", json: `{"a":"1","k":"v"}`},
		{name: "topic list", args: []string{"topic", "list"}, want: "TopicA\n\"bad\\x1b[2Jname\"\n", json: `["TopicA","bad\u001b[2Jname"]`},
		{
			name: "topic route", args: []string{"topic", "route", "%RETRY%g/中"},
			want: "BROKER    READ QUEUES  WRITE QUEUES  PERMISSION\nbroker-a  8            6             R-\n\n" +
				"BROKER    CLUSTER  ID  ADDRESS\nbroker-a  C        0   h:1\nbroker-a  C        2   h:2\nbroker-a  C        10  h:3\n",
			json: `{"brokerDatas":[{"brokerAddrs":{"10":"h:3","2":"h:2","0":"h:1"},"brokerName":"broker-a","cluster":"C"}],` +
				`"queueDatas":[{"brokerName":"broker-a","perm":4,"readQueueNums":8,"writeQueueNums":6,"topicSysFlag":0}]}`,
		},
		{
			name: "broker list", args: []string{"broker", "list"},
			want: "CLUSTER  BROKER    ID  ADDRESS  ZONE  ACTING MASTER  TIMEOUT  REGISTERED\n" +
				"C        broker-a  0   h:1      -     no             2m0s     42\n",
			json: `[{"name":"broker-a","cluster":"C","zone":"","acting_master":false,"id":0,"address":"h:1","timeout_ms":120000,` +
				`"data_version":{"state_version":0,"timestamp":0,"counter":0},"registered":42}]`,
		},
		{name: "wipe-write", args: []string{"broker", "wipe-write", "b"}, want: "changed 3 topics of b\n", json: `{"broker":"b","count":3}`},
		{name: "add-write", args: []string{"broker", "add-write", "b"}, want: "changed 4 topics of b\n", json: `{"broker":"b","count":4}`},
		{name: "topic delete", args: []string{"topic", "delete", "T", "--cluster", "C"}, want: "deleted T\n", json: `{"topic":"T","cluster":"C","deleted":true}`},
		{name: "kv put", args: []string{"kv", "put", "N/S", "k", ""}, want: "stored k in N/S\n", json: `{"namespace":"N/S","key":"k","value":""}`},
		{name: "kv delete", args: []string{"kv", "delete", "NS", "k"}, want: "deleted k from NS\n", json: `{"namespace":"NS","key":"k","deleted":true}`},
	}
	servePeer(t, "")
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			got := runProgram(t, tc.args...)
			if diff := cmp.Diff(result{stdout: tc.want}, got, cmp.AllowUnexported(result{})); diff != "" {
				t.Errorf("table (-want +got):\n%s", diff)
			}
			if tc.json == "" {
				return
			}
			got = runProgram(t, append(tc.args, "-o", "json")...)
			if diff := cmp.Diff(decoded(t, tc.json), decoded(t, got.stdout)); got.code != exitDone || diff != "" {
				t.Errorf("json, exit code %d (-want +got):\n%s", got.code, diff)
			}
		})
	}
}

func decoded(t *testing.T, text string) any {
	t.Helper()
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatalf("not JSON (%v): %s", err, text)
	}
	return value
}

func TestMembersInJSON(t *testing.T) {
	servePeer(t, "")
	got := runProgram(t, "cluster", "members", "-o", "json")
	members, ok := decoded(t, got.stdout).([]any)
	if !ok || len(members) != 3 {
		t.Fatalf("not three members: %s", got.stdout)
	}
	var first []string
	for name := range members[0].(map[string]any) {
		first = append(first, name)
	}
	for _, name := range []string{"id", "member", "peer", "client", "admin", "voter", "leader", "reachable", "last_index", "lag", "version"} {
		if !strings.Contains(" "+strings.Join(first, " ")+" ", " "+name+" ") {
			t.Errorf("members lack %q", name)
		}
	}
}

// TestUnconfirmedReadsSaySo promises that what is read without a leader is not taken for certain. What says itself that
// there is none, and what changes something, is not warned of.
func TestUnconfirmedReadsSaySo(t *testing.T) {
	reads := []string{"topic list", "topic route %RETRY%g/中", "broker list", "kv get NS k", "kv list NS", "config get", "config get listenPort", "cluster members"}
	peers := map[string]struct {
		change func(*fakePeer)
		warned []string
	}{
		"confirmed":                {func(*fakePeer) {}, nil},
		"no leader answered":       {func(p *fakePeer) { p.unconfirmed = true }, reads},
		"no leader is known to it": {func(p *fakePeer) { p.leader = "" }, reads},
	}
	for name, tc := range peers {
		t.Run(name, func(t *testing.T) {
			tc.change(servePeer(t, ""))
			for _, command := range append(slices.Clone(reads), "cluster status", "snapshot status", "kv put NS new 1", "topic delete T") {
				got := runProgram(t, append(strings.Fields(command), "-o", "json")...)
				warning := ""
				if slices.Contains(tc.warned, command) {
					warning = unconfirmedWarning
				}
				if got.code != exitDone || got.stderr != warning {
					t.Errorf("%s: exit code %d, stderr %q, want %q", command, got.code, got.stderr, warning)
				}
			}
		})
	}
}

// TestWhatIsNotKnownOfMembers promises null, not a number, for a member that cannot be asked.
func TestWhatIsNotKnownOfMembers(t *testing.T) {
	servePeer(t, "")
	members := decoded(t, runProgram(t, "cluster", "members", "-o", "json").stdout).([]any)
	want := []any{9.0, 0.0, nil, nil, nil, nil}
	var got []any
	for _, m := range members {
		got = append(got, m.(map[string]any)["last_index"], m.(map[string]any)["lag"])
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestStatus(t *testing.T) {
	p := servePeer(t, "")
	p.notReady, p.leader = []string{"no leader", "behind"}, ""
	got := runProgram(t, "cluster", "status")
	for _, line := range []string{"leader         none\n", "ready          no: no leader; behind\n", "started        2023-11-14T22:13:20Z\n"} {
		if !strings.Contains(got.stdout, line) {
			t.Errorf("status lacks %q:\n%s", line, got.stdout)
		}
	}
	status, ok := decoded(t, runProgram(t, "cluster", "status", "-o", "json").stdout).(map[string]any)
	if !ok || status["ready"] != false || status["term"] != 3.0 {
		t.Errorf("status in json: %v", status)
	}
}

// notFound is how a server answers a change of what does not exist.
var notFound = &admin.Error{Kind: admin.KindNotFound, Message: "no such thing: nothing was changed"}

func TestCommandsFail(t *testing.T) {
	tests := []struct {
		name  string
		peer  func(*fakePeer)
		args  []string
		code  int
		parts []string
	}{
		{"no leader", func(p *fakePeer) { p.err = fmt.Errorf("put: %w", admin.ErrNoLeader) }, []string{"kv", "put", "NS", "k", "v"},
			exitNoLeader, []string{"no leader", "namesrv cluster status"}},
		{"time-out here", func(p *fakePeer) { p.block = true }, []string{"kv", "put", "NS", "k", "v", "--timeout", "30ms"},
			exitTimeout, []string{"--timeout", "read it back"}},
		{"time-out there", func(p *fakePeer) { p.err = context.DeadlineExceeded }, []string{"broker", "list"}, exitTimeout, []string{"--timeout"}},
		{"something else", func(p *fakePeer) { p.err = fmt.Errorf("first\nsecond") }, []string{"cluster", "members"}, exitFailed, []string{"first; second"}},
		{"no such key", nil, []string{"kv", "get", "NS", "none"}, exitFailed, []string{`"none"`, "see: namesrv kv list NS"}},
		{"no such key to delete", func(p *fakePeer) { p.err = notFound }, []string{"kv", "delete", "NS", "none"}, exitFailed, []string{"nothing was changed", "see: namesrv kv list NS"}},
		{"no such topic to delete", func(p *fakePeer) { p.err = notFound }, []string{"topic", "delete", "none"}, exitFailed, []string{"nothing was changed", "see: namesrv topic list"}},
		{"no such broker to wipe", func(p *fakePeer) { p.err = notFound }, []string{"broker", "wipe-write", "none"}, exitFailed, []string{"nothing was changed", "see: namesrv broker list"}},
		{"no such broker to add to", func(p *fakePeer) { p.err = notFound }, []string{"broker", "add-write", "none"}, exitFailed, []string{"nothing was changed", "see: namesrv broker list"}},
		{"no such namespace", nil, []string{"kv", "list", "none"}, exitFailed, []string{`no namespace "none"`}},
		{"no such topic", nil, []string{"topic", "route", "none"}, exitFailed, []string{`"none"`, "see: namesrv topic list"}},
		{"no server", nil, []string{"topic", "list", "--admin", "http://127.0.0.1:1"}, exitFailed, []string{"127.0.0.1:1", "is the server running?"}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			p := servePeer(t, "")
			if tc.peer != nil {
				tc.peer(p)
			}
			runProgram(t, tc.args...).oneLine(t, tc.code, tc.parts...)
		})
	}
}

func TestTokenOfACommand(t *testing.T) {
	servePeer(t, "secret")
	runProgram(t, "topic", "list").oneLine(t, exitFailed, "token", "--token-file")
	file := writeFile(t, "secret\n")
	if got := runProgram(t, "topic", "list", "--token-file", file); got.code != exitDone {
		t.Errorf("with the token: %+v", got)
	}
	t.Setenv("NAMESRV_ADMIN_TOKEN_FILE", file)
	if got := runProgram(t, "topic", "list"); got.code != exitDone {
		t.Errorf("with the server's own variable: %+v", got)
	}
}

func TestHealthcheck(t *testing.T) {
	p := servePeer(t, "secret")
	if got := runProgram(t, "healthcheck"); got != (result{}) {
		t.Errorf("a ready peer: %+v", got)
	}
	p.notReady = []string{"no leader", "behind"}
	runProgram(t, "healthcheck").oneLine(t, exitFailed, "not ready: no leader; behind")
	runProgram(t, "healthcheck", "--admin", "127.0.0.1:1").oneLine(t, exitFailed, "127.0.0.1:1")
}

func TestInterrupted(t *testing.T) {
	p := servePeer(t, "")
	p.block = true
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out strings.Builder
	code := run(ctx, []string{"namesrv", "topic", "list"}, strings.NewReader(""), &out, &out)
	if code != exitFailed || !strings.Contains(out.String(), "interrupted") {
		t.Errorf("exit code %d, %s", code, &out)
	}
}
