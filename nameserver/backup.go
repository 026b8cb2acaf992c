package nameserver

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"namesrv/cluster"
	"namesrv/fsm"
	"namesrv/remoting/protocol"
)

// ErrRefused says that a request makes no sense or would do harm: nothing was
// changed. The text says why.
var ErrRefused = errors.New("refused")

const (
	restorePause = 200 * time.Millisecond // between two tries of a step while no leader is known
	stepLimit    = 10 * time.Second       // of one step of a restore
)

// Save returns tables that show everything that was committed before the call,
// without settings of a restore under way, and a log index that they show at least.
func (s *Service) Save(ctx context.Context) (tables *fsm.State, index uint64, err error) {
	if _, err := s.group.Confirm(ctx); err != nil {
		return nil, 0, err
	}
	index = s.group.Applied() // before the tables are read: they may show more
	return s.tables.State().WithoutUpload(), index, nil
}

// Restore replaces topics, brokers and KV at every peer by those of a snapshot that
// was saved by Save, and returns how many broker addresses it holds. Settings and
// members stay. It goes through the log in steps, of which only the last one shows;
// ErrRefused says that the snapshot cannot be restored.
func (s *Service) Restore(ctx context.Context, snapshot []byte) (addresses int, err error) {
	id := rand.Text()
	steps, err := fsm.EncodeUpload(id, snapshot)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	for i, step := range steps {
		r := restoring{service: s, id: id, UploadStep: step}
		if err := r.step(ctx); err != nil {
			return 0, fmt.Errorf("step %d of %d: %w", i+1, len(steps), err)
		}
	}
	return s.tables.State().Counts().Addresses, nil
}

// restoring is one step of a restore.
type restoring struct {
	service *Service
	id      string
	fsm.UploadStep
}

// step logs one step and goes on until it is certain what became of it. Other
// commands are never sent twice; these may be, since each names the restore and the
// place in it: a late copy is refused by the tables.
func (r *restoring) step(ctx context.Context) error {
	for {
		result, err := r.try(ctx)
		switch {
		case err == nil && result.Code == protocol.Success:
			return nil
		case err == nil && !r.done():
			return fmt.Errorf("%w: %s", ErrRefused, result.Remark)
		case err == nil:
			return nil
		case ctx.Err() != nil, !undecided(err):
			return err
		}
		select {
		case <-time.After(restorePause):
		case <-ctx.Done():
			return err
		}
	}
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
	return errors.Is(err, cluster.ErrNoLeader) || errors.Is(err, cluster.ErrUnknownOutcome) || errors.Is(err, context.DeadlineExceeded)
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

// AllKV returns the KV table of every namespace, as it certainly is.
func (s *Service) AllKV(ctx context.Context) (map[string]map[string]string, error) {
	if _, err := s.group.Confirm(ctx); err != nil {
		return nil, err
	}
	all := make(map[string]map[string]string)
	for ns := range s.tables.State().Namespaces() {
		values := make(map[string]string, ns.Len())
		for key, value := range ns.All() {
			values[key] = value
		}
		all[ns.Name] = values
	}
	return all, nil
}

// WriteSnapshot renders tables as a snapshot, in memory.
func WriteSnapshot(tables *fsm.State, index uint64) ([]byte, error) {
	var out bytes.Buffer
	if err := tables.WriteSnapshot(&out, index); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
