package nameserver

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"namesrv/fsm"
	"namesrv/internal/properties"
	"namesrv/internal/settings"
	"namesrv/remoting"
	"namesrv/remoting/protocol"
)

// Remarks of the stock server.
const (
	remarkBadProperties = "string2Properties error"
	remarkBlackList     = "Can not update config in black list."
)

// errBusySettings is no end of a context: that would tell that the change may have been made.
var errBusySettings = errors.New("another change of settings is not yet saved, and nothing was changed: try again")

// SaveSettings keeps changes of a peer's own settings for its next start, and
// returns how to take that back. After an error nothing is kept.
type SaveSettings func(changes map[string]string) (undo func() error, err error)

// liveSettings are this peer's settings; those of the whole cluster are laid over
// them from the tables. Readers wait for nothing, however long a disk or the group
// takes over a change.
type liveSettings struct {
	save  SaveSettings  // may be nil
	turn  chan struct{} // holds a token while a change is made, so that the newest is saved last
	force atomic.Pointer[inForce]
}

// inForce is what holds at one moment. It never changes.
type inForce struct {
	settings.Settings
	waitForService time.Duration // after the start; kept here since every route query reads it
}

func newLiveSettings(first settings.Settings, save SaveSettings) *liveSettings {
	l := &liveSettings{save: save, turn: make(chan struct{}, 1)}
	l.put(first)
	return l
}

func (l *liveSettings) put(s settings.Settings) {
	next := &inForce{Settings: s}
	if s.NeedWaitForService() {
		next.waitForService = s.WaitForService()
	}
	l.force.Store(next)
}

func (l *liveSettings) get() settings.Settings { return l.force.Load().Settings }

// IdleTimeout is how long a connection that is made now may be silent.
func (s *Service) IdleTimeout() time.Duration { return s.settings.get().IdleTimeout() }

// change makes changes hold: all or, after an error, none. Those of this peer are
// saved first, since a disk refuses more often than the group does, and that can be
// taken back, which an entry of the log cannot. share is to make those of the whole
// cluster hold; only then the others do. One change is made at a time.
func (l *liveSettings) change(ctx context.Context, changes map[string]string, share func() error) (warnings []string, err error) {
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-ctx.Done():
		return nil, errBusySettings
	}
	next, warnings, err := l.get().With(changes)
	if err != nil {
		return warnings, err
	}
	_, own := settings.Apart(settings.Accepted(changes))
	undo, err := l.keep(own)
	if err != nil {
		return warnings, fmt.Errorf("nothing was changed: %w", err)
	}
	if err := share(); err != nil {
		return warnings, takenBack(err, own, undo)
	}
	l.put(next)
	return warnings, nil
}

// keep saves changes, if there are any and somewhere to save them.
func (l *liveSettings) keep(own map[string]string) (undo func() error, err error) {
	if len(own) == 0 || l.save == nil {
		return func() error { return nil }, nil
	}
	return l.save(own)
}

// takenBack takes back what was saved of this peer's settings after those of the
// cluster failed with err, and says what became of them.
func takenBack(err error, own map[string]string, undo func() error) error {
	if len(own) == 0 {
		return err
	}
	names := strings.Join(slices.Sorted(maps.Keys(own)), ", ")
	if uerr := undo(); uerr != nil {
		// Not of the kind of err, which may say that nothing was changed.
		return fmt.Errorf("%v; %s did not change, but will at the next start of this peer, since the file could not be put back: %w", err, names, uerr)
	}
	return fmt.Errorf("%w; %s did not change", err, names)
}

// withOptions lays the cluster's settings over a peer's.
func withOptions(s settings.Settings, options fsm.Options) settings.Settings {
	over := make(map[string]string)
	for _, name := range fsm.OptionKeys() {
		over[name], _ = options.Get(name)
	}
	all, _, err := s.With(over)
	if err != nil {
		return s // booleans contradict nothing
	}
	return all
}

// getConfig answers GET_NAMESRV_CONFIG with what this peer uses.
func (s *Service) getConfig(ctx context.Context, _ *remoting.Conn, _ *protocol.Command) *protocol.Command {
	v, err := s.read(ctx)
	if err != nil {
		return unreadable(err)
	}
	return withBody(withOptions(s.settings.get(), v.Options()).Render())
}

// updateConfig answers UPDATE_NAMESRV_CONFIG. Settings of the whole cluster go
// through the log, others are this peer's own; tools send the request to every
// peer. Values that do not parse are passed over, as on the stock server; values
// that could not work are refused.
func (s *Service) updateConfig(ctx context.Context, c *remoting.Conn, req *protocol.Command) *protocol.Command {
	if len(req.Body) == 0 {
		return success
	}
	changes, err := properties.Parse(req.Body)
	if err != nil {
		s.audited("update config", c, err)
		return failure(remarkBadProperties)
	}
	names := slices.Sorted(maps.Keys(changes))
	if fixed := s.settings.get().Forbidden(names); len(fixed) > 0 {
		s.audited("update config", c, fmt.Errorf("%w: %s", ErrRefused, remarkBlackList), "settings", names, "forbidden", fixed)
		return protocol.NewResponse(protocol.NoPermission, remarkBlackList)
	}
	err = s.UpdateConfig(ctx, changes)
	s.audited("update config", c, err, "settings", names)
	return answerResult(fsm.Result{}, err)
}

// UpdateConfig changes settings: all of them or, when one could not work, could not
// be saved or was not taken by the group, none. Only when nobody can say whether the
// group took those of the whole cluster (cluster.ErrUnknownOutcome) those may hold all
// the same; those of this peer do not. Names that nobody knows are passed over, as on
// the stock server; only those of the configuration file are kept and shown.
func (s *Service) UpdateConfig(ctx context.Context, changes map[string]string) error {
	changes = maps.Clone(changes)
	maps.DeleteFunc(changes, func(name, _ string) bool { _, known := settings.Lookup(name); return !known })
	shared, _ := settings.Apart(changes)
	warnings, err := s.settings.change(ctx, changes, func() error { return s.share(ctx, shared) })
	for _, w := range warnings {
		s.log.Warn(w)
	}
	return err
}

// share makes settings of the whole cluster hold, through the log if they do not.
func (s *Service) share(ctx context.Context, shared map[string]string) error {
	if len(shared) == 0 {
		return nil
	}
	holds := func(st *fsm.State) bool { return optionsHold(st.Options(), shared) }
	if v, err := s.readConfirmed(ctx); err == nil && v.confirmed && holds(v.State) {
		return nil
	}
	_, err := s.change(ctx, fsm.EncodeSetOptions(shared), holds)
	return err
}

// optionsHold says whether all of changes are in force already.
func optionsHold(o fsm.Options, changes map[string]string) bool {
	for name, value := range changes {
		want := "false"
		if isTrue(value) {
			want = "true"
		}
		if have, known := o.Get(name); known && have != want {
			return false
		}
	}
	return true
}

// waiting says whether route queries are refused since the server has not run
// for the time that needWaitForService asks for.
func (s *Service) waiting() bool {
	wait := s.settings.force.Load().waitForService
	return wait > 0 && time.Since(s.started) < wait
}
