package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeCluster answers what its fields hold.
type fakeCluster struct {
	members  []Member
	status   Status
	notReady []string
	err      error

	addresses []string
}

func (f *fakeCluster) Members(context.Context) ([]Member, error) { return f.members, f.err }
func (f *fakeCluster) Status(context.Context) (Status, error)    { return f.status, f.err }
func (f *fakeCluster) NotReady() []string                        { return f.notReady }

func (f *fakeCluster) ClientAddresses() []string { return f.addresses }

func (f *fakeCluster) Join(_ context.Context, req JoinRequest) (Change, error) {
	return Change{ID: req.ID, Member: req.ID + "-" + req.Address, Outcome: OutcomeAdded, VotersAfter: 4}, f.err
}

func (f *fakeCluster) Remove(_ context.Context, id string, force bool) (Change, error) {
	return Change{ID: id, Outcome: fmt.Sprint(OutcomeRemoved, force)}, f.err
}

func (f *fakeCluster) Transfer(_ context.Context, id string) (Change, error) {
	return Change{ID: id, Outcome: OutcomeLeads}, f.err
}

// fakeTables keeps KV in memory; with block set every call lasts until its deadline.
type fakeTables struct {
	mu      sync.Mutex // guards the fields below
	kv      map[string]map[string]string
	deleted []string
	brokers []Broker
	route   string
	err     error
	block   bool

	set       map[string]string
	restored  []string
	restoreID string // of the last one
}

func (f *fakeTables) fail(ctx context.Context) error {
	if f.block {
		<-ctx.Done()
		return ctx.Err()
	}
	return f.err
}

func (f *fakeTables) GetKV(ctx context.Context, ns, key string) (string, bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	value, ok := f.kv[ns][key]
	return value, ok, f.fail(ctx)
}

func (f *fakeTables) PutKV(ctx context.Context, ns, key, value string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.fail(ctx); err != nil {
		return err
	}
	if f.kv[ns] == nil {
		f.kv[ns] = make(map[string]string)
	}
	f.kv[ns][key] = value
	return nil
}

func (f *fakeTables) DeleteKV(ctx context.Context, ns, key string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.kv[ns], key)
	return f.fail(ctx)
}

func (f *fakeTables) ListKV(ctx context.Context, ns string) (map[string]string, bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	values, ok := f.kv[ns]
	return values, ok, f.fail(ctx)
}

func (f *fakeTables) Topics(ctx context.Context) ([]string, error) { return nil, f.fail(ctx) }

func (f *fakeTables) Route(ctx context.Context, topic string) (json.RawMessage, bool, error) {
	return json.RawMessage(f.route), f.route != "", f.fail(ctx)
}

func (f *fakeTables) DeleteTopic(ctx context.Context, topic, cluster string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.deleted = append(f.deleted, cluster+"|"+topic)
	return f.fail(ctx)
}

func (f *fakeTables) Brokers(ctx context.Context) ([]Broker, error) { return f.brokers, f.fail(ctx) }

func (f *fakeTables) WipeWrite(ctx context.Context, broker string) (int, error) {
	return len(broker), f.fail(ctx)
}

func (f *fakeTables) AddWrite(ctx context.Context, broker string) (int, error) {
	return -len(broker), f.fail(ctx)
}

func (f *fakeTables) AllKV(ctx context.Context) (map[string]map[string]string, error) {
	return f.kv, f.fail(ctx)
}

func (f *fakeTables) Settings(ctx context.Context) ([]Setting, error) {
	return []Setting{{Name: "a", Value: "1", Next: "2", Shared: true}}, f.fail(ctx)
}

func (f *fakeTables) SetSettings(ctx context.Context, changes map[string]string) error {
	f.set = changes
	return f.fail(ctx)
}

func (f *fakeTables) SaveSnapshot(ctx context.Context) (Snapshot, error) {
	return Snapshot{Index: 7, Data: []byte("tables\x00")}, f.fail(ctx)
}

func (f *fakeTables) RestoreSnapshot(ctx context.Context, id string, data []byte) (int, error) {
	f.restored, f.restoreID = append(f.restored, string(data)), id
	return len(data), f.fail(ctx)
}

func (f *fakeTables) RestoreState(ctx context.Context) (RestoreState, error) {
	return RestoreState{Restored: f.restoreID, Running: "next", Bytes: 5}, f.fail(ctx)
}

// fixture is a served handler with its fakes and its log.
type fixture struct {
	cluster *fakeCluster
	tables  *fakeTables
	url     string
	log     *logText
}

type logText struct {
	mu   sync.Mutex // guards text
	text strings.Builder
}

func (l *logText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// serve starts a handler; change may alter its config first.
func serve(t *testing.T, change func(*Config)) *fixture {
	t.Helper()
	f := &fixture{
		cluster: &fakeCluster{},
		tables:  &fakeTables{kv: make(map[string]map[string]string)},
		log:     &logText{},
	}
	registry := prometheus.NewRegistry()
	gauge := prometheus.NewGauge(prometheus.GaugeOpts{Name: "namesrv_test_gauge", Help: "For this test."})
	registry.MustRegister(gauge)
	cfg := Config{Cluster: f.cluster, Tables: f.tables, Gatherer: registry, Logger: hclog.New(&hclog.LoggerOptions{Output: f.log})}
	if change != nil {
		change(&cfg)
	}
	server := httptest.NewServer(NewHandler(cfg))
	t.Cleanup(server.Close)
	f.url = server.URL
	return f
}

func (f *fixture) client(t *testing.T, token string) *Client {
	t.Helper()
	client, err := NewClient(ClientConfig{URL: f.url, Token: token})
	if err != nil {
		t.Fatalf("NewClient: %v", err)
	}
	return client
}
