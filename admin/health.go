package admin

import (
	"io"
	"net/http"
	"strings"
)

// livez answers 200 while the process serves.
func livez(w http.ResponseWriter, _ *http.Request) {
	plain(w, http.StatusOK, "ok")
}

// readyz answers 200 when this peer should get requests, else 503 and the reasons,
// one a line.
func (h *handler) readyz(w http.ResponseWriter, _ *http.Request) {
	if reasons := h.Cluster.NotReady(); len(reasons) > 0 {
		plain(w, http.StatusServiceUnavailable, strings.Join(reasons, "\n"))
		return
	}
	plain(w, http.StatusOK, "ok")
}

func plain(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text+"\n")
}
