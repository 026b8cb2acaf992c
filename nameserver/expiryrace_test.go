package nameserver

import (
	"context"
	"net"
	"strconv"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"namesrv/cluster"
	"namesrv/cluster/liveness"
	"namesrv/fsm"
	"namesrv/remoting/protocol"
)

// ledRig is a rig on a group of one, which leads. Its clock never scans by itself.
type ledRig struct {
	*rig
	clock *Clock
	lead  cluster.Leadership
}

func newLedRig(t *testing.T) *ledRig {
	t.Helper()
	tables, sessions := NewTables(), NewSessions()
	r := &ledRig{rig: &rig{t: t, tables: tables, sessions: sessions}}
	r.clock = NewClock(ClockConfig{Interval: time.Hour, Logger: hclog.NewNullLogger()}, tables, sessions)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	leads := make(chan cluster.Leadership, 1)
	node, err := cluster.Open(cluster.Config{
		NodeID: "n1", DataDir: t.TempDir(), Listener: l, Advertise: l.Addr().String(), Single: true,
		Init:    func(map[string]string) []byte { return fsm.EncodeInit(nil, nil) },
		Machine: tables, Renewer: r.clock, Serve: r.clock.Serve,
		Lead:   func(ctx context.Context, lead cluster.Leadership) { leads <- lead; r.clock.Lead(ctx, lead) },
		Fatal:  func(err error) { t.Error(err) },
		Logger: hclog.NewNullLogger(),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := node.Close(); err != nil {
			t.Error(err)
		}
	})
	select {
	case r.lead = <-leads:
	case <-time.After(20 * time.Second):
		t.Fatal("it does not lead")
	}
	r.service = NewService(Config{Logger: hclog.NewNullLogger()}, tables, node, sessions)
	r.serve(t)
	return r
}

// judge waits until a broker has been silent for too long and marks it, as a scan does.
func (r *ledRig) judge(key string) []liveness.Key {
	r.t.Helper()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if table := r.clock.current(); table != nil {
			if marked := table.Mark([]string{key}, r.lead.Node.MemberIDs()); len(marked) > 0 {
				return marked
			}
		}
	}
	r.t.Fatal("it was never silent for too long")
	return nil
}

// TestRegistrationBetweenJudgementAndRemoval promises that a broker which registers after it was judged silent, and
// before that is carried out, stays: the registration is logged, though it changes nothing, and the removal names the
// one before.
func TestRegistrationBetweenJudgementAndRemoval(t *testing.T) {
	const timeout = 300 * time.Millisecond
	b := master("t1", "t2")
	b.extra = fields{"heartbeatTimeoutMillis": strconv.FormatInt(timeout.Milliseconds(), 10)}
	changed := b
	changed.counter++
	for _, tc := range []struct {
		name  string
		delay func(r *ledRig, same *client) // what happens between the two
		stays bool
	}{
		{"nothing", func(*ledRig, *client) {}, false},
		{"the same over its connection", func(_ *ledRig, same *client) { same.register(b) }, true},
		{"the same over a new connection", func(r *ledRig, _ *client) { r.dial().register(b) }, true},
		{"a changed one", func(_ *ledRig, same *client) { same.register(changed) }, true},
		{"a heartbeat", func(_ *ledRig, same *client) {
			same.want(protocol.Success, protocol.BrokerHeartbeat, b.unregister())
		}, false}, // it is told that its version is not known, at its next question, and registers again
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newLedRig(t)
			conn := r.dial()
			conn.register(b)
			marked := r.judge(b.key())
			tc.delay(r, conn)
			r.clock.expire(t.Context(), r.lead, r.clock.current(), marked, nil)
			if stays := r.tables.State().LiveByKey(b.key()) != nil; stays != tc.stays {
				t.Errorf("stays: %v, want %v", stays, tc.stays)
			}
			conn.register(b) // whatever happened, the next registration makes it whole
			if r.tables.State().LiveByKey(b.key()) == nil || r.tables.State().Topic("t2") == nil {
				t.Error("the next registration did not bring it back")
			}
		})
	}
}
