package nameserver

import (
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"namesrv/cluster"
	"namesrv/nameserver/reportpb"
	"namesrv/remoting/protocol"
)

// sessionOf is what this peer reports of a broker; false when it does not name it.
func (r *rig) sessionOf(key string) (reportpb.Report_State, bool) {
	r.t.Helper()
	var report reportpb.Report
	if err := proto.Unmarshal(r.sessions.report(func(string) bool { return true }), &report); err != nil {
		r.t.Fatal(err)
	}
	for _, s := range report.Sessions {
		if string(s.Key) == key {
			return s.State, true
		}
	}
	return 0, false
}

// TestConnectionOfARegistrationWithoutALeader promises that a connection over which a registration was acknowledged
// counts as the broker's, also when no leader could be asked: other peers may have seen the ones before it end, and the
// next leader would remove the broker at once. One over which nothing was acknowledged does not count.
func TestConnectionOfARegistrationWithoutALeader(t *testing.T) {
	b := master("t1", "t2")
	changed := b
	changed.counter++
	for _, tc := range []struct {
		name string
		sent broker
		code protocol.Code
		want reportpb.Report_State
	}{
		{"unchanged", b, protocol.Success, reportpb.Report_OPEN},
		{"changed", changed, protocol.SystemError, reportpb.Report_SILENT},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t)
			r.dial().register(b)
			r.group.set(func(g *fakeGroup) { g.confirm, g.propose = cluster.ErrNoLeader, cluster.ErrNoLeader })
			next := r.dial()
			if res := next.send(tc.sent.request()); res.Code != tc.code {
				t.Fatalf("answered with %d %q, want %d", res.Code, res.Remark, tc.code)
			}
			if got, _ := r.sessionOf(b.key()); got != tc.want {
				t.Errorf("reported as %v, want %v", got, tc.want)
			}
			if tc.want != reportpb.Report_OPEN {
				return
			}
			if res := next.send(changed.request()); res.Code != protocol.SystemError {
				t.Fatalf("a change without a leader is answered with %d %q", res.Code, res.Remark)
			}
			if got, _ := r.sessionOf(b.key()); got != tc.want {
				t.Errorf("reported as %v after a second one that failed, want %v", got, tc.want)
			}
			before := r.group.entries()
			r.group.set(func(g *fakeGroup) { g.confirm, g.propose = nil, nil })
			next.register(b)
			if r.group.entries() == before {
				t.Error("the first registration that a leader heard of began no birth")
			}
			next.Close()
			for end := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
				if got, _ := r.sessionOf(b.key()); got == reportpb.Report_CLOSED {
					break
				}
				if time.Now().After(end) {
					t.Fatal("the end of the connection was not seen")
				}
			}
		})
	}
}
