package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// unformed opens three nodes after change has spoiled their configurations.
func unformed(t *testing.T, change func(cfgs []Config)) []*testNode {
	t.Helper()
	var cfgs []Config
	var nodes []*testNode
	var join []string
	for i := range 3 {
		cfg, tn := testConfig(t, fmt.Sprintf("n%d", i+1), listen(t))
		cfgs, nodes, join = append(cfgs, cfg), append(nodes, tn), append(join, cfg.Advertise)
	}
	for i := range cfgs {
		cfgs[i].Expect, cfgs[i].Join = 3, join
	}
	change(cfgs)
	for i := range cfgs {
		open(t, cfgs[i], nodes[i])
	}
	return nodes
}

// obstacle returns what the first of the list says stands in the way.
func obstacle(t *testing.T, nodes []*testNode) string {
	t.Helper()
	first := nodes[0]
	for _, n := range nodes {
		if n.cfg.Advertise < first.cfg.Advertise {
			first = n
		}
	}
	return first.formStep(slices.Sorted(slices.Values(first.cfg.Join)), true)
}

func TestFormingIsRefused(t *testing.T) {
	tests := map[string]struct {
		change func(cfgs []Config)
		want   string
	}{
		"different settings": {func(c []Config) {
			for i := range c {
				c[i].Facts = map[string]string{"same": "x", "orderMessageEnable": fmt.Sprint(i)}
			}
		}, "orderMessageEnable"},
		"same node id": {func(c []Config) { c[1].NodeID = c[0].NodeID; c[2].NodeID = c[0].NodeID }, "same --node-id"},
		"different lists": {func(c []Config) {
			for i := range c {
				other := slices.Clone(c[i].Join)
				for j := range other {
					if other[j] != c[i].Advertise {
						other[j] = fmt.Sprintf("elsewhere-%d-%d:1", i, j)
					}
				}
				c[i].Join = other
			}
		}, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			nodes := unformed(t, tt.change)
			if tt.want != "" && !strings.Contains(obstacle(t, nodes), tt.want) {
				t.Errorf("obstacle %q does not name %q", obstacle(t, nodes), tt.want)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if err := nodes[0].Formed(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("formed all the same: %v", err)
			}
			if nodes[0].Status().UUID != "" {
				t.Error("a cluster was begun")
			}
		})
	}
}

func TestUnresolvedPeerIsNamed(t *testing.T) {
	cfg, tn := testConfig(t, "n1", listen(t))
	cfg.Expect, cfg.Join = 2, []string{cfg.Advertise, "no-such-host.invalid:9875"}
	open(t, cfg, tn)
	if got := tn.formStep([]string{cfg.Advertise, "no-such-host.invalid:9875"}, true); !strings.Contains(got, "no-such-host.invalid") {
		t.Errorf("obstacle %q does not name the peer", got)
	}
}

func TestEmptiedDirectoryDoesNotWalkInAgain(t *testing.T) {
	nodes := three(t)
	leader, rest := leaderOf(t, nodes...)
	lost := rest[0]
	old := lost.MemberID()
	lost.Close()
	if err := os.RemoveAll(lost.cfg.DataDir); err != nil {
		t.Fatal(err)
	}
	back := reopen(t, lost)
	if back.MemberID() == old {
		t.Fatal("an emptied directory kept its member id")
	}
	propose(t, leader, "meanwhile")
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := back.Formed(ctx); err == nil {
		t.Error("was admitted without an admin's word")
	}
	if ids := leader.MemberIDs(); len(ids) != 3 {
		t.Errorf("members %v", ids)
	}
}

func TestConfigIsChecked(t *testing.T) {
	tests := map[string]struct {
		change func(c *Config)
		want   string
	}{
		"list too short":      {func(c *Config) { c.Expect, c.Join = 3, []string{c.Advertise} }, "exactly 3"},
		"a peer twice":        {func(c *Config) { c.Expect, c.Join = 2, []string{c.Advertise, c.Advertise} }, "different addresses"},
		"own address missing": {func(c *Config) { c.Expect, c.Join = 1, []string{"x:1"} }, "must name this peer"},
		"unspecified address": {func(c *Config) { c.Advertise, c.Single = "0.0.0.0:9875", true }, "no host"},
		"no port":             {func(c *Config) { c.Advertise, c.Single = "host", true }, "HOST:PORT"},
		"single with a list":  {func(c *Config) { c.Single, c.Expect = true, 3 }, "neither"},
		"a part is missing":   {func(c *Config) { c.Single, c.Renewer = true, nil }, "required"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			cfg, _ := testConfig(t, "n1", listen(t))
			defer cfg.Listener.Close()
			tt.change(&cfg)
			if _, err := Open(cfg); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want something about %q", err, tt.want)
			}
		})
	}
}

func TestDirectoryOfAnotherClusterIsRefused(t *testing.T) {
	nodes := three(t)
	stranger := single(t)
	stranger.Close()
	lost := nodes[2]
	lost.Close()
	lost.cfg.DataDir, lost.cfg.NodeID = stranger.cfg.DataDir, stranger.cfg.NodeID
	cfg, _ := testConfig(t, lost.cfg.NodeID, listen(t))
	cfg.DataDir, cfg.Expect, cfg.Join, cfg.Advertise = lost.cfg.DataDir, 3, lost.cfg.Join, lost.cfg.Advertise
	if _, err := Open(cfg); !errors.Is(err, ErrOtherCluster) {
		t.Errorf("%v, want ErrOtherCluster", err)
	}
}

func TestDirectoryFormedAloneIsNotServedAsOneOfSeveral(t *testing.T) {
	alone := single(t)
	alone.Close()
	cfg, _ := testConfig(t, "n1", listen(t))
	cfg.DataDir, cfg.Expect = alone.cfg.DataDir, 2
	other := listen(t)
	defer other.Close()
	cfg.Join = []string{cfg.Advertise, other.Addr().String()}
	if _, err := Open(cfg); !errors.Is(err, ErrOtherCluster) || !strings.Contains(err.Error(), "begun without --join") {
		t.Errorf("%v, want ErrOtherCluster", err)
	}
}

// TestWaitingPeerSaysSo: whoever asks a peer that is in no cluster must not look for a leader.
func TestWaitingPeerSaysSo(t *testing.T) {
	cfg, tn := testConfig(t, "n4", listen(t))
	n := open(t, cfg, tn) // no --join: it waits to be let in
	_, confirmed := n.Confirm(soon(t))
	_, proposed := n.Propose(soon(t), []byte("x"))
	_, changed := n.Transfer(soon(t), "")
	for what, err := range map[string]error{"confirm": confirmed, "propose": proposed, "transfer": changed} {
		if !errors.Is(err, ErrNoLeader) || !strings.Contains(err.Error(), "no cluster yet") || strings.Count(err.Error(), ErrNoLeader.Error()) != 1 {
			t.Errorf("%s: %v", what, err)
		}
	}
}
