package cluster

import (
	"errors"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/hashicorp/raft"
	"go.etcd.io/bbolt"
)

// fakeStore does what it is told with a write.
type fakeStore struct {
	logAndStable
	write func() error
	wrote int
}

func (f *fakeStore) StoreLogs([]*raft.Log) error        { f.wrote++; return f.write() }
func (f *fakeStore) SetUint64(k []byte, v uint64) error { f.wrote++; return f.write() }

// TestDiskIsGivenUpAtItsFirstFault promises that the first write that fails, or takes ten seconds, is the last.
func TestDiskIsGivenUpAtItsFirstFault(t *testing.T) {
	full := errors.New("no space left on device")
	tests := []struct {
		name  string
		write func() error
		given string // part of the reason; empty: it is not given up
	}{
		{"fails", func() error { return full }, "no space left"},
		{"takes long", func() error { time.Sleep(11 * time.Second); return nil }, "took more than 10s"},
		{"is slow", func() error { time.Sleep(9 * time.Second); return nil }, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var reasons []error
				store := &fakeStore{write: tt.write}
				g := newGuard(store, func(err error) { reasons = append(reasons, err) })
				err := g.StoreLog(&raft.Log{})
				again := g.SetUint64([]byte("term"), 2)
				synctest.Wait() // the clock of a late write has spoken
				if tt.given == "" {
					if err != nil || again != nil || len(reasons) > 0 {
						t.Errorf("%v, %v, %v: a slow disk was given up", err, again, reasons)
					}
					return
				}
				if err == nil || again == nil || store.wrote != 1 {
					t.Errorf("%v, then %v after %d writes: it went on", err, again, store.wrote)
				}
				if len(reasons) != 1 || !strings.Contains(reasons[0].Error(), tt.given) {
					t.Errorf("reasons: %v", reasons)
				}
			})
		})
	}
}

// hang keeps every write of a node's log waiting until the returned function is called. It takes the only place for a
// writer in the node's own database, which shows no other handle to tests.
func hang(t *testing.T, n *testNode) (goOn func()) {
	t.Helper()
	field := reflect.ValueOf(n.rt.Load().disk.bolt).Elem().FieldByName("conn")
	db := *(**bbolt.DB)(unsafe.Pointer(field.UnsafeAddr()))
	tx, err := db.Begin(true)
	if err != nil {
		t.Fatal(err)
	}
	return sync.OnceFunc(func() { _ = tx.Rollback() })
}

// TestLeaderWhoseDiskHangs promises that a leader whose disk does not answer is replaced: its heartbeats go on beside
// the disk, so without a limit it would lead for ever and nothing could be written any more.
func TestLeaderWhoseDiskHangs(t *testing.T) {
	t.Parallel() // it waits out the ten seconds
	nodes, rs := relayedThree(t, nil)
	leader, rest := leaderOf(t, nodes...)
	propose(t, leader, "before")
	goOn := hang(t, leader)
	defer goOn()
	began := time.Now()
	if _, err := leader.Propose(soon(t), []byte("hangs")); err == nil {
		t.Error("acknowledged without a disk")
	}
	select {
	case err := <-leader.fatal:
		t.Logf("given up after %v: %v", time.Since(began).Round(time.Millisecond), err)
		if !strings.Contains(err.Error(), "disk") {
			t.Errorf("reason: %v", err)
		}
	case <-time.After(20 * time.Second):
		t.Error("the leader goes on without a disk")
	}
	rs.set(func(p packet) fate { // its process ends now; in this one Raft goes on
		switch {
		case p.from != leader.cfg.NodeID && p.to != leader.cfg.NodeID:
			return pass
		case p.raft:
			return hold
		}
		return drop
	})
	eventually(t, "another leader takes a command", func() bool {
		_, err := rest[0].Propose(soon(t), []byte("after"))
		return err == nil
	})
	t.Logf("commands succeed %v after the disk hung", time.Since(began).Round(time.Millisecond))
}
