package admin

import (
	"context"
	"encoding/json"
	"net/http"
	"sync/atomic"
)

// headerUnconfirmed stands in the answer to a read that no leader confirmed: it is from
// the last state that the peer knew, and may be old.
const headerUnconfirmed = "Namesrv-Unconfirmed"

// readShared is read for what is the same at all peers, and may be newer at others.
func (h *handler) readShared(do call) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var old atomic.Bool
		r = r.WithContext(h.Reading(r.Context(), func() { old.Store(true) }))
		answer, err := h.run(w, r, h.Timeout, do)
		if err == nil && (old.Load() || h.leaderless(r.Context())) {
			w.Header().Set(headerUnconfirmed, "true")
		}
		respond(w, answer, err)
	})
}

// leaderless tells it also of peers that are set to answer without asking.
func (h *handler) leaderless(ctx context.Context) bool {
	status, err := h.Cluster.Status(ctx)
	return err != nil || status.Leader == ""
}

// MarshalJSON writes null for what is not known of a member that cannot be reached. Who
// reads it into a Member gets 0.
func (m Member) MarshalJSON() ([]byte, error) {
	type plain Member
	shown := struct {
		plain
		LastIndex *uint64 `json:"last_index"`
		Lag       *uint64 `json:"lag"`
	}{plain: plain(m)}
	if m.Reachable {
		shown.LastIndex, shown.Lag = &m.LastIndex, &m.Lag
	}
	return json.Marshal(shown)
}
