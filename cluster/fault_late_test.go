package cluster

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/hashicorp/raft"
)

// cutLink ends the connection over which a node speaks to another one, at its own side.
func cutLink(t *testing.T, from, to *testNode) {
	t.Helper()
	s, err := from.peers.slot(to.MemberID() + "@" + to.cfg.Advertise)
	if err != nil {
		t.Fatal(err)
	}
	s.link.breakWith(errors.New("cut by the test"))
}

// TestLateCopyUndoesNothing promises that a forwarded command which is still on its way when its connection ends does
// not take effect after its sender was told that the outcome is unknown: what the sender then finds in confirmed tables,
// and what others change from then on, stays.
func TestLateCopyUndoesNothing(t *testing.T) {
	tests := []struct {
		name      string
		limit     time.Duration                                           // of the sender
		early     bool                                                    // it is told before that
		meanwhile func(t *testing.T, leader *testNode, nodes []*testNode) // while the command is on its way
	}{
		{"the same leader", 2 * time.Second, false, func(*testing.T, *testNode, []*testNode) {}},
		{"the leader was replaced and leads again", 30 * time.Second, true, func(t *testing.T, leader *testNode, nodes []*testNode) {
			i := slices.Index(nodes, leader)
			makeLeader(t, nodes[(i+1)%len(nodes)], nodes)
			makeLeader(t, leader, nodes)
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			nodes, rs := relayedThree(t, func(cfgs []Config) {
				for i := range cfgs {
					cfgs[i].Profile = WAN // a busy machine must not cost a leader
				}
			})
			rs.setLinger()
			leader, rest := leaderOf(t, nodes...)
			asker := rest[0]
			propose(t, asker, "before") // the connection is there
			way := packet{from: asker.cfg.NodeID, to: leader.cfg.NodeID, msg: msgPropose}
			rs.set(func(p packet) fate {
				if p == way {
					return hold
				}
				return pass
			})
			ctx, cancel := context.WithTimeout(t.Context(), tt.limit)
			defer cancel()
			told := make(chan error, 1)
			go func() { _, err := asker.Propose(ctx, []byte("late")); told <- err }()
			eventually(t, "the command is on its way", func() bool { return rs.count(hold, way) > 0 })
			rs.set(nil)
			cutLink(t, asker, leader)
			tt.meanwhile(t, leader, nodes)
			if err := <-told; !errors.Is(err, ErrUnknownOutcome) {
				t.Fatalf("%v, want an unknown outcome", err)
			}
			if early := ctx.Err() == nil; early != tt.early {
				t.Errorf("told before its time was over: %v, want %v", early, tt.early)
			}
			propose(t, asker, "newer")
			answer := way
			answer.answer = true
			answered := rs.count(pass, answer)
			rs.release()
			eventually(t, "the late copy is answered", func() bool { return rs.count(pass, answer) > answered })
			if _, err := leader.Confirm(soon(t)); err != nil {
				t.Fatal(err)
			}
			if all := leader.machine.all(); slices.Index(all, "late") > slices.Index(all, "newer") {
				t.Errorf("it took effect after what was acknowledged later: %q", all)
			}
		})
	}
}

// TestLargestCommandIsForwarded promises that a command which the leader would take goes through at every member.
func TestLargestCommandIsForwarded(t *testing.T) {
	nodes := three(t)
	_, rest := leaderOf(t, nodes...)
	size := MaxCommand
	for ; ; size-- {
		if _, err := encodeEnvelope(rest[0].envelopeOf(make([]byte, size))); err == nil {
			break
		}
	}
	res, err := rest[0].Propose(soon(t), bytes.Repeat([]byte{'x'}, size))
	if err != nil || len(res) != size+len("done ") {
		t.Errorf("%d bytes of result, %v", len(res), err)
	}
	if _, err := rest[0].Propose(soon(t), make([]byte, size+1)); !errors.Is(err, ErrTooLarge) {
		t.Errorf("one byte more: %v, want %v", err, ErrTooLarge)
	}
}

// TestSnapshotThatCameLate promises that an old snapshot of the leader, which was on its way while newer entries were
// applied, does not take the tables back: Raft v1.8.0 installs whatever comes in the current term.
func TestSnapshotThatCameLate(t *testing.T) {
	nodes := three(t)
	leader, rest := leaderOf(t, nodes...)
	propose(t, leader, "old")
	shot := leader.raft().Snapshot()
	if err := shot.Error(); err != nil {
		t.Fatal(err)
	}
	meta, rc, err := shot.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer rc.Close()
	raw, err := io.ReadAll(rc)
	if err != nil {
		t.Fatal(err)
	}
	late := rest[0]
	propose(t, late, "new")
	index := late.Applied()
	req := &raft.InstallSnapshotRequest{
		RPCHeader:       raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax, ID: []byte(leader.MemberID()), Addr: []byte(leader.cfg.Advertise)},
		SnapshotVersion: meta.Version, Term: leader.raft().CurrentTerm(), LastLogIndex: meta.Index, LastLogTerm: meta.Term,
		Configuration: raft.EncodeConfiguration(meta.Configuration), ConfigurationIndex: meta.ConfigurationIndex, Size: int64(len(raw)),
	}
	trans := leader.rt.Load().trans.NetworkTransport
	if err := trans.InstallSnapshot(raft.ServerID(late.MemberID()), raft.ServerAddress(late.cfg.Advertise), req, new(raft.InstallSnapshotResponse), bytes.NewReader(raw)); err == nil {
		t.Error("it was installed")
	}
	if !slices.Contains(late.machine.all(), "new") || late.Applied() < index {
		t.Errorf("the tables went back from log entry %d to %d: %q", index, late.Applied(), late.machine.all())
	}
	propose(t, late, "after")
	if !slices.Equal(late.machine.all(), leader.machine.all()) {
		t.Errorf("%q here, %q at the leader", late.machine.all(), leader.machine.all())
	}
}
