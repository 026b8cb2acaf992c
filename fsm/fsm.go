package fsm

import "sync/atomic"

// FSM is the state machine: the newest state and the way to the next one.
type FSM struct {
	state atomic.Pointer[State]
}

// New returns a state machine with empty tables and the default options.
func New() *FSM {
	f := new(FSM)
	f.state.Store(emptyState())
	return f
}

// State returns the newest state.
func (f *FSM) State() *State { return f.state.Load() }

// Snapshot returns the state to be written by [State.WriteSnapshot]; taking it
// costs nothing and holds up nobody.
func (f *FSM) Snapshot() *State { return f.State() }

// Apply applies the command logged at index and returns an encoded [Result]. It
// panics with an error that wraps [ErrUnknownCommand] or [ErrBadCommand] when
// [Check] refuses the command: a committed command cannot be skipped without
// becoming different from the other peers, so the process has to stop.
func (f *FSM) Apply(index uint64, command []byte) []byte {
	c, err := decodeCommand(command)
	if err != nil {
		panic(err)
	}
	next, res := c.apply(f.State(), index)
	f.state.Store(next)
	return EncodeResult(res)
}
