package systemtest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// adminTimeout bounds one question to the HTTP port.
const adminTimeout = 5 * time.Second

// Member is one peer as the HTTP port reports it.
type Member struct {
	ID        string `json:"id"`
	Member    string `json:"member"`
	Peer      string `json:"peer"`
	Client    string `json:"client"`
	Admin     string `json:"admin"`
	Voter     bool   `json:"voter"`
	Leader    bool   `json:"leader"`
	Reachable bool   `json:"reachable"`
	LastIndex uint64 `json:"last_index"`
	Version   string `json:"version"`
}

// Names of the metrics that the tests read.
const (
	MetricLogIndex = "namesrv_raft_last_log_index"
	MetricTerm     = "namesrv_raft_term"
)

// Members is the group as this node sees it.
func (n *Node) Members(ctx context.Context) ([]Member, error) {
	body, err := n.get(ctx, "/v1/members")
	if err != nil {
		return nil, err
	}
	var members []Member
	if err := json.Unmarshal(body, &members); err != nil {
		return nil, fmt.Errorf("members of node %s: %w: %s", n.ID, err, body)
	}
	return members, nil
}

// RestoreState is what a node knows of restores: ids, and how much of the one under way has arrived.
type RestoreState struct {
	Restored string `json:"restored"`
	Running  string `json:"running"`
	Bytes    int    `json:"bytes"`
}

// RestoreState asks for it; the answer is not older than the question.
func (n *Node) RestoreState(ctx context.Context) (state RestoreState, err error) {
	body, err := n.get(ctx, "/v1/snapshot/restore")
	if err == nil {
		err = json.Unmarshal(body, &state)
	}
	return state, err
}

// Ready is nil when the node reports itself ready; else the error has its reasons.
func (n *Node) Ready(ctx context.Context) error {
	_, err := n.get(ctx, "/readyz")
	return err
}

// Scrape is the text of /metrics.
func (n *Node) Scrape(ctx context.Context) ([]byte, error) { return n.get(ctx, "/metrics") }

// Metric is the value of a gauge or counter without labels.
func (n *Node) Metric(ctx context.Context, name string) (float64, error) {
	body, err := n.Scrape(ctx)
	if err != nil {
		return 0, err
	}
	lines := bufio.NewScanner(bytes.NewReader(body))
	for lines.Scan() {
		if value, ok := strings.CutPrefix(lines.Text(), name+" "); ok {
			return strconv.ParseFloat(strings.TrimSpace(value), 64)
		}
	}
	return 0, fmt.Errorf("node %s has no metric %s", n.ID, name)
}

func (n *Node) get(ctx context.Context, path string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, adminTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+n.Admin+path, nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("GET %s of node %s: %s: %s", path, n.ID, resp.Status, bytes.TrimSpace(body))
	}
	return body, nil
}
