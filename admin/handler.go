package admin

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

const (
	defaultTimeout = 5 * time.Second
	memberTimeout  = 30 * time.Second // of a change of the members: others are asked, a leader may have to hand over first
	maxBody        = 4 << 20          // bytes of a request; a KV value is the longest there is
	maxScrapes     = 4                // of /metrics at a time
)

// Config is what a handler needs.
type Config struct {
	Cluster  Cluster
	Tables   Tables
	Gatherer prometheus.Gatherer // what /metrics shows
	Token    string              // asked for under /v1; "" asks for none
	// Reading makes the context of a read of the tables, which calls unconfirmed when the answer is
	// from the last known state, for want of a leader; nil where that never is.
	Reading func(ctx context.Context, unconfirmed func()) context.Context
	Timeout time.Duration // for each call of the API; 0 means 5 s. Changes of the members and snapshots get more
	// Resolve finds the addresses of a host name; nil asks the system.
	Resolve func(ctx context.Context, host string) ([]netip.Addr, error)
	Logger  hclog.Logger // nil means none; changes are logged under the name "audit"
}

// handler serves the API of one peer.
type handler struct {
	Config
	audit    hclog.Logger
	caughtUp atomic.Bool // this peer was ready once; see nsaddr
}

// NewHandler returns the handler of the whole HTTP port.
func NewHandler(cfg Config) http.Handler {
	if cfg.Timeout == 0 {
		cfg.Timeout = defaultTimeout
	}
	if cfg.Logger == nil {
		cfg.Logger = hclog.NewNullLogger()
	}
	if cfg.Reading == nil {
		cfg.Reading = func(ctx context.Context, _ func()) context.Context { return ctx }
	}
	if cfg.Resolve == nil {
		cfg.Resolve = systemLookUp
	}
	h := &handler{Config: cfg, audit: cfg.Logger.Named("audit")}

	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", livez)
	mux.HandleFunc("GET /readyz", h.readyz)
	mux.Handle("GET /metrics", promhttp.HandlerFor(cfg.Gatherer, promhttp.HandlerOpts{MaxRequestsInFlight: maxScrapes}))
	mux.HandleFunc("GET /rocketmq/{group}", h.nsaddr)
	mux.Handle("/v1/", h.guard(h.api()))
	return mux
}

// api is everything under /v1.
func (h *handler) api() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /v1/members", h.readShared(h.members))
	mux.Handle("POST /v1/members", h.changeWithin(memberTimeout, "join", h.join))
	mux.Handle("DELETE /v1/members/{id}", h.changeWithin(memberTimeout, "remove member", h.remove))
	mux.Handle("POST /v1/leader", h.changeWithin(memberTimeout, "transfer leadership", h.transfer))
	mux.Handle("GET /v1/health", h.read(h.health))
	mux.Handle("GET /v1/status", h.read(h.status))
	mux.Handle("GET /v1/kv", h.read(h.allKV))
	mux.Handle("GET /v1/config", h.readShared(h.settings))
	mux.Handle("PATCH /v1/config", h.change("set config", h.setSettings))
	mux.HandleFunc("GET /v1/snapshot", h.saveSnapshot)
	mux.HandleFunc("PUT /v1/snapshot", h.restoreSnapshot)
	mux.Handle("GET /v1/snapshot/restore", h.read(h.restoreState))
	mux.Handle("GET /v1/kv/{ns}", h.readShared(h.listKV))
	mux.Handle("GET /v1/kv/{ns}/{key}", h.readShared(h.getKV))
	mux.Handle("PUT /v1/kv/{ns}/{key}", h.change("put kv", h.putKV))
	mux.Handle("DELETE /v1/kv/{ns}/{key}", h.change("delete kv", h.deleteKV))
	mux.Handle("GET /v1/topics", h.readShared(h.topics))
	mux.Handle("GET /v1/topics/{topic}/route", h.readShared(h.route))
	mux.Handle("DELETE /v1/topics/{topic}", h.change("delete topic", h.deleteTopic))
	mux.Handle("GET /v1/brokers", h.readShared(h.brokers))
	mux.Handle("POST /v1/brokers/{name}/wipe-write", h.change("wipe write permission", h.wipeWrite))
	mux.Handle("POST /v1/brokers/{name}/add-write", h.change("add write permission", h.addWrite))
	mux.HandleFunc("/v1/", func(w http.ResponseWriter, r *http.Request) {
		fail(w, failure(KindNotFound, "no such call: %s %s", r.Method, r.URL.EscapedPath()))
	})
	return mux
}

// call answers one request of the API with a value to be written as JSON; nil
// means that there is nothing to say.
type call func(r *http.Request) (any, error)

// read serves a call that changes nothing.
func (h *handler) read(do call) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, err := h.run(w, r, h.Timeout, do)
		respond(w, answer, err)
	})
}

// run gives a call its deadline, bounds its body and checks the names it got.
func (h *handler) run(w http.ResponseWriter, r *http.Request, limit time.Duration, do call) (any, error) {
	ctx, cancel := context.WithTimeout(r.Context(), limit)
	defer cancel()
	r = r.WithContext(ctx)
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	for _, name := range []string{"ns", "key", "topic", "name", "id"} {
		if !utf8.ValidString(r.PathValue(name)) {
			return nil, failure(KindBadRequest, "a name in the path is not valid UTF-8")
		}
	}
	return do(r)
}

func respond(w http.ResponseWriter, answer any, err error) {
	switch {
	case err != nil:
		fail(w, asError(err))
	case answer == nil:
		w.WriteHeader(http.StatusNoContent)
	default:
		writeJSON(w, http.StatusOK, answer)
	}
}

func fail(w http.ResponseWriter, err *Error) {
	writeJSON(w, err.Kind.status(), err)
}

// writeJSON writes a value that always encodes. Text that is JSON already goes out
// byte for byte. A caller that went away is no concern of ours.
func writeJSON(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	if encoded, ok := value.(json.RawMessage); ok {
		_, _ = w.Write(append(slices.Clip(encoded), '\n'))
		return
	}
	body := json.NewEncoder(w)
	body.SetEscapeHTML(false)
	_ = body.Encode(value)
}

// decode reads a body that must be exactly one JSON object of the given shape.
func decode(r *http.Request, into any) error {
	body := json.NewDecoder(r.Body)
	body.DisallowUnknownFields()
	if err := body.Decode(into); err != nil {
		return badBody(err)
	}
	if _, err := body.Token(); !errors.Is(err, io.EOF) {
		return failure(KindBadRequest, "the body holds more than one JSON value")
	}
	return nil
}

func badBody(err error) error {
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return err
	}
	return failure(KindBadRequest, "the body is not what this call takes: %v", err)
}
