package admin

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	snapshotTimeout = 5 * time.Minute
	maxSnapshot     = 1 << 30 // bytes
)

// Headers of a saved snapshot.
const (
	headerCluster = "Namesrv-Cluster"
	headerIndex   = "Namesrv-Index"
)

// Snapshot is a consistent copy of the tables, in the form that the server keeps
// them in; it carries its own checksum.
type Snapshot struct {
	Cluster string // UUID
	Index   uint64 // a log index that it shows at least
	Data    []byte
}

// Restored is what a restore led to.
type Restored struct {
	ID        string `json:"id"`        // of the restore; see RestoreState
	Addresses int    `json:"addresses"` // of brokers, that the restored tables hold
}

// RestoreState tells what became of restores. One that is neither Restored nor
// Running did not take effect, unless another one has since.
type RestoreState struct {
	Restored string `json:"restored"` // id of the one that took effect last, "" when none did
	Running  string `json:"running"`  // id of the one under way, "" when none is
	Bytes    uint64 `json:"bytes"`    // that have arrived of the one under way, compressed
}

// maxRestoreID bounds the id that a caller gives to a restore, in bytes.
const maxRestoreID = 64

// Setting is one setting as a peer uses it.
type Setting struct {
	Name   string `json:"name"`
	Value  string `json:"value"`         // in force
	Next   string `json:"after_restart"` // in force after the peer's next start; most often the same
	Shared bool   `json:"shared"`        // by all peers: a change of it reaches them all
	Note   string `json:"note"`          // why a change that was kept will not hold after that start; most often ""
}

func (h *handler) allKV(r *http.Request) (any, error) {
	return h.Tables.AllKV(r.Context())
}

func (h *handler) settings(r *http.Request) (any, error) {
	list, err := h.Tables.Settings(r.Context())
	return orEmpty(list), err
}

func (h *handler) setSettings(r *http.Request) (any, error) {
	var changes map[string]string
	if err := decode(r, &changes); err != nil {
		return nil, err
	}
	if len(changes) == 0 {
		return nil, failure(KindBadRequest, "the body names no setting")
	}
	note(r, "settings", strings.Join(slices.Sorted(maps.Keys(changes)), ","))
	return nil, h.Tables.SetSettings(r.Context(), changes)
}

// saveSnapshot serves a copy of the tables. It is no JSON.
func (h *handler) saveSnapshot(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := unhurried(w, r)
	defer cancel()
	snapshot, err := h.Tables.SaveSnapshot(ctx)
	var status Status
	if err == nil {
		status, err = h.Cluster.Status(ctx)
	}
	h.auditLine("save snapshot", r, append([]any{"saved_index", snapshot.Index}, h.resultOf(ctx, nil, err)...))
	if err != nil {
		fail(w, asError(err))
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Length", strconv.Itoa(len(snapshot.Data))) // so that one that was cut is noticed
	w.Header().Set(headerCluster, status.Cluster)
	w.Header().Set(headerIndex, strconv.FormatUint(snapshot.Index, 10))
	_, _ = w.Write(snapshot.Data) // a caller that went away is no concern of ours
}

// restoreSnapshot replaces the tables. A snapshot of another cluster needs force.
func (h *handler) restoreSnapshot(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := unhurried(w, r)
	defer cancel()
	restored, err := h.restore(ctx, http.MaxBytesReader(w, r.Body, maxSnapshot), r)
	h.auditLine("restore snapshot", r, h.resultOf(ctx, restored, err))
	respond(w, restored, err)
}

func (h *handler) restore(ctx context.Context, body io.Reader, r *http.Request) (Restored, error) {
	force, err := flagOf(r, "force")
	if err != nil {
		return Restored{}, err
	}
	status, err := h.Cluster.Status(ctx)
	if err != nil {
		return Restored{}, err
	}
	if from := r.URL.Query().Get("cluster"); from != status.Cluster && !force {
		return Restored{}, failure(KindRefused, "refused: the snapshot is of cluster %q, this one is %q: --force restores it all the same", from, status.Cluster)
	}
	id, err := restoreID(r)
	if err != nil {
		return Restored{}, err
	}
	data, err := io.ReadAll(body)
	if err != nil {
		return Restored{}, badBody(err)
	}
	addresses, err := h.Tables.RestoreSnapshot(ctx, id, data)
	return Restored{ID: id, Addresses: addresses}, err
}

// restoreID is the name that the caller gave to the restore, or a new one.
func restoreID(r *http.Request) (string, error) {
	id := r.URL.Query().Get("id")
	switch {
	case id == "":
		return rand.Text(), nil
	case len(id) > maxRestoreID || strings.ContainsFunc(id, func(c rune) bool { return c <= ' ' || c > '~' }):
		return "", failure(KindBadRequest, "the id of a restore has at most %d visible ASCII characters", maxRestoreID)
	}
	return id, nil
}

func (h *handler) restoreState(r *http.Request) (any, error) {
	return h.Tables.RestoreState(r.Context())
}

// unhurried gives a call the time that a large body takes, on both sides of the
// connection.
func unhurried(w http.ResponseWriter, r *http.Request) (context.Context, context.CancelFunc) {
	end := time.Now().Add(snapshotTimeout)
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(end) // not every writer of a test can
	_ = control.SetWriteDeadline(end)
	return context.WithDeadline(r.Context(), end)
}

// AllKV returns the KV table of every namespace.
func (c *Client) AllKV(ctx context.Context) (map[string]map[string]string, error) {
	return get[map[string]map[string]string](ctx, c, "kv")
}

// Settings returns the settings that the peer uses, by name, without secrets.
func (c *Client) Settings(ctx context.Context) ([]Setting, error) {
	return get[[]Setting](ctx, c, "config")
}

// SetSettings changes settings: all of them or none. Those that are not shared
// change at the peer that is asked only.
func (c *Client) SetSettings(ctx context.Context, changes map[string]string) error {
	return c.call(ctx, request{method: http.MethodPatch, path: path("config"), body: changes}, nil)
}

// SaveSnapshot fetches a consistent copy of the tables.
func (c *Client) SaveSnapshot(ctx context.Context) (Snapshot, error) {
	answer, err := c.send(ctx, request{method: http.MethodGet, path: path("snapshot")})
	if err != nil {
		return Snapshot{}, err
	}
	defer answer.Body.Close()
	data, err := c.readUpTo(ctx, answer, maxSnapshot)
	if err != nil {
		return Snapshot{}, err
	}
	if answer.StatusCode != http.StatusOK {
		return Snapshot{}, c.answeredError(answer.StatusCode, data)
	}
	index, err := strconv.ParseUint(answer.Header.Get(headerIndex), 10, 64)
	if err != nil {
		return Snapshot{}, fmt.Errorf("%s answered without %s: is this the HTTP port of a namesrv?", c.base, headerIndex)
	}
	return Snapshot{Cluster: answer.Header.Get(headerCluster), Index: index, Data: data}, nil
}

// RestoreSnapshot replaces the tables of the group by saved ones. Those of another
// cluster need force. The id must be another one each time. When the error is neither
// ErrNotTaken nor of a kind that says that nothing was changed, RestoreState of any
// peer tells what became of it.
func (c *Client) RestoreSnapshot(ctx context.Context, id string, snapshot Snapshot, force bool) (Restored, error) {
	query := url.Values{"id": {id}, "cluster": {snapshot.Cluster}, "force": {strconv.FormatBool(force)}}
	var restored Restored
	data := newUpload(snapshot.Data)
	err := c.call(ctx, request{method: http.MethodPut, path: path("snapshot") + "?" + query.Encode(), upload: data}, &restored)
	var answered *Error
	if whole := data.end(); err != nil && !whole && ctx.Err() == nil && !errors.As(err, &answered) {
		err = notTaken{err}
	}
	return restored, err
}

// RestoreState tells what became of restores.
func (c *Client) RestoreState(ctx context.Context) (RestoreState, error) {
	return get[RestoreState](ctx, c, "snapshot", "restore")
}
