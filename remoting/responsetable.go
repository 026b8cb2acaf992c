package remoting

import (
	"sync"
	"time"

	"namesrv/remoting/protocol"
)

// result is how a call ended: with an answer or with an error.
type result struct {
	answer *protocol.Command
	err    error
}

// call is one that waits for its answer.
type call struct {
	late   time.Time
	finish func(result)
}

// responseTable holds the calls of one connection that wait for an answer. Each is finished exactly once, by whoever
// takes it out first: its answer, its deadline, or the end of the connection. finish is called without the lock.
type responseTable struct {
	mu    sync.Mutex // guards the fields below
	calls map[int32]call
	err   error // why there will be no more answers
}

// add enters a call, or returns why no answer will come.
func (t *responseTable) add(opaque int32, late time.Time, finish func(result)) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err != nil {
		return t.err
	}
	if t.calls == nil {
		t.calls = map[int32]call{}
	}
	t.calls[opaque] = call{late: late, finish: finish}
	return nil
}

// drop forgets a call and reports whether it was still waiting.
func (t *responseTable) drop(opaque int32) bool {
	_, ok := t.take(opaque)
	return ok
}

func (t *responseTable) take(opaque int32) (call, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	waiting, ok := t.calls[opaque]
	delete(t.calls, opaque)
	return waiting, ok
}

// answer finishes the call that resp answers. One that nobody waits for, or no longer, is ignored.
func (t *responseTable) answer(resp *protocol.Command) {
	if waiting, ok := t.take(resp.Opaque); ok {
		waiting.finish(result{answer: resp})
	}
}

// expire finishes the calls whose deadline has passed, with ErrTimeout.
func (t *responseTable) expire(now time.Time) {
	t.mu.Lock()
	var late []call
	for opaque, waiting := range t.calls {
		if !now.Before(waiting.late) {
			late = append(late, waiting)
			delete(t.calls, opaque)
		}
	}
	t.mu.Unlock()
	for _, waiting := range late {
		waiting.finish(result{err: ErrTimeout})
	}
}

// fail finishes all calls with err, and every later one.
func (t *responseTable) fail(err error) {
	t.mu.Lock()
	calls := t.calls
	t.calls = nil
	if t.err == nil {
		t.err = err
	}
	t.mu.Unlock()
	for _, waiting := range calls {
		waiting.finish(result{err: err})
	}
}

// len returns how many calls are waiting.
func (t *responseTable) len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.calls)
}
