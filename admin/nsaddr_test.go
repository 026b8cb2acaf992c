package admin

import "testing"

// TestAddressServerAfterAStart promises that a peer names no members before it has caught up, since they may be gone for
// long, and goes on naming those it knows when its leader is lost later.
func TestAddressServerAfterAStart(t *testing.T) {
	f := serve(t, nil)
	f.cluster.addresses = []string{"10.0.0.1:9876"}
	steps := []struct {
		name     string
		notReady []string
		status   int
	}{
		{"started", []string{"not caught up with a leader"}, 503},
		{"caught up", nil, 200},
		{"leader lost", []string{"not caught up with a leader"}, 200},
	}
	for _, step := range steps {
		f.cluster.notReady = step.notReady
		if status, text := send(t, "GET", f.url+"/rocketmq/nsaddr", "", nil); status != step.status {
			t.Errorf("%s: answered %d %q, want %d", step.name, status, text, step.status)
		}
	}
}
