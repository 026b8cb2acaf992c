package main

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"namesrv/remoting/protocol"
)

// metrics is one server's registry, and what it counts of requests.
type metrics struct {
	registry *prometheus.Registry
	started  time.Time
	byCode   map[protocol.Code]*requestMetrics
	others   *requestMetrics
}

// requestMetrics are looked up once, since they are counted for every request.
type requestMetrics struct {
	ok   prometheus.Counter
	took prometheus.Observer
	bad  *prometheus.CounterVec
	code string
}

func newMetrics(codes []protocol.Code) *metrics {
	m := &metrics{registry: prometheus.NewRegistry(), started: time.Now(), byCode: make(map[protocol.Code]*requestMetrics)}
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	requests := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "namesrv", Name: "requests_total",
		Help: "Requests of brokers, clients and tools, by request code and response code."}, []string{"code", "result"})
	took := prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: "namesrv", Name: "request_seconds",
		Help: "Time to answer a request, without its wait in a queue.", Buckets: prometheus.ExponentialBuckets(5e-6, 4, 11)}, []string{"code"})
	m.registry.MustRegister(requests, took)
	make := func(code string) *requestMetrics {
		return &requestMetrics{ok: requests.WithLabelValues(code, "0"), took: took.WithLabelValues(code), bad: requests, code: code}
	}
	for _, code := range codes {
		m.byCode[code] = make(strconv.Itoa(int(code)))
	}
	m.others = make("other")
	return m
}

// request is remoting.ServerConfig.OnRequest.
func (m *metrics) request(code, result protocol.Code, took time.Duration) {
	r := m.byCode[code]
	if r == nil {
		r = m.others
	}
	if result == protocol.Success {
		r.ok.Inc()
	} else {
		r.bad.WithLabelValues(r.code, strconv.Itoa(int(result))).Inc()
	}
	r.took.Observe(took.Seconds())
}
