package cluster

import (
	"context"
	"errors"
	"testing"

	"github.com/hashicorp/raft"
)

// futureOf is a future with its answer.
type futureOf struct{ err error }

func (a futureOf) Error() error { return a.err }

// TestTransferIsTriedOverANewConnection promises that connections which Raft kept to
// the former process of a member do not keep the leader from handing over.
func TestTransferIsTriedOverANewConnection(t *testing.T) {
	dead := errors.New("failed to make TimeoutNow RPC: EOF")
	tests := []struct {
		name    string
		answers []error // the last one again and again
		tries   int
		want    error
	}{
		{"at once", []error{nil}, 1, nil},
		{"as many dead connections as are kept", []error{dead, dead, dead, nil}, 4, nil},
		{"more than that", []error{dead}, 4, dead},
		{"another leads", []error{raft.ErrNotLeader}, 1, raft.ErrNotLeader},
	}
	n := single(t)
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			tries := 0
			err := n.transfer(soon(t), func(*raft.Raft) raft.Future {
				tries++
				return futureOf{tc.answers[min(tries, len(tc.answers))-1]}
			})
			if !errors.Is(err, tc.want) || tries != tc.tries {
				t.Errorf("%v after %d tries, want %v after %d", err, tries, tc.want, tc.tries)
			}
		})
	}
	t.Run("no time left", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		err := n.transfer(ctx, func(*raft.Raft) raft.Future { cancel(); return futureOf{dead} })
		if !errors.Is(err, dead) && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}
