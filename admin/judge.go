package admin

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// lagLimit is how many log entries a member may be behind before that is called
// unhealthy: under load a healthy one is some behind whenever it is asked.
const lagLimit = 1000

// Health says whether the group can do its work and bear a loss.
type Health struct {
	Healthy  bool     `json:"healthy"`
	Leader   string   `json:"leader"`   // node id, "" when none is known
	Reasons  []string `json:"reasons"`  // why it is not healthy
	Warnings []string `json:"warnings"` // what an admin may want to know all the same

	Voters    int `json:"voters"`
	Reachable int `json:"reachable"` // voters that answered
	Majority  int `json:"majority"`  // voters that must be reachable
}

func (h *handler) health(r *http.Request) (any, error) {
	status, err := h.Cluster.Status(r.Context())
	if err != nil {
		return nil, err
	}
	members, err := h.Cluster.Members(r.Context())
	health := judge(status, members)
	if err != nil {
		health.complain("the members are not known here: %v", err)
	}
	if reasons := h.Cluster.NotReady(); len(reasons) > 0 {
		for _, reason := range reasons {
			health.complain("%s, the peer that was asked, is not ready: %s", status.ID, reason)
		}
	}
	return health, nil
}

func (h *Health) complain(format string, args ...any) {
	h.Reasons = append(h.Reasons, fmt.Sprintf(format, args...))
	h.Healthy = false
}

func (h *Health) warn(format string, args ...any) {
	h.Warnings = append(h.Warnings, fmt.Sprintf(format, args...))
}

// judge looks at the group as one peer sees it.
func judge(status Status, members []Member) Health {
	h := Health{Healthy: true, Leader: status.Leader, Reasons: []string{}, Warnings: []string{}}
	if status.Leader == "" {
		h.complain("no leader is known to %s", status.ID)
	}
	versions := []string{}
	for _, m := range members {
		h.look(status.ID, m)
		if m.Version != "" && !slices.Contains(versions, m.Version) {
			versions = append(versions, m.Version)
		}
	}
	h.Majority = h.Voters/2 + 1
	switch {
	case h.Voters > 0 && h.Reachable < h.Majority:
		h.complain("%d of %d voters can be reached and %d are needed: nothing can be changed", h.Reachable, h.Voters, h.Majority)
	case h.Voters > 1 && h.Reachable == h.Majority:
		h.complain("%d of %d voters can be reached and %d are needed: the loss of one more stops the group", h.Reachable, h.Voters, h.Majority)
	case h.Voters > 2 && h.Voters%2 == 0:
		h.warn("%d voters survive the loss of %d, no more than %d would: an odd number is better", h.Voters, h.Voters-h.Majority, h.Voters-1)
	case h.Voters == 1:
		h.warn("there is only one voter: its loss stops the group")
	}
	if len(versions) > 1 {
		slices.Sort(versions)
		h.warn("the peers run different versions: %s", strings.Join(versions, ", "))
	}
	return h
}

// look counts one member and says what is wrong with it.
func (h *Health) look(from string, m Member) {
	if m.Voter {
		h.Voters++
		if m.Reachable {
			h.Reachable++
		}
	}
	switch {
	case !m.Reachable:
		h.complain("%s (%s) cannot be reached from %s", m.ID, m.Peer, from)
	case !m.Voter:
		h.warn("%s has no vote yet: it is %d log entries behind", m.ID, m.Lag)
	case m.Lag > lagLimit:
		h.complain("%s is %d log entries behind", m.ID, m.Lag)
	}
}
