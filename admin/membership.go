package admin

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
)

// JoinRequest asks for a peer to be made a member.
type JoinRequest struct {
	ID      string `json:"id"`                // node id that the peer must have
	Address string `json:"address"`           // HOST:PORT of its peer port
	Replace bool   `json:"replace,omitempty"` // let it take the place of the member of that id
}

// The outcomes of a Change.
const (
	OutcomeAdded     = "added"        // it is a member and gets its vote when it has caught up
	OutcomeMoved     = "moved"        // the same member at a new address
	OutcomeMember    = "member"       // it was a member before, nothing was changed
	OutcomeRemoved   = "removed"      //
	OutcomeLeads     = "leads"        // leadership went to it
	OutcomeLedBefore = "leads before" // it led before, nothing was changed
)

// Change is what a change of the group's members or of its leader led to.
type Change struct {
	ID      string `json:"id"`     // node id of the member that it was about, "" where nobody was named
	Member  string `json:"member"` // its full id
	Outcome string `json:"outcome"`

	VotersBefore   int `json:"voters_before"`
	VotersAfter    int `json:"voters_after"`    // once a newcomer has its vote
	MajorityBefore int `json:"majority_before"` // voters that must be reachable
	MajorityAfter  int `json:"majority_after"`
	Reachable      int `json:"reachable"` // voters that answered, of those after a removal

	Warnings []string `json:"warnings"` // about the group's new size, whole sentences
}

// transferBody names the member that is to lead; "" leaves the choice to the leader.
type transferBody struct {
	To string `json:"to"`
}

func (h *handler) join(r *http.Request) (any, error) {
	var body JoinRequest
	if err := decode(r, &body); err != nil {
		return nil, err
	}
	if body.ID == "" || body.Address == "" {
		return nil, failure(KindBadRequest, `the body needs "id" and "address"`)
	}
	note(r, "id", body.ID, "address", body.Address, "replace", body.Replace)
	return changed(h.Cluster.Join(r.Context(), body))
}

func (h *handler) remove(r *http.Request) (any, error) {
	force, err := flagOf(r, "force")
	if err != nil {
		return nil, err
	}
	return changed(h.Cluster.Remove(r.Context(), r.PathValue("id"), force))
}

func (h *handler) transfer(r *http.Request) (any, error) {
	var body transferBody
	if err := decode(r, &body); err != nil {
		return nil, err
	}
	note(r, "to", body.To)
	return changed(h.Cluster.Transfer(r.Context(), body.To))
}

func changed(c Change, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	c.Warnings = orEmpty(c.Warnings)
	return c, nil
}

// flagOf reads a switch of the query; absent is false.
func flagOf(r *http.Request, name string) (bool, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return false, nil
	}
	yes, err := strconv.ParseBool(text)
	if err != nil {
		return false, failure(KindBadRequest, "%s=%q: use true or false", name, text)
	}
	return yes, nil
}

// Join makes a waiting peer a member, or gives a member a new address.
func (c *Client) Join(ctx context.Context, req JoinRequest) (Change, error) {
	return change(ctx, c, request{method: http.MethodPost, path: path("members"), body: req})
}

// Remove takes a member out, named by its node id or full id.
func (c *Client) Remove(ctx context.Context, id string, force bool) (Change, error) {
	return change(ctx, c, request{method: http.MethodDelete, path: path("members", id) + "?force=" + url.QueryEscape(strconv.FormatBool(force))})
}

// Transfer gives the leadership to a member, or to any other when id is "".
func (c *Client) Transfer(ctx context.Context, id string) (Change, error) {
	return change(ctx, c, request{method: http.MethodPost, path: path("leader"), body: transferBody{To: id}})
}

// Health judges the group as the peer that is asked sees it.
func (c *Client) Health(ctx context.Context) (Health, error) {
	return get[Health](ctx, c, "health")
}

func change(ctx context.Context, c *Client, req request) (done Change, err error) {
	err = c.call(ctx, req, &done)
	return done, err
}
