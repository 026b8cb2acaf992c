package admin

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"
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
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, err := h.run(w, r, do)
		fields := append([]any{"who", r.RemoteAddr}, target(r)...)
		if counted, ok := answer.(countBody); ok && err == nil {
			fields = append(fields, "topics", counted.Count)
		}
		if err != nil {
			known := asError(err)
			fields = append(fields, "result", string(known.Kind), "error", known.Message)
		} else {
			fields = append(fields, "result", "done")
		}
		h.audit.Info(what, fields...)
		respond(w, answer, err)
	})
}

// target names what a change is about, as key and value pairs for the log.
func target(r *http.Request) []any {
	var fields []any
	for _, part := range []struct{ value, logged string }{
		{r.PathValue("ns"), "namespace"}, {r.PathValue("key"), "key"}, {r.PathValue("topic"), "topic"},
		{r.PathValue("name"), "broker"}, {r.URL.Query().Get("cluster"), "cluster"},
	} {
		if part.value != "" {
			fields = append(fields, part.logged, part.value)
		}
	}
	return fields
}
