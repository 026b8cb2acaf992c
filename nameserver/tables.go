package nameserver

import (
	"errors"
	"fmt"
	"io"

	"namesrv/cluster"
	"namesrv/fsm"
)

// Tables is the group's state machine: it lets the replication layer apply, save
// and restore what package fsm holds, and everybody else read it.
type Tables struct {
	fsm     *fsm.FSM
	notices chan noticed // for the leader's clock; dropped when nobody takes them
}

// NewTables makes empty tables.
func NewTables() *Tables { return &Tables{fsm: fsm.New(), notices: make(chan noticed, noticeRoom)} }

// State returns the newest tables. They never change.
func (t *Tables) State() *fsm.State { return t.fsm.State() }

// Knows implements cluster.StateMachine.
func (t *Tables) Knows() uint32 { return fsm.Level }

// Needs implements cluster.StateMachine.
func (t *Tables) Needs(command []byte) uint32 { return fsm.Needs(command) }

// Apply implements cluster.StateMachine.
func (t *Tables) Apply(index uint64, command []byte) (result []byte, err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case error:
			if !errors.Is(p, fsm.ErrUnknownCommand) && !errors.Is(p, fsm.ErrBadCommand) {
				panic(p)
			}
			err = p
		default:
			panic(p)
		}
	}()
	result = t.fsm.Apply(index, command)
	if t.State().Options().NotifyMinBrokerIDChanged {
		t.note(index, result)
	}
	return result, nil
}

// note keeps the notices of an entry; the oldest make room for the newest.
func (t *Tables) note(index uint64, result []byte) {
	r, err := fsm.DecodeResult(result)
	if err != nil || len(r.Notices) == 0 {
		return
	}
	for {
		select {
		case t.notices <- noticed{index: index, list: r.Notices}:
			return
		default:
		}
		select {
		case <-t.notices:
		default:
		}
	}
}

// Snapshot implements cluster.StateMachine.
func (t *Tables) Snapshot() func(io.Writer) error {
	state := t.fsm.Snapshot()
	return func(w io.Writer) error { return state.WriteSnapshot(w, 0) }
}

// Restore implements cluster.StateMachine.
func (t *Tables) Restore(r io.Reader) error {
	_, err := t.fsm.RestoreSnapshot(r)
	switch {
	case errors.Is(err, fsm.ErrSnapshotVersion):
		return fmt.Errorf("tables: %w: %w", cluster.ErrNewerSnapshot, err)
	case err != nil:
		return fmt.Errorf("tables: %w", err)
	}
	return nil
}
