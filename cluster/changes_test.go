package cluster

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
)

// logLines returns what was written, without the time.
func logLines(text *bytes.Buffer) []string {
	var lines []string
	for line := range strings.Lines(text.String()) {
		_, line, _ = strings.Cut(line, " ")
		lines = append(lines, strings.TrimSpace(line))
	}
	text.Reset()
	return lines
}

func TestChangesAreSaidOnce(t *testing.T) {
	var text bytes.Buffer
	c := &changes{log: hclog.New(&hclog.LoggerOptions{Output: &text}), last: func() (term, index uint64) { return 3, 42 }}
	failed, resumed := raft.FailedHeartbeatObservation{PeerID: "n-2-ab"}, raft.ResumedHeartbeatObservation{PeerID: "n-2-ab"}
	tests := []struct {
		name string
		data any
		want []string
	}{
		{"a leader", raft.LeaderObservation{LeaderID: "n1-cd", LeaderAddr: "ns1:9875"}, []string{"[INFO]  leader is known: leader=n1 member=n1-cd peer=ns1:9875 term=3 index=42"}},
		{"a member is lost", failed, []string{"[WARN]  a member is silent: node=n-2 member=n-2-ab index=42"}},
		{"it is still lost", failed, nil},
		{"it is back", resumed, []string{"[INFO]  a member is heard again: node=n-2 member=n-2-ab index=42"}},
		{"it is still back", resumed, nil},
		{"it is lost again", failed, []string{"[WARN]  a member is silent: node=n-2 member=n-2-ab index=42"}},
		{"no leader", raft.LeaderObservation{}, []string{"[INFO]  no leader is known: term=3 index=42"}},
		{"what the former leader knew is forgotten", resumed, nil},
		{"something else", raft.RaftState(0), nil},
	}
	for _, tc := range tests {
		if c.observe(&raft.Observation{Data: tc.data}) {
			t.Errorf("%s: it wants the observation in a channel", tc.name)
		}
		if diff := cmp.Diff(tc.want, logLines(&text)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
}
