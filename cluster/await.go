package cluster

import (
	"context"

	"github.com/hashicorp/raft"
)

// await waits for one of Raft's futures no longer than the context and stop last
// (a nil stop never ends): some futures never answer after a shutdown. after, where
// given, runs once the future has answered, be that after await has returned.
func await(ctx context.Context, stop <-chan struct{}, f raft.Future, after func()) error {
	done := make(chan error, 1)
	go func() {
		err := f.Error()
		if after != nil {
			after()
		}
		done <- err
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-stop:
		return ErrStopped
	}
}
