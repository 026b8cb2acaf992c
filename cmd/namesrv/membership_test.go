package main

import (
	"fmt"
	"strings"
	"testing"

	"namesrv/admin"
)

func TestMembershipCommandsPrint(t *testing.T) {
	tests := []struct {
		name string
		args []string
		want string
		json string
	}{
		{
			name: "join", args: []string{"cluster", "join", "n4", "ns4:9875"},
			want: "n4 is a voter\nvoters: 3 before, of which 2 must be reachable; 4 now, of which 3 must be\nWarning: Four is even.\n",
			json: `{"id":"n4","member":"n4-6c","outcome":"added","voters_before":3,"voters_after":4,"majority_before":2,"majority_after":3,"reachable":0,"warnings":["Four is even."]}`,
		},
		{
			name: "join without waiting", args: []string{"cluster", "join", "n4", "ns4:9875", "--wait", "0s", "--replace"},
			want: "n4 is a member and gets its vote when it has caught up: namesrv cluster members\n" +
				"voters: 3 before, of which 2 must be reachable; 4 now, of which 3 must be\nWarning: Four is even.\n",
		},
		{
			name: "remove", args: []string{"cluster", "remove", "n3"},
			want: "removed n3 (n3-3f)\nvoters: 3 before, of which 2 must be reachable; 2 now, of which 2 must be; 2 can be reached now\n",
		},
		{name: "transfer", args: []string{"cluster", "transfer", "n2"}, want: "n2 leads\n"},
		{name: "transfer to anybody", args: []string{"cluster", "transfer"}, want: "leadership was handed over; see: namesrv cluster members\n"},
	}
	servePeer(t, "")
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			if got := runProgram(t, tc.args...); got != (result{stdout: tc.want}) {
				t.Errorf("got %+v, want %q", got, tc.want)
			}
			if tc.json == "" {
				return
			}
			if got := runProgram(t, append(tc.args, "-o", "json")...); fmt.Sprint(decoded(t, tc.json)) != fmt.Sprint(decoded(t, got.stdout)) {
				t.Errorf("json: %+v", got)
			}
		})
	}
}

func TestMembershipCommandsFail(t *testing.T) {
	refused := &admin.Error{Kind: admin.KindRefused, Message: "refused: it is the last peer"}
	tests := []struct {
		name  string
		args  []string
		err   error
		code  int
		parts []string
	}{
		{"refused", []string{"cluster", "remove", "n1", "--force"}, refused, exitFailed, []string{"refused: it is the last peer"}},
		{"no leader", []string{"cluster", "join", "n4", "ns4:9875"}, admin.ErrNoLeader, exitNoLeader, []string{"no leader", "cluster status"}},
		{"no address", []string{"cluster", "join", "n4", "ns4"}, nil, exitUsage, []string{"PEER_ADDR", "HOST:PORT"}},
		{"no id", []string{"cluster", "remove"}, nil, exitUsage, []string{"ID is missing"}},
		{"two ids", []string{"cluster", "transfer", "n1", "n2"}, nil, exitUsage, []string{`"n2"`}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			servePeer(t, "").err = tc.err
			runProgram(t, tc.args...).oneLine(t, tc.code, tc.parts...)
		})
	}
}

func TestJoinThatTakesTooLong(t *testing.T) {
	p := servePeer(t, "")
	p.slowVote = true
	runProgram(t, "cluster", "join", "n4", "ns4:9875", "--wait", "10ms").oneLine(t, exitTimeout, "no vote yet after 10ms", "namesrv cluster members")
}

func TestClusterHealth(t *testing.T) {
	p := servePeer(t, "")
	p.leader = "n1"
	runProgram(t, "cluster", "health").oneLine(t, exitFailed, "n2 (ns2:9875) cannot be reached", "nothing can be changed")
	got := runProgram(t, "cluster", "health", "-o", "json")
	if health, ok := decoded(t, got.stdout).(map[string]any); !ok || health["healthy"] != false || got.code != exitFailed {
		t.Errorf("in json: %+v", got)
	}
	p.joined = "n1"
	if got := runProgram(t, "cluster", "health"); got.code != exitDone || !strings.HasPrefix(got.stdout, "healthy: n1 leads, 1 of 1 voters can be reached\nWarning: ") {
		t.Errorf("a healthy one: %+v", got)
	}
	p.leader = ""
	runProgram(t, "cluster", "health").oneLine(t, exitNoLeader, "no leader is known")
}

func TestClusterHealthOfOtherGroups(t *testing.T) {
	group := func(size int, change func(members []admin.Member)) (members []admin.Member) {
		for i := range size {
			id := fmt.Sprintf("n%d", i+1)
			members = append(members, admin.Member{ID: id, Member: id + "-3f", Peer: id + ":9875", Voter: true, Reachable: true})
		}
		if change != nil {
			change(members)
		}
		return members
	}
	tests := []struct {
		name    string
		members []admin.Member
		code    int
		want    string
	}{
		{"one lags", group(3, func(m []admin.Member) { m[2].Lag = 5000 }), exitFailed, "n3 is 5000 log entries behind"},
		{"one of five is away", group(5, func(m []admin.Member) { m[4].Reachable = false }), exitFailed, "n5 (n5:9875) cannot be reached from n1"},
		{"two", group(2, nil), exitFailed, "the loss of one more stops the group"},
		{"four", group(4, nil), exitDone, "healthy: n1 leads, 4 of 4 voters can be reached\nWarning: 4 voters survive the loss of 1, no more than 3 would: an odd number is better\n"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			p := servePeer(t, "")
			p.leader, p.members = "n1", tc.members
			got := runProgram(t, "cluster", "health")
			if tc.code == exitDone {
				if got != (result{stdout: tc.want}) {
					t.Errorf("got %+v, want %q", got, tc.want)
				}
				return
			}
			got.oneLine(t, tc.code, tc.want)
		})
	}
}
