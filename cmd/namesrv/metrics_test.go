package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"namesrv/remoting"
	"namesrv/remoting/protocol"
)

// counted returns the counters of a registry as NAME LABEL… to value, without those
// that are zero; a histogram's value is how many it measured.
func counted(t *testing.T, m *metrics) map[string]float64 {
	t.Helper()
	families, err := m.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	values := make(map[string]float64)
	for _, family := range families {
		for _, sample := range family.Metric {
			name := family.GetName()
			for _, label := range sample.Label {
				name += " " + label.GetValue()
			}
			if v := sample.GetCounter().GetValue() + float64(sample.GetHistogram().GetSampleCount()); v != 0 && name[:8] == "namesrv_" {
				values[name] = v
			}
		}
	}
	return values
}

func TestMetricsCountRequestsAndConnections(t *testing.T) {
	m, other := newMetrics([]protocol.Code{protocol.GetRouteInfoByTopic, protocol.PutKVConfig}), newMetrics([]protocol.Code{protocol.PutKVConfig})
	for _, r := range []struct{ code, result protocol.Code }{
		{protocol.GetRouteInfoByTopic, protocol.Success},
		{protocol.GetRouteInfoByTopic, protocol.Success},
		{protocol.GetRouteInfoByTopic, protocol.TopicNotExist},
		{protocol.GetRouteInfoByTopic, protocol.TopicNotExist},
		{protocol.PutKVConfig, protocol.GoAway},
		{protocol.PutKVConfig, -7},
		{4711, protocol.RequestCodeNotSupported},
		{101, protocol.RequestCodeNotSupported},
		{-1, protocol.RequestCodeNotSupported},
	} {
		m.request(r.code, r.result, time.Millisecond)
	}
	for _, kind := range []remoting.EventKind{remoting.Connected, remoting.Connected, remoting.Closed, remoting.Idle} {
		m.event(kind)
	}
	want := map[string]float64{
		"namesrv_requests_total 105 0": 2, "namesrv_requests_total 105 17": 2, "namesrv_request_seconds 105": 4,
		"namesrv_requests_total 100 1500": 1, "namesrv_requests_total 100 -7": 1, "namesrv_request_seconds 100": 2,
		"namesrv_requests_total other 3": 3, "namesrv_request_seconds other": 3,
		"namesrv_connections_opened_total": 2, "namesrv_connections_ended_total closed": 1, "namesrv_connections_ended_total idle": 1,
	}
	if diff := cmp.Diff(want, counted(t, m)); diff != "" {
		t.Error(diff)
	}
	if got := counted(t, other); len(got) != 0 {
		t.Errorf("another server's metrics: %v", got)
	}
}

// TestCountingARequestAllocatesNothing holds what is done for each route query.
func TestCountingARequestAllocatesNothing(t *testing.T) {
	m := newMetrics([]protocol.Code{protocol.GetRouteInfoByTopic})
	m.request(protocol.GetRouteInfoByTopic, protocol.TopicNotExist, time.Microsecond)
	for _, result := range []protocol.Code{protocol.Success, protocol.TopicNotExist} {
		if n := testing.AllocsPerRun(100, func() { m.request(protocol.GetRouteInfoByTopic, result, time.Microsecond) }); n != 0 {
			t.Errorf("result %v: %v allocations", result, n)
		}
	}
}

func BenchmarkCountRequest(b *testing.B) {
	m := newMetrics([]protocol.Code{protocol.GetRouteInfoByTopic, protocol.BrokerHeartbeat})
	for _, result := range []protocol.Code{protocol.Success, protocol.TopicNotExist} {
		b.Run(result.String(), func(b *testing.B) {
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					m.request(protocol.GetRouteInfoByTopic, result, 4*time.Microsecond)
				}
			})
		})
	}
}
