package systemtest_test

import (
	"strings"
	"testing"
	"time"

	"namesrv/internal/rocketmq"
)

// TestSingleServer promises that a server alone serves a real broker and mqadmin, and that it prints the line that
// scripts around a name server wait for, byte for byte.
func TestSingleServer(t *testing.T) {
	withJVMs(t)
	needJava(t, rocketmq.V550)
	n := startNode(t, "n1")
	want := "The Name Server boot success. serializeType=JSON, address " + n.Client + "\n"
	if out := n.Process().Stdout(); !strings.Contains(out, want) {
		t.Errorf("standard output lacks %q:\n%s", want, out)
	}
	b := startBroker(t, rocketmq.BrokerConfig{Name: "broker-a", NameServers: []string{n.Client}})
	if err := b.AwaitRegistered(within(t, 30*time.Second), n.Client); err != nil {
		t.Fatal(err)
	}
	out := mqadmin(t, rocketmq.V550, "clusterList", "-n", n.Client)
	if !strings.Contains(out, "broker-a") || !strings.Contains(out, b.Addr) {
		t.Errorf("mqadmin clusterList lacks the broker:\n%s", out)
	}

	b.Stop()
	eventually(t, 5*time.Second, "a stopped broker is gone", func() error {
		return lacks(ask(t, n.Client, &rocketmq.Frame{Code: rocketmq.CodeClusterInfo}).Body, b.Addr)
	})
}

// TestSingleServerKeepsItsState promises that what was acknowledged is there after kill -9.
func TestSingleServerKeepsItsState(t *testing.T) {
	n := startNode(t, "n1")
	if a := ask(t, n.Client, rocketmq.PutKV("ns", "key", "value")); a.Code != rocketmq.Success {
		t.Fatalf("put: code %d: %s", a.Code, a.Remark)
	}
	r := rocketmq.Registration{Cluster: "c", Broker: "b", Addr: "10.1.1.1:10911", Topics: []string{"t1", "t2"}}
	c := dial(t, n.Client)
	if a, err := c.Call(within(t, 10*time.Second), r.Frame()); err != nil || a.Code != rocketmq.Success {
		t.Fatalf("register: %+v, %v", a, err)
	}
	n.Kill()
	if err := n.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if a := ask(t, n.Client, rocketmq.GetKV("ns", "key")); a.Fields["value"] != "value" {
		t.Errorf("value after the restart: %+v", a)
	}
	if a := ask(t, n.Client, rocketmq.RouteOf("t1", 513)); has(a.Body, r.Addr) != nil {
		t.Errorf("route after the restart: %d %s", a.Code, a.Body)
	}
}
