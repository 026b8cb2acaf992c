package cluster

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"
)

func recoverConfig(dir string) RecoverConfig {
	return RecoverConfig{DataDir: dir, Machine: new(listMachine), Logger: hclog.NewNullLogger()}
}

func TestRecoverFromTheLastSurvivor(t *testing.T) {
	for name, withSnapshot := range map[string]bool{"log only": false, "snapshot and log": true} {
		t.Run(name, func(t *testing.T) {
			nodes := three(t)
			leader, rest := leaderOf(t, nodes...)
			survivor := rest[0]
			propose(t, survivor, "a")
			if withSnapshot {
				if err := survivor.raft().Snapshot().Error(); err != nil {
					t.Fatal(err)
				}
			}
			propose(t, survivor, "b")
			old := survivor.Status().UUID
			if _, err := SurveyDir(survivor.cfg.DataDir, hclog.NewNullLogger()); !errors.Is(err, ErrInUse) {
				t.Errorf("while it runs: %v, want ErrInUse", err)
			}
			for _, n := range nodes {
				n.Close()
			}
			before, err := SurveyDir(survivor.cfg.DataDir, hclog.NewNullLogger())
			if err != nil {
				t.Fatal(err)
			}
			if before.UUID != old || before.LastIndex < 4 || before.LastTerm == 0 || len(before.Members) != 3 || before.Advertise != survivor.cfg.Advertise {
				t.Errorf("survey: %+v", before)
			}
			found, uuid, err := Recover(recoverConfig(survivor.cfg.DataDir))
			if err != nil || uuid == old {
				t.Fatalf("uuid %q, %v", uuid, err)
			}
			if diff := cmp.Diff(before, found); diff != "" {
				t.Error(diff)
			}
			survivor = reopen(t, survivor)
			propose(t, survivor, "c")
			if diff := cmp.Diff([]string{"init", "a", "b", "c"}, survivor.machine.all()); diff != "" {
				t.Error(diff)
			}
			if _, err := survivor.compareClusters([]string{survivor.cfg.Advertise}); err != nil || !slices.Contains(survivor.identity().Former, old) {
				t.Errorf("%v, recovered from %v", err, survivor.identity().Former)
			}
			// The others: one comes back as it was, one empty and with its old command line.
			stale := leader
			l := listen(t)
			cfg, _ := testConfig(t, stale.cfg.NodeID, l)
			cfg.DataDir, cfg.Expect, cfg.Join, cfg.Advertise = stale.cfg.DataDir, 3, stale.cfg.Join, stale.cfg.Advertise
			if _, err := Open(cfg); !errors.Is(err, ErrOtherCluster) {
				t.Errorf("a member of before: %v, want ErrOtherCluster", err)
			}
			if err := os.RemoveAll(rest[1].cfg.DataDir); err != nil {
				t.Fatal(err)
			}
			empty := reopen(t, rest[1])
			if res := join(t, survivor, empty, false); res.VotersAfter != 2 {
				t.Errorf("%+v", res)
			}
			wantVoters(t, survivor, survivor, empty)
			eventually(t, "everything is at the newcomer", func() bool { return slices.Equal(empty.machine.all(), survivor.machine.all()) })
		})
	}
}

func TestRecoverAgainAndWithAnotherAddress(t *testing.T) {
	n := single(t)
	propose(t, n, "a")
	n.Close()
	if _, _, err := Recover(recoverConfig(n.cfg.DataDir)); err != nil {
		t.Fatal(err)
	}
	cfg := recoverConfig(n.cfg.DataDir)
	cfg.Advertise = "ns1:9875"
	_, uuid, err := Recover(cfg)
	if err != nil {
		t.Fatal(err)
	}
	after, err := SurveyDir(n.cfg.DataDir, hclog.NewNullLogger())
	if err != nil || after.Advertise != "ns1:9875" || after.UUID != uuid {
		t.Errorf("%+v, %v", after, err)
	}
}

func TestRecoverRefuses(t *testing.T) {
	waiter := waiting(t, "n9", nil)
	eventually(t, "it has an identity", func() bool { return peek(waiter.cfg.DataDir).MemberID != "" })
	waiter.Close()
	missing := t.TempDir() + "/none"
	for name, dir := range map[string]string{"missing": missing, "empty": t.TempDir(), "never in a cluster": waiter.cfg.DataDir} {
		t.Run(name, func(t *testing.T) {
			_, _, err := Recover(recoverConfig(dir))
			if !errors.Is(err, ErrNothingToRecover) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%v, want ErrNothingToRecover", err)
			}
		})
	}
	if _, err := os.Stat(missing); err == nil {
		t.Error("made the directory")
	}
	n := single(t)
	propose(t, n, "a")
	n.Close()
	cfg := recoverConfig(n.cfg.DataDir)
	cfg.Machine = newerMachine{}
	if _, _, err := Recover(cfg); err == nil || !strings.Contains(err.Error(), "newer") {
		t.Errorf("entries of a newer version: %v", err)
	}
	n = reopen(t, n)
	ctx := soon(t)
	if _, err := n.Confirm(ctx); err != nil || !slices.Contains(n.machine.all(), "a") {
		t.Errorf("a refused recovery changed something: %v %v", err, n.machine.all())
	}
}

// newerMachine understands nothing.
type newerMachine struct{ StateMachine }

func (newerMachine) Apply(uint64, []byte) ([]byte, error) {
	return nil, errors.New("command of a newer version")
}

func TestRecoveredPeerIsNotKeptFromStartingByOneOfBefore(t *testing.T) {
	nodes := three(t)
	_, rest := leaderOf(t, nodes...)
	survivor, before := rest[0], rest[1]
	for _, n := range nodes {
		n.Close()
	}
	if _, _, err := Recover(recoverConfig(survivor.cfg.DataDir)); err != nil {
		t.Fatal(err)
	}
	before = reopen(t, before) // with its directory, before the recovered one is up
	survivor = reopen(t, survivor)
	propose(t, survivor, "x")
	before.Close()
	cfg, _ := testConfig(t, before.cfg.NodeID, listen(t))
	cfg.DataDir, cfg.Expect, cfg.Join, cfg.Advertise = before.cfg.DataDir, 3, before.cfg.Join, before.cfg.Advertise
	if _, err := Open(cfg); !errors.Is(err, ErrOtherCluster) {
		t.Errorf("the one of before: %v, want ErrOtherCluster", err)
	}
}
