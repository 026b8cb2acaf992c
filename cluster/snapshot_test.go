package cluster

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSnapshotCarriesEverything(t *testing.T) {
	n := single(t)
	for i := range 20 {
		propose(t, n, fmt.Sprint("c", i))
	}
	eventually(t, "own addresses", func() bool { return len(n.Node.machine.view().peers) == 1 })
	want, index := n.machine.all(), n.Applied()
	if err := n.raft().Snapshot().Error(); err != nil {
		t.Fatal(err)
	}
	n.Close()
	n = reopen(t, n)
	waitFormed(t, n)
	if _, err := n.Confirm(soon(t)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, n.machine.all()); diff != "" {
		t.Error(diff)
	}
	if n.Applied() < index {
		t.Errorf("applied index %d after a restart, was %d", n.Applied(), index)
	}
	if p := n.Node.machine.view().peers[n.MemberID()]; p.GetClient() != "n1:9876" {
		t.Errorf("own addresses: %v", p)
	}
}

func TestDamagedSnapshotChangesNothing(t *testing.T) {
	var good bytes.Buffer
	good.Write(encodeState(view{uuid: "u", formed: true}, 5))
	good.WriteString("a\nb\n")
	spoilt := func(at int, bits ...byte) []byte {
		b := bytes.Clone(good.Bytes())
		b[at] ^= append(bits, 0x55)[0]
		return b
	}
	tests := map[string][]byte{
		"empty": nil, "cut": good.Bytes()[:12], "other magic": spoilt(0), "format 0": spoilt(len(snapshotMagic), 1), "newer format": spoilt(len(snapshotMagic), 3),
		"other length": spoilt(len(snapshotMagic) + 1), "state damaged": spoilt(len(snapshotMagic) + 10),
	}
	for name, raw := range tests {
		t.Run(name, func(t *testing.T) {
			app := &listMachine{commands: []string{"kept"}}
			m := newMachine(app, identity{MemberID: "n1-1"}, new(applied), func(error) {})
			if err := m.Restore(io.NopCloser(bytes.NewReader(raw))); err == nil {
				t.Error("restored")
			}
			if diff := cmp.Diff([]string{"kept"}, app.all()); diff != "" || m.clusterUUID() != "" {
				t.Errorf("changed: %s, uuid %q", diff, m.clusterUUID())
			}
		})
	}
}

func TestGuardRefusesAfterTheFirstFailure(t *testing.T) {
	var told []error
	g := newGuard(nil, func(err error) { told = append(told, err) })
	full := errors.New("no space left on device")
	if err := g.write("write log", func() error { return full }); !errors.Is(err, full) {
		t.Errorf("%v", err)
	}
	if err := g.write("write log", func() error { t.Error("wrote again"); return nil }); !errors.Is(err, full) {
		t.Errorf("%v", err)
	}
	if len(told) != 1 {
		t.Errorf("told %d times", len(told))
	}
}

// pickyMachine says that every snapshot is of a newer binary.
type pickyMachine struct{ *listMachine }

func (pickyMachine) Restore(io.Reader) error {
	return fmt.Errorf("tables: %w: use a newer one", ErrNewerSnapshot)
}

func TestNewerSnapshotEndsTheMember(t *testing.T) {
	for name, tc := range map[string]struct {
		app    StateMachine
		format byte
		broken bool
	}{
		"of the cluster": {new(listMachine), snapshotVersion + 1, true},
		"of the tables":  {pickyMachine{new(listMachine)}, snapshotVersion, true},
		"damaged":        {new(listMachine), 0, false}, // Raft takes the one before
	} {
		t.Run(name, func(t *testing.T) {
			raw := encodeState(view{uuid: "u", formed: true}, 5)
			raw[len(snapshotMagic)] = tc.format
			var told error
			m := newMachine(tc.app, identity{MemberID: "n1-1"}, new(applied), func(err error) { told = err })
			err := m.Restore(io.NopCloser(bytes.NewReader(raw)))
			if err == nil || errors.Is(err, ErrNewerSnapshot) != tc.broken || (told != nil) != tc.broken || (m.isBroken() != nil) != tc.broken {
				t.Errorf("%v, told %v, broken %v", err, told, m.isBroken())
			}
		})
	}
}
