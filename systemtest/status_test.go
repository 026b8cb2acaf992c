package systemtest_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"namesrv/internal/rocketmq"
)

// TestStatusShowsBrokersAndConnections promises that /v1/status tells what each peer of a group has: all brokers, and of
// them those that are connected to this very one.
func TestStatusShowsBrokersAndConnections(t *testing.T) {
	c := startCluster(t)
	for i := range 2 { // both at the first peer, and at no other
		r := rocketmq.Registration{Cluster: "c", Broker: fmt.Sprint("b", i), Addr: fmt.Sprintf("10.1.1.%d:10911", i), Topics: []string{"t1", "t2"}}
		if a, err := dial(t, c.Nodes[0].Client).Call(within(t, 10*time.Second), r.Frame()); err != nil || a.Code != rocketmq.Success {
			t.Fatalf("register: %+v, %v", a, err)
		}
	}
	type status struct {
		Formed      bool `json:"formed"`
		Ready       bool `json:"ready"`
		Topics      int  `json:"topics"`
		Brokers     int  `json:"broker_addresses"`
		Sessions    int  `json:"broker_sessions"`
		Connections int  `json:"connections"`
	}
	for i, n := range c.Nodes {
		want := status{Formed: true, Ready: true, Topics: 2, Brokers: 2}
		if i == 0 {
			want.Sessions, want.Connections = 2, 2
		}
		eventually(t, 10*time.Second, "the status of "+n.ID, func() error {
			resp, err := http.Get("http://" + n.Admin + "/v1/status")
			if err != nil {
				return err
			}
			defer resp.Body.Close()
			var got status
			if err := json.NewDecoder(resp.Body).Decode(&got); err != nil {
				return err
			}
			if got != want {
				return fmt.Errorf("got %+v, want %+v", got, want)
			}
			return nil
		})
	}
}
