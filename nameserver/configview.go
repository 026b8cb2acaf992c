package nameserver

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"namesrv/internal/settings"
)

// Setting is one setting as this peer uses it.
type Setting struct {
	Name   string
	Value  string // in force
	Next   string // in force after the next start of this peer
	Shared bool   // by all peers: it is changed through the log
	Note   string // why a change that was kept will not hold after that start; most often ""
}

// Settings returns what this peer uses, by name, without secrets.
func (s *Service) Settings(ctx context.Context) ([]Setting, error) {
	v, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	all := withOptions(s.settings.get(), v.Options()).Shown()
	list := make([]Setting, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		list = append(list, s.settingOf(name, all[name]))
	}
	return list, nil
}

// settingOf describes a setting of which that value was kept.
func (s *Service) settingOf(name, kept string) Setting {
	key, _ := settings.Lookup(name)
	one := Setting{Name: name, Value: kept, Next: kept, Shared: key.Cluster}
	first, known := s.cfg.Settings.Value(name)
	if !known || key.Cluster || first == kept {
		return one
	}
	if !key.Live {
		one.Value = first
	}
	if s.cfg.Overruled == nil {
		return one
	}
	if one.Note = s.cfg.Overruled(name); one.Note != "" {
		one.Next = first
	}
	return one
}

// SetSettings is UpdateConfig for a person, who is told what a tool is not: it
// refuses settings that do not exist, values that do not parse, and what is decided
// at the start. ErrRefused says what is wrong; nothing was changed then.
func (s *Service) SetSettings(ctx context.Context, changes map[string]string) error {
	current := s.settings.get()
	names := slices.Sorted(maps.Keys(changes))
	for _, name := range names {
		if _, known := settings.Lookup(name); !known {
			return fmt.Errorf("%w: there is no setting %s: see namesrv config get", ErrRefused, name)
		}
	}
	if fixed := current.Forbidden(names); len(fixed) > 0 {
		return fmt.Errorf("%w: %s cannot be changed while the server runs: change the flag or the file of -c and start it again", ErrRefused, strings.Join(fixed, ", "))
	}
	if bad := settings.Unreadable(changes); len(bad) > 0 {
		return fmt.Errorf("%w: %s", ErrRefused, strings.Join(bad, "; "))
	}
	if _, _, err := current.With(changes); err != nil {
		return refusal{err}
	}
	return s.UpdateConfig(ctx, changes)
}

// refusal makes an error that says itself that something was refused an ErrRefused.
type refusal struct{ error }

func (r refusal) Unwrap() []error { return []error{r.error, ErrRefused} }
