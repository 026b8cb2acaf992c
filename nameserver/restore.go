package nameserver

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"namesrv/cluster"
	"namesrv/fsm"
	"namesrv/remoting/protocol"
)

const (
	restorePause = 200 * time.Millisecond // between two tries of a step while no leader is known
	stepLimit    = 10 * time.Second       // of one step of a restore
	firstWait    = 4 * time.Second        // for a leader that takes the first step: nothing is lost by giving up there
	dropLimit    = 2 * time.Second        // to take back what was begun; the leader does it later where this fails
)

// Restore replaces topics, brokers and KV at every peer by those of a snapshot that
// was saved by Save, and returns how many broker addresses it holds. Settings and
// members stay. It goes through the log in steps, of which only the last one shows.
// The id must be another one each time; RestoreState knows the restore by it.
//
// ErrRefused says that the snapshot cannot be restored or that another restore was
// begun since, cluster.ErrNoLeader that no leader took the first step within seconds, or
// that not all steps went through before ctx ended: nothing was changed in any of these
// cases. After cluster.ErrUnknownOutcome RestoreState
// tells what became of it.
func (s *Service) Restore(ctx context.Context, id string, snapshot []byte) (addresses int, err error) {
	steps, err := fsm.EncodeUpload(id, snapshot)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	for i, step := range steps {
		r := restoring{service: s, id: id, UploadStep: step, first: i == 0}
		if err := r.step(ctx); err != nil {
			begun := !r.first || r.unsure
			if begun && !errors.Is(err, cluster.ErrUnknownOutcome) {
				s.dropUpload(context.WithoutCancel(ctx), id)
			}
			return 0, fmt.Errorf("step %d of %d: %w", i+1, len(steps), err)
		}
	}
	return s.tables.State().Counts().Addresses, nil
}

// dropUpload takes back what was begun, so that nobody has to wait for its end.
func (s *Service) dropUpload(ctx context.Context, id string) {
	ctx, cancel := context.WithTimeout(ctx, dropLimit)
	defer cancel()
	if _, err := s.group.Propose(ctx, fsm.EncodeDropUpload(id, math.MaxUint64)); err != nil {
		s.log.Warn("an unfinished restore was not taken back; the leader does it in a while", "restore", id, "error", err)
	}
}

// RestoreState is what the tables know of restores.
type RestoreState struct {
	Restored string // id of the one that took effect last, "" when none did
	Running  string // id of the one under way, "" when none is
	Bytes    uint64 // that have arrived of the one under way
}

// RestoreState tells what became of restores, as it certainly is.
func (s *Service) RestoreState(ctx context.Context) (RestoreState, error) {
	if _, err := s.group.Confirm(ctx); err != nil {
		return RestoreState{}, err
	}
	state := s.tables.State()
	running, bytes := state.Uploading()
	return RestoreState{Restored: state.Restored(), Running: running, Bytes: bytes}, nil
}

// Errors of a step, as they are told to whoever asked for the restore.
var (
	errGivenUp = fmt.Errorf("%w: given up, nothing was changed", cluster.ErrNoLeader)
	errOpen    = fmt.Errorf("%w: the restore may have taken effect", cluster.ErrUnknownOutcome)
)

// restoring is one step of a restore.
type restoring struct {
	service *Service
	id      string
	fsm.UploadStep

	first  bool // nothing was begun before
	unsure bool // a try may have been applied, or may still be
}

// step logs one step and goes on until it is certain what became of it, or ctx ends.
// Other commands are never sent twice; these may be, since each names the restore and
// the place in it: a late copy is refused by the tables.
func (r *restoring) step(ctx context.Context) error {
	began := time.Now()
	for ctx.Err() == nil {
		result, err := r.try(ctx)
		if err == nil && (result.Code == protocol.Success || r.done()) {
			return nil
		}
		if err == nil {
			err = fmt.Errorf("%w: %s; nothing was changed", ErrRefused, result.Remark)
		}
		late := r.first && errors.Is(err, cluster.ErrNoLeader) && time.Since(began) >= firstWait
		if late || !undecided(err) {
			return r.orOpen(err)
		}
		r.unsure = r.unsure || !errors.Is(err, cluster.ErrNoLeader)
		select {
		case <-time.After(restorePause):
		case <-ctx.Done():
		}
	}
	return r.orOpen(errGivenUp)
}

// orOpen keeps apart what surely did not happen and what nobody can know: an earlier
// try of the last step may have taken effect, and another restore have followed.
func (r *restoring) orOpen(err error) error {
	if r.Last && r.unsure {
		return errOpen
	}
	return err
}

func (r *restoring) try(ctx context.Context) (fsm.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, stepLimit)
	defer cancel()
	raw, err := r.service.group.Propose(ctx, r.Command)
	if err != nil {
		return fsm.Result{}, err
	}
	return fsm.DecodeResult(raw)
}

func undecided(err error) bool {
	return errors.Is(err, cluster.ErrNoLeader) || errors.Is(err, cluster.ErrUnknownOutcome) ||
		errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

// done says whether the tables show the step.
func (r *restoring) done() bool {
	state := r.service.tables.State()
	if r.Last {
		return state.Restored() == r.id
	}
	id, have := state.Uploading()
	return id == r.id && have >= r.Have
}
