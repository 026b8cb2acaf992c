package nameserver

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
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

// liveSettings are this peer's settings; those of the whole cluster are laid over
// them from the tables.
type liveSettings struct {
	save func(text []byte) error // keeps the settings for the next start; may be nil

	waitForService atomic.Int64 // nanoseconds after the start; read by every route query

	mu      sync.Mutex // guards current; held while saving, so that the newest is saved last
	current settings.Settings
}

func newLiveSettings(first settings.Settings, save func([]byte) error) *liveSettings {
	l := &liveSettings{save: save}
	l.setLocked(first)
	return l
}

func (l *liveSettings) setLocked(s settings.Settings) {
	l.current = s
	l.waitForService.Store(0)
	if s.NeedWaitForService() {
		l.waitForService.Store(int64(s.WaitForService()))
	}
}

func (l *liveSettings) get() settings.Settings {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.current
}

// IdleTimeout is how long a connection that is made now may be silent.
func (s *Service) IdleTimeout() time.Duration { return s.settings.get().IdleTimeout() }

// change applies and saves changes. A value that could not work changes nothing.
func (l *liveSettings) change(changes map[string]string, options fsm.Options) (warnings []string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	next, warnings, err := l.current.With(changes)
	if err != nil {
		return warnings, err
	}
	l.setLocked(next)
	if l.save == nil {
		return warnings, nil
	}
	return warnings, l.save(withOptions(next, options).RenderAll())
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

// UpdateConfig changes settings: all of them or, when one could not work, none.
// Names that nobody knows are passed over, as on the stock server; only those of
// the configuration file are kept and shown.
func (s *Service) UpdateConfig(ctx context.Context, changes map[string]string) error {
	changes = maps.Clone(changes)
	if _, _, err := s.settings.get().With(changes); err != nil {
		return err
	}
	maps.DeleteFunc(changes, func(name, _ string) bool { _, known := settings.Lookup(name); return !known })
	shared, own := settings.Apart(changes)
	if len(shared) > 0 {
		holds := func(st *fsm.State) bool { return optionsHold(st.Options(), shared) }
		if v, err := s.readConfirmed(ctx); err != nil || !v.confirmed || !holds(v.State) {
			if _, err := s.change(ctx, fsm.EncodeSetOptions(shared), holds); err != nil {
				return err
			}
		}
	}
	warnings, err := s.settings.change(own, s.tables.State().Options())
	for _, w := range warnings {
		s.log.Warn(w)
	}
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
	wait := time.Duration(s.settings.waitForService.Load())
	return wait > 0 && time.Since(s.started) < wait
}
