package main

import (
	"strings"
	"testing"

	"namesrv/admin"
)

func TestStatusTable(t *testing.T) {
	tests := []struct {
		name   string
		status admin.Status
		want   string // a line
	}{
		{"a leader", admin.Status{State: "leader"}, "last contact   with itself: it leads\n"},
		{"a follower", admin.Status{State: "follower", LastContact: 312}, "last contact   with the leader 312 ms ago\n"},
		{"before any leader", admin.Status{State: "candidate", LastContact: -1}, "last contact   none with a leader\n"},
		{"brokers", admin.Status{Brokers: 7, Sessions: 5}, "brokers        7 addresses, 5 of them connected here\n"},
		{"the disk", admin.Status{LogBytes: 4096, Snapshot: 9}, "log            4096 bytes, snapshot at index 9\n"},
		{"newest tables", admin.Status{Linearizable: true}, "linearizable   yes\n"},
		{"old answers", admin.Status{Unconfirmed: 3}, "linearizable   no; 3 answers were from the last known state, since the start\n"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			var out strings.Builder
			statusTable(&out, tc.status)
			if !strings.Contains(out.String(), tc.want) {
				t.Errorf("no line %q in:\n%s", tc.want, &out)
			}
		})
	}
}
