package admin

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"
	"time"
)

// guard lets only those through who may use the API at all.
func (h *handler) guard(next http.Handler) http.Handler {
	origins := http.NewCrossOriginProtection()
	origins.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.deny(w, r, failure(KindForbidden, "refused: the request comes from a page of another site"))
	}))
	return origins.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !h.authorized(r) {
			w.Header().Set("WWW-Authenticate", "Bearer")
			h.deny(w, r, failure(KindUnauthorized, "the token is missing or wrong"))
			return
		}
		next.ServeHTTP(w, r)
	}))
}

// authorized compares hashes, in constant time, so that neither the token nor its
// length shows in how long an answer takes.
func (h *handler) authorized(r *http.Request) bool {
	if h.Token == "" {
		return true
	}
	given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	want, got := sha256.Sum256([]byte(h.Token)), sha256.Sum256([]byte(given))
	return ok && subtle.ConstantTimeCompare(want[:], got[:]) == 1
}

func (h *handler) deny(w http.ResponseWriter, r *http.Request, why *Error) {
	if r.Method != http.MethodGet {
		h.audit.Info("change denied", "who", r.RemoteAddr, "call", r.Method+" "+r.URL.EscapedPath(), "result", string(why.Kind))
	}
	fail(w, why)
}

// change serves a call that changes something and writes the audit line: who
// asked for what, and what came of it.
func (h *handler) change(what string, do call) http.Handler {
	return h.changeWithin(h.Timeout, what, do)
}

// changeWithin is change for a call that may take longer than others.
func (h *handler) changeWithin(limit time.Duration, what string, do call) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r, noted := withNotes(r)
		answer, err := h.run(w, r, limit, do)
		h.auditLine(what, r, append(*noted, h.resultOf(r.Context(), answer, err)...))
		respond(w, answer, err)
	})
}

func (h *handler) auditLine(what string, r *http.Request, more []any) {
	h.audit.Info(what, append(append([]any{"who", r.RemoteAddr}, target(r)...), more...)...)
}

// resultOf says for the log what came of a change. The index is one at which this
// peer's tables show the change.
func (h *handler) resultOf(ctx context.Context, answer any, err error) []any {
	if err != nil {
		known := asError(err)
		return []any{"result", string(known.Kind), "error", known.Message}
	}
	result := []any{"result", "done"}
	switch done := answer.(type) {
	case countBody:
		result = []any{"topics", done.Count, "result", "done"}
	case Change:
		result = []any{"member", done.Member, "voters", done.VotersAfter, "result", done.Outcome}
	case Restored:
		result = []any{"addresses", done.Addresses, "result", "done"}
	}
	if status, err := h.Cluster.Status(ctx); err == nil {
		result = append(result, "index", status.AppliedIndex)
	}
	return result
}

// notesKey is where a request keeps what its audit line should name beyond the path.
type notesKey struct{}

func withNotes(r *http.Request) (*http.Request, *[]any) {
	noted := new([]any)
	return r.WithContext(context.WithValue(r.Context(), notesKey{}, noted)), noted
}

// note adds key and value pairs to the audit line of a change.
func note(r *http.Request, fields ...any) {
	if noted, ok := r.Context().Value(notesKey{}).(*[]any); ok {
		*noted = append(*noted, fields...)
	}
}

// target names what a change is about, as key and value pairs for the log.
func target(r *http.Request) []any {
	var fields []any
	for _, part := range []struct{ value, logged string }{
		{r.PathValue("ns"), "namespace"}, {r.PathValue("key"), "key"}, {r.PathValue("topic"), "topic"},
		{r.PathValue("name"), "broker"}, {r.PathValue("id"), "id"}, {r.URL.Query().Get("cluster"), "cluster"}, {r.URL.Query().Get("force"), "force"},
		{r.URL.Query().Get("id"), "restore"},
	} {
		if part.value != "" {
			fields = append(fields, part.logged, part.value)
		}
	}
	return fields
}
