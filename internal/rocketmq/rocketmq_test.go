package rocketmq_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"namesrv/internal/rocketmq"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func withDeadline(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// stock starts the Java name server, the one that this package's requests must be right for.
func stock(t *testing.T) *rocketmq.Stock {
	t.Helper()
	if missing := rocketmq.Missing(); missing != "" {
		if os.Getenv("NAMESRV_SYSTEMTEST") == "1" {
			t.Fatal("not installed: " + missing)
		}
		t.Skip("not installed: " + missing)
	}
	s, err := rocketmq.StartStock(withDeadline(t, 20*time.Minute), rocketmq.StockConfig{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Kill)
	return s
}

// TestAgainstStock shows the requests and the real programs to be right with the real name server, in one run of it.
func TestAgainstStock(t *testing.T) {
	s := stock(t)
	ask := func(t *testing.T, f *rocketmq.Frame) *rocketmq.Frame {
		t.Helper()
		answer, err := rocketmq.Ask(withDeadline(t, 5*time.Second), s.Addr, f)
		if err != nil {
			t.Fatal(err)
		}
		return answer
	}
	t.Run("registration", func(t *testing.T) {
		c, err := rocketmq.Dial(withDeadline(t, 5*time.Second), s.Addr)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		for i, compressed := range []bool{false, true} {
			r := rocketmq.Registration{Cluster: "c", Broker: "b", Addr: "10.0.0.1:1091", Topics: []string{"t1", "t2"}, Counter: int64(i), Compressed: compressed}
			answer, err := c.Call(withDeadline(t, 5*time.Second), r.Frame())
			if err != nil || answer.Code != rocketmq.Success {
				t.Fatalf("compressed %v: %+v, %v", compressed, answer, err)
			}
		}
		if route := ask(t, rocketmq.RouteOf("t2", 513)); !strings.Contains(string(route.Body), `"0":"10.0.0.1:1091"`) {
			t.Errorf("route %d %s", route.Code, route.Body)
		}
		if route := ask(t, rocketmq.RouteOf("t3", 513)); route.Code != rocketmq.TopicNotExist {
			t.Errorf("unknown topic: code %d", route.Code)
		}
	})
	t.Run("kv", func(t *testing.T) {
		if a := ask(t, rocketmq.PutKV("n", "k", "v")); a.Code != rocketmq.Success {
			t.Errorf("put: %+v", a)
		}
		if a := ask(t, rocketmq.GetKV("n", "k")); a.Fields["value"] != "v" {
			t.Errorf("get: %+v", a)
		}
		if a := ask(t, rocketmq.GetKV("n", "other")); a.Code != rocketmq.QueryNotFound {
			t.Errorf("get of nothing: %+v", a)
		}
	})
	for _, v := range []rocketmq.Version{rocketmq.V550, rocketmq.V497} {
		t.Run("broker "+string(v), func(t *testing.T) { brokerAtStock(t, s, v) })
	}
}

func brokerAtStock(t *testing.T, s *rocketmq.Stock, v rocketmq.Version) {
	ctx := withDeadline(t, 15*time.Minute)
	b, err := rocketmq.StartBroker(ctx, rocketmq.BrokerConfig{Version: v, Name: "real-" + string(v), NameServers: []string{s.Addr}, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Kill)
	if err := b.AwaitRegistered(ctx, s.Addr); err != nil {
		t.Fatal(err)
	}
	topic := "topic-" + strings.ReplaceAll(string(v), ".", "-")
	if err := rocketmq.CreateTopic(ctx, b.Addr, topic); err != nil {
		t.Fatal(err)
	}
	route, err := rocketmq.Ask(ctx, s.Addr, rocketmq.RouteOf(topic, 513))
	if err != nil || !strings.Contains(string(route.Body), b.Addr) {
		t.Errorf("route of a created topic: %+v, %v", route, err)
	}
	out, err := rocketmq.MQAdmin(ctx, v, "clusterList", "-n", s.Addr)
	if err != nil || !strings.Contains(out, b.Name) {
		t.Errorf("clusterList: %v\n%s", err, out[max(0, len(out)-1000):])
	}
}

func TestConnFailsItsCallsWhenItEnds(t *testing.T) {
	s := stock(t)
	c, err := rocketmq.Dial(withDeadline(t, 5*time.Second), s.Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	s.Stop()
	<-c.Done()
	if _, err := c.Call(withDeadline(t, time.Second), rocketmq.GetKV("n", "k")); err == nil {
		t.Error("a call on an ended connection succeeded")
	}
}
