package main

import (
	"runtime"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"namesrv/remoting"
	"namesrv/remoting/protocol"
)

const metricsNamespace = "namesrv"

// metrics is one server's registry, and what it counts of connections and
// requests. Nothing is registered anywhere else, so that several servers of one
// process keep theirs apart.
type metrics struct {
	registry *prometheus.Registry
	started  time.Time
	byCode   []*requestMetrics // by request code; nil where it has none of its own
	others   *requestMetrics
	opened   prometheus.Counter
	ended    map[remoting.EventKind]prometheus.Counter
}

// newMetrics makes the metrics of a server that answers the given request codes;
// all other codes are counted together.
func newMetrics(codes []protocol.Code) *metrics {
	m := &metrics{registry: prometheus.NewRegistry(), started: time.Now(), byCode: make([]*requestMetrics, slices.Max(codes)+1)}
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), buildInfo())
	m.countRequests(codes)
	m.countConnections()
	return m
}

func buildInfo() prometheus.Collector {
	info := prometheus.NewGauge(prometheus.GaugeOpts{Namespace: metricsNamespace, Name: "build_info", Help: "Always 1; the labels tell what runs.",
		ConstLabels: prometheus.Labels{"version": programVersion(), "commit": buildSetting("vcs.revision"), "go": runtime.Version()}})
	info.Set(1)
	return info
}

// requestMetrics are those of one request code. Whatever is counted for every
// request is looked up once: a route query takes a few microseconds in all.
type requestMetrics struct {
	code    string
	took    prometheus.Observer
	counts  *prometheus.CounterVec
	results [lowResults]atomic.Pointer[prometheus.Counter] // by response code, once it was given
}

// lowResults bounds the response codes whose counters are kept by number. All of
// a name server's are below it, but for GO_AWAY.
const lowResults = 32

func (m *metrics) countRequests(codes []protocol.Code) {
	counts := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: metricsNamespace, Name: "requests_total",
		Help: "Requests of brokers, clients and tools, by request code and response code."}, []string{"code", "result"})
	took := prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: metricsNamespace, Name: "request_seconds",
		Help: "Time to answer a request, without its wait in a queue.", Buckets: prometheus.ExponentialBuckets(5e-6, 4, 11)}, []string{"code"})
	m.registry.MustRegister(counts, took)
	of := func(code string) *requestMetrics {
		r := &requestMetrics{code: code, counts: counts, took: took.WithLabelValues(code)}
		r.result(protocol.Success) // shown from the start
		return r
	}
	for _, code := range codes {
		m.byCode[code] = of(strconv.Itoa(int(code)))
	}
	m.others = of("other")
}

func (r *requestMetrics) result(code protocol.Code) prometheus.Counter {
	low := code >= 0 && code < lowResults
	if low {
		if known := r.results[code].Load(); known != nil {
			return *known
		}
	}
	c := r.counts.WithLabelValues(r.code, strconv.Itoa(int(code)))
	if low {
		r.results[code].Store(&c)
	}
	return c
}

// request is remoting.ServerConfig.OnRequest.
func (m *metrics) request(code, result protocol.Code, took time.Duration) {
	r := m.others
	if code >= 0 && int(code) < len(m.byCode) && m.byCode[code] != nil {
		r = m.byCode[code]
	}
	r.result(result).Inc()
	r.took.Observe(took.Seconds())
}

func (m *metrics) countConnections() {
	m.opened = prometheus.NewCounter(prometheus.CounterOpts{Namespace: metricsNamespace, Name: "connections_opened_total",
		Help: "Connections that came to the client port and, where it asks for that, were done with TLS."})
	ended := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: metricsNamespace, Name: "connections_ended_total",
		Help: "Connections to the client port that ended: closed by either side, errored, idle for too long, stopped with this server."}, []string{"how"})
	m.registry.MustRegister(m.opened, ended)
	m.ended = make(map[remoting.EventKind]prometheus.Counter)
	for _, kind := range []remoting.EventKind{remoting.Closed, remoting.Errored, remoting.Idle, remoting.Stopped} {
		m.ended[kind] = ended.WithLabelValues(kind.String())
	}
}

// event counts what remoting.ServerConfig.OnEvent tells.
func (m *metrics) event(kind remoting.EventKind) {
	if kind == remoting.Connected {
		m.opened.Inc()
		return
	}
	m.ended[kind].Inc()
}

// watch shows how busy a server and its pools are.
func (m *metrics) watch(server *remoting.Server, pools ...*remoting.Pool) {
	gauge := func(name, help string, labels prometheus.Labels, value func() int) {
		m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: metricsNamespace, Name: name, Help: help, ConstLabels: labels},
			func() float64 { return float64(value()) }))
	}
	gauge("connections", "Open connections to the client port.", nil, server.Conns)
	for _, pool := range pools {
		labels := prometheus.Labels{"pool": pool.Name()}
		gauge("pool_busy", "Requests that a pool works on.", labels, pool.Busy)
		gauge("pool_queued", "Requests that wait in a pool's queue.", labels, pool.Queued)
	}
}
