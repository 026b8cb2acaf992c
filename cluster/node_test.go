package cluster

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestSingleKeepsWhatItAcknowledged(t *testing.T) {
	n := single(t)
	propose(t, n, "a")
	if !n.Confirmed() {
		t.Error("a lone voter with its first entry applied is not confirmed")
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	n = reopen(t, n)
	if _, err := n.Confirm(soon(t)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"init", "a"}, n.machine.all()); diff != "" {
		t.Error(diff)
	}
}

func TestLoneVoterDoesNotWaitForAnElectionTimeout(t *testing.T) {
	n := single(t)
	n.Close()
	cfg := n.cfg
	n.cfg.Profile = WAN // five seconds until a follower would stand by itself
	began := time.Now()
	n = reopen(t, n)
	leaderOf(t, n)
	if took := time.Since(began); took > cfg.Profile.Election+2*time.Second {
		t.Errorf("leading after %v", took)
	}
}

func TestThreeFormOneCluster(t *testing.T) {
	nodes := three(t)
	uuid := nodes[0].Status().UUID
	for _, n := range nodes {
		if st := n.Status(); st.UUID != uuid || st.Voters != 3 {
			t.Errorf("%s: %+v", n.cfg.NodeID, st)
		}
	}
	for i, n := range nodes {
		propose(t, n, fmt.Sprint("c", i))
		for _, other := range nodes {
			if _, err := other.Confirm(soon(t)); err != nil {
				t.Fatal(err)
			}
			if !slices.Contains(other.machine.all(), fmt.Sprint("c", i)) {
				t.Errorf("%s confirmed and does not show what %s acknowledged", other.cfg.NodeID, n.cfg.NodeID)
			}
		}
	}
	eventually(t, "every member announced its addresses", func() bool {
		ms, err := nodes[2].Members(soon(t))
		return err == nil && !slices.ContainsFunc(ms, func(m Member) bool { return m.Client == "" || !m.Reachable || !m.Voter })
	})
}

func TestConfirmRenewsAtTheLeaderUnderTheMembersName(t *testing.T) {
	nodes := three(t)
	leader, rest := leaderOf(t, nodes...)
	leader.renewer.refuse = []string{"gone"}
	for key, want := range map[string]bool{"here": false, "gone": true} {
		expiring, err := rest[0].Confirm(soon(t), key)
		if err != nil {
			t.Fatal(err)
		}
		if expiring != want {
			t.Errorf("Confirm(%s): expiring=%v, want %v", key, expiring, want)
		}
	}
	leader.renewer.mu.Lock()
	defer leader.renewer.mu.Unlock()
	got := leader.renewer.heard[rest[0].MemberID()]
	slices.Sort(got)
	if diff := cmp.Diff([]string{"gone", "here"}, slices.Compact(got)); diff != "" {
		t.Error(diff)
	}
}

func TestAskLeaderNamesTheSender(t *testing.T) {
	nodes := three(t)
	_, rest := leaderOf(t, nodes...)
	out, err := rest[0].AskLeader(soon(t), []byte("hello"))
	if want := rest[0].MemberID() + " says hello"; err != nil || string(out) != want {
		t.Errorf("%q, %v; want %q", out, err, want)
	}
}

func TestLeaderLostAndFollowerBack(t *testing.T) {
	nodes := three(t)
	leader, rest := leaderOf(t, nodes...)
	propose(t, rest[0], "before")
	leader.Close()
	leaderOf(t, rest...) // before, an outcome may be unknown
	for _, n := range rest {
		eventually(t, "the new leader is known", func() bool { return n.Status().Leader != "" && n.Status().Leader != leader.cfg.NodeID })
	}
	propose(t, rest[0], "without")
	propose(t, rest[1], "without too")
	back := reopen(t, leader)
	if _, err := back.Confirm(soon(t)); err != nil {
		t.Fatal(err)
	}
	want := []string{"init", "before", "without", "without too"}
	if diff := cmp.Diff(want, back.machine.all()); diff != "" {
		t.Error(diff)
	}
}

func TestNoQuorumFailsInsteadOfWaiting(t *testing.T) {
	nodes := three(t)
	nodes[0].Close()
	nodes[1].Close()
	last := nodes[2]
	eventually(t, "ErrNoLeader from Confirm", func() bool {
		_, err := last.Confirm(soon(t))
		return errors.Is(err, ErrNoLeader)
	})
	began := time.Now()
	if _, err := last.Propose(soon(t), []byte("x")); !errors.Is(err, ErrNoLeader) {
		t.Errorf("Propose: %v, want ErrNoLeader", err)
	}
	if took := time.Since(began); took > time.Second {
		t.Errorf("with no leader for two seconds a change still waited %v", took)
	}
	if st := last.Status(); st.Linearizable {
		t.Error("calls itself linearizable")
	}
	reopen(t, nodes[0])
	eventually(t, "changes after the quorum is back", func() bool {
		_, err := last.Propose(soon(t), []byte("y"))
		return err == nil
	})
	if slices.Contains(last.machine.all(), "x") {
		t.Error("a refused command was applied")
	}
}

func TestFencedInAnotherTerm(t *testing.T) {
	n := single(t)
	term := n.Status().Term
	if _, err := n.ProposeInTerm(soon(t), term+1, []byte("x")); !errors.Is(err, ErrFenced) {
		t.Errorf("%v, want ErrFenced", err)
	}
	if _, err := n.ProposeInTerm(soon(t), term, []byte("y")); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"init", "y"}, n.machine.all()); diff != "" {
		t.Error(diff)
	}
}

func TestUnknownCommandStopsTheMember(t *testing.T) {
	n := single(t)
	if _, err := n.Propose(soon(t), []byte("unknown")); err == nil {
		t.Error("acknowledged a command nobody knows")
	}
	if err := <-n.fatal; !strings.Contains(err.Error(), "unknown command") {
		t.Errorf("reason: %v", err)
	}
	if _, err := n.Confirm(soon(t)); err == nil {
		t.Error("confirms after it failed")
	}
}

func TestTooLargeIsRefusedBeforeItIsSent(t *testing.T) {
	n := single(t)
	noise := make([]byte, MaxCommand+1)
	for i := range noise {
		noise[i] = byte(i * i >> 3 * 7)
	}
	_, err := n.Propose(soon(t), []byte(randomHex(MaxCommand)+string(noise)))
	if !errors.Is(err, ErrTooLarge) {
		t.Errorf("%v, want ErrTooLarge", err)
	}
}

func TestDirectoryOfAnother(t *testing.T) {
	n := single(t)
	t.Run("in use", func(t *testing.T) {
		cfg, _ := testConfig(t, "n1", listen(t))
		cfg.DataDir, cfg.Single = n.cfg.DataDir, true
		if _, err := Open(cfg); !errors.Is(err, ErrInUse) {
			t.Errorf("%v, want ErrInUse", err)
		}
	})
	n.Close()
	t.Run("other node", func(t *testing.T) {
		cfg, _ := testConfig(t, "n2", listen(t))
		cfg.DataDir, cfg.Single = n.cfg.DataDir, true
		if _, err := Open(cfg); !errors.Is(err, ErrOtherNode) {
			t.Errorf("%v, want ErrOtherNode", err)
		}
	})
	t.Run("damaged identity", func(t *testing.T) {
		if err := os.WriteFile(filepath.Join(n.cfg.DataDir, identityFile), []byte("{"), 0o644); err != nil {
			t.Fatal(err)
		}
		cfg, _ := testConfig(t, "n1", listen(t))
		cfg.DataDir, cfg.Single = n.cfg.DataDir, true
		if _, err := Open(cfg); err == nil || !strings.Contains(err.Error(), "damaged") {
			t.Errorf("%v, want a word about the damage", err)
		}
	})
}
