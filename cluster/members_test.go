package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"namesrv/cluster/clusterpb"
)

// waiting opens a peer that waits to be admitted; change may alter its configuration.
func waiting(t *testing.T, id string, change func(*Config)) *testNode {
	t.Helper()
	cfg, tn := testConfig(t, id, listen(t))
	if change != nil {
		change(&cfg)
	}
	return open(t, cfg, tn)
}

func join(t *testing.T, at, newcomer *testNode, replace bool) MemberResult {
	t.Helper()
	res, err := at.Join(soon(t), JoinRequest{Node: newcomer.cfg.NodeID, Address: newcomer.cfg.Advertise, Replace: replace})
	if err != nil {
		t.Fatalf("join %s at %s: %v", newcomer.cfg.NodeID, at.cfg.NodeID, err)
	}
	return res
}

// wantVoters waits until a member shows exactly these voters and no other members.
func wantVoters(t *testing.T, at *testNode, want ...*testNode) {
	t.Helper()
	var ids []string
	for _, n := range want {
		ids = append(ids, n.MemberID())
	}
	slices.Sort(ids)
	var got []string
	eventually(t, "the voters are "+strings.Join(ids, " "), func() bool {
		got = nil
		for _, s := range sortedServers(at.raft().GetConfiguration().Configuration()) {
			if s.Suffrage != raft.Voter {
				return false
			}
			got = append(got, string(s.ID))
		}
		return slices.Equal(ids, got)
	})
}

func wantRefused(t *testing.T, err error, parts ...string) {
	t.Helper()
	if !errors.Is(err, ErrRefused) {
		t.Errorf("%v, want ErrRefused", err)
		return
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not say %q", err, part)
		}
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("more than one line: %q", err)
	}
}

func TestGrowAndShrinkAtAnyPeer(t *testing.T) {
	nodes := three(t)
	leader, rest := leaderOf(t, nodes...)
	propose(t, leader, "a")
	n4 := waiting(t, "n4", nil)
	if res := join(t, rest[0], n4, false); res.Outcome != OutcomeAdded || res.VotersAfter != 4 || len(res.Warnings) != 1 {
		t.Errorf("joined: %+v; want four voters and a word about the even number", res)
	}
	if res := join(t, rest[1], n4, false); res.Outcome != OutcomeMember {
		t.Errorf("joined twice: %+v", res)
	}
	wantVoters(t, leader, nodes[0], nodes[1], nodes[2], n4)
	if _, err := n4.Confirm(soon(t)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "four client addresses", func() bool {
		return slices.Equal(rest[1].ClientAddresses(), []string{"n1:9876", "n2:9876", "n3:9876", "n4:9876"})
	})
	if !slices.Contains(n4.machine.all(), "a") {
		t.Error("the newcomer lacks what was there before")
	}
	res, err := n4.Remove(soon(t), rest[0].cfg.NodeID, false)
	if err != nil || res.VotersBefore != 4 || res.VotersAfter != 3 || res.Reachable != 3 {
		t.Errorf("removed: %+v, %v", res, err)
	}
	wantRemoved(t, rest[0])
	// The leader goes too, asked at itself.
	if _, err := leader.Remove(soon(t), leader.cfg.NodeID, false); err != nil {
		t.Fatalf("the leader removes itself: %v", err)
	}
	wantRemoved(t, leader)
	propose(t, n4, "b")
	wantVoters(t, n4, rest[1], n4)
	if res, err := n4.Remove(soon(t), rest[1].MemberID(), false); err != nil || res.VotersAfter != 1 {
		t.Errorf("down to one: %+v, %v", res, err)
	}
	_, err = n4.Remove(soon(t), "n4", true)
	wantRefused(t, err, "last peer")
}

func TestAskToJoinForItself(t *testing.T) {
	nodes := three(t)
	_, rest := leaderOf(t, nodes...)
	n4 := waiting(t, "n4", func(c *Config) { c.Join = []string{rest[0].cfg.Advertise} })
	wantVoters(t, rest[0], nodes[0], nodes[1], nodes[2], n4)
	// A node id that the group has takes an admin.
	thief := waiting(t, nodes[0].cfg.NodeID, func(c *Config) { c.Join = []string{rest[0].cfg.Advertise} })
	said := thief.askToJoin(thief.cfg.Join)
	if !strings.Contains(said, "--replace") || thief.Status().UUID != "" {
		t.Errorf("asked under another's node id: %q", said)
	}
}

func TestJoinIsRefused(t *testing.T) {
	nodes := three(t)
	leader, rest := leaderOf(t, nodes...)
	stranger := single(t)
	idle := waiting(t, "n4", nil)
	forming := waiting(t, "n5", func(c *Config) { c.Expect, c.Join = 2, []string{c.Advertise, "127.0.0.1:1"} })
	double := waiting(t, nodes[0].cfg.NodeID, nil)
	elsewhere := waiting(t, "n7", func(c *Config) {
		port := c.Advertise[strings.LastIndexByte(c.Advertise, ':'):]
		c.Advertise = "localhost" + port
	})
	tests := map[string]struct {
		req  JoinRequest
		want string
	}{
		"no address":          {JoinRequest{Node: "n4", Address: "n4"}, "HOST:PORT"},
		"nobody there":        {JoinRequest{Node: "n4", Address: "127.0.0.1:1"}, "is it running"},
		"unknown name":        {JoinRequest{Node: "n4", Address: "no-such-host.invalid:9875"}, "does not resolve"},
		"another cluster":     {JoinRequest{Node: "n1", Address: stranger.cfg.Advertise, Replace: true}, "another cluster"},
		"another node":        {JoinRequest{Node: "n6", Address: idle.cfg.Advertise}, "is node n4, not n6"},
		"forms another":       {JoinRequest{Node: "n5", Address: forming.cfg.Advertise}, "--bootstrap-expect 0"},
		"node id of a member": {JoinRequest{Node: nodes[0].cfg.NodeID, Address: double.cfg.Advertise}, "--replace"},
		"calls itself other":  {JoinRequest{Node: "n7", Address: strings.Replace(elsewhere.cfg.Advertise, "localhost", "127.0.0.1", 1)}, "calls itself localhost"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			for _, at := range []*testNode{leader, rest[0]} {
				_, err := at.Join(soon(t), tt.req)
				wantRefused(t, err, tt.want)
			}
		})
	}
	wantVoters(t, leader, nodes...)
	for _, n := range []*testNode{idle, forming, double, elsewhere} {
		if n.Status().UUID != "" {
			t.Errorf("%s was admitted", n.cfg.NodeID)
		}
	}
}

func TestWipedPeerComesBackByReplace(t *testing.T) {
	nodes := three(t)
	leader, rest := leaderOf(t, nodes...)
	lost := rest[0]
	lost.Close()
	if err := os.RemoveAll(lost.cfg.DataDir); err != nil {
		t.Fatal(err)
	}
	back := reopen(t, lost) // its old command line
	list := slices.Sorted(slices.Values(back.cfg.Join))
	if said := back.formStep(list, list[0] == back.cfg.Advertise); !strings.Contains(said, "namesrv cluster join "+back.cfg.NodeID+" "+back.cfg.Advertise+" --replace") {
		t.Errorf("the wiped peer says %q, not the way out", said)
	}
	_, err := rest[1].Join(soon(t), JoinRequest{Node: back.cfg.NodeID, Address: back.cfg.Advertise})
	wantRefused(t, err, "--replace")
	if res := join(t, rest[1], back, true); res.VotersAfter != 3 || len(res.Warnings) != 0 {
		t.Errorf("%+v, want three voters as before", res)
	}
	wantVoters(t, leader, leader, rest[1], back)
	propose(t, back, "back")
}

func TestReplaceAtAnotherAddress(t *testing.T) {
	for name, running := range map[string]bool{"old one runs": true, "old one is lost": false} {
		t.Run(name, func(t *testing.T) {
			nodes := three(t)
			leader, rest := leaderOf(t, nodes...)
			old := rest[0]
			if !running {
				old.Close()
			}
			newcomer := waiting(t, old.cfg.NodeID, nil)
			join(t, rest[1], newcomer, true)
			wantVoters(t, leader, leader, rest[1], newcomer)
			if running {
				wantRemoved(t, old)
			}
			propose(t, newcomer, "x")
		})
	}
}

func TestMemberAtANewAddressIsOneChange(t *testing.T) {
	nodes := three(t)
	leader, rest := leaderOf(t, nodes...)
	moved := rest[0]
	member := moved.MemberID()
	moved.Close()
	cfg, tn := testConfig(t, moved.cfg.NodeID, listen(t))
	cfg.DataDir = moved.cfg.DataDir
	moved = open(t, cfg, tn)
	if res := join(t, rest[1], moved, false); res.Outcome != OutcomeMoved || res.Member != member {
		t.Errorf("%+v", res)
	}
	wantVoters(t, leader, leader, rest[1], moved)
	if _, err := moved.Confirm(soon(t)); err != nil {
		t.Error(err)
	}
}

func TestLoneServerGrows(t *testing.T) {
	n1 := single(t)
	propose(t, n1, "a")
	n2 := waiting(t, "n2", nil)
	if res := join(t, n1, n2, false); len(res.Warnings) != 1 || !strings.Contains(res.Warnings[0], "group of two") {
		t.Errorf("%+v", res)
	}
	wantVoters(t, n1, n1, n2)
	j := joining{node: n1.Node, group: n1.Node.machine.view().group}
	j.req = &clusterpb.Join{Node: "n3", Address: "192.0.2.1:9875"}
	wantRefused(t, j.checkReach(), "--peer-advertise", "namesrv cluster join n")
}

func TestTwoAdminsAtOnce(t *testing.T) {
	nodes := three(t)
	leader, _ := leaderOf(t, nodes...)
	before := leader.Node.machine.view().group.index
	remove := func(n *testNode) error {
		return memberError(leader.changeMembersAt(soon(t), before, func(r *raft.Raft, prev uint64) raft.IndexFuture {
			return r.RemoveServer(raft.ServerID(n.MemberID()), prev, 0)
		}))
	}
	var errs [2]error
	var wg sync.WaitGroup
	var others []*testNode
	for _, n := range nodes {
		if n != leader {
			others = append(others, n)
		}
	}
	for i := range errs {
		wg.Go(func() { errs[i] = remove(others[i]) })
	}
	wg.Wait()
	if (errs[0] == nil) == (errs[1] == nil) {
		t.Fatalf("%v and %v: want one of them to be told about the other", errs[0], errs[1])
	}
	wantRefused(t, errors.Join(errs[0], errs[1]), "members changed meanwhile")
	if left := len(leader.MemberIDs()); left != 2 {
		t.Errorf("%d members left", left)
	}
}

func TestRemoveKeepsTheMajority(t *testing.T) {
	nodes := three(t)
	leader, rest := leaderOf(t, nodes...)
	rest[0].Close()
	// Without rest[1] two voters would be left, and only one of them answers.
	_, err := rest[1].Remove(soon(t), rest[1].cfg.NodeID, false)
	wantRefused(t, err, "must be reachable", "--force")
	_, err = rest[1].Remove(soon(t), "nobody", false)
	wantRefused(t, err, `no member is called "nobody"`, "n1, n2, n3")
	wantVoters(t, leader, nodes...)
	if _, err := rest[1].Remove(soon(t), rest[0].cfg.NodeID, false); err != nil {
		t.Errorf("removing the one that is down: %v", err)
	}
}

func TestTransfer(t *testing.T) {
	nodes := three(t)
	leader, rest := leaderOf(t, nodes...)
	if res, err := rest[0].Transfer(soon(t), rest[0].cfg.NodeID); err != nil || res.Outcome != OutcomeLeads {
		t.Fatalf("%+v, %v", res, err)
	}
	eventually(t, "it leads", rest[0].Leads)
	if res, err := rest[0].Transfer(soon(t), rest[0].cfg.NodeID); err != nil || res.Outcome != OutcomeLedBefore {
		t.Errorf("to itself: %+v, %v", res, err)
	}
	if _, err := rest[0].Transfer(soon(t), ""); err != nil {
		t.Errorf("to anybody: %v", err)
	}
	eventually(t, "somebody else leads", func() bool { return leader.Leads() || rest[1].Leads() })
	rest[0].Close()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	now, _ := leaderOf(t, leader, rest[1])
	_, err := now.Transfer(ctx, rest[0].cfg.NodeID)
	wantRefused(t, err, "cannot be reached")
	alone := single(t)
	_, err = alone.Transfer(ctx, "")
	wantRefused(t, err, "no other voter")
}

func TestSizeWarnings(t *testing.T) {
	for voters, want := range map[int]string{1: "", 2: "group of two", 3: "", 4: "survive the loss of 1, no more than 3 would", 5: "", 6: "loss of 2"} {
		if got := strings.Join(sizeWarnings(voters), " "); (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%d voters: %q", voters, fmt.Sprint(got))
		}
	}
}
