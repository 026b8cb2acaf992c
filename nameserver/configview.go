package nameserver

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"namesrv/internal/properties"
	"namesrv/internal/settings"
)

// Setting is one setting as this peer uses it.
type Setting struct {
	Name   string
	Value  string // in force
	Next   string // in force after the next start of this peer
	Shared bool   // by all peers: it is changed through the log
}

// Settings returns what this peer uses, by name, without secrets.
func (s *Service) Settings(ctx context.Context) ([]Setting, error) {
	v, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	all, err := properties.Parse(withOptions(s.settings.get(), v.Options()).Render())
	if err != nil {
		return nil, err
	}
	list := make([]Setting, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		key, _ := settings.Lookup(name)
		one := Setting{Name: name, Value: all[name], Next: all[name], Shared: key.Cluster}
		if first, known := s.cfg.Settings.Value(name); known && !key.Live {
			one.Value = first // a change was kept for the next start
		}
		list = append(list, one)
	}
	return list, nil
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
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return s.UpdateConfig(ctx, changes)
}
