package nameserver

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"namesrv/cluster"
	"namesrv/internal/settings"
	"namesrv/remoting/protocol"
)

// fakeFile is where a peer's settings are saved.
type fakeFile struct {
	kept        map[string]string
	fails       error // of saving
	failsToUndo error
}

func (f *fakeFile) save(changes map[string]string) (func() error, error) {
	if f.fails != nil {
		return nil, f.fails
	}
	before := maps.Clone(f.kept)
	f.kept = maps.Clone(changes)
	return func() error {
		if f.failsToUndo != nil {
			return f.failsToUndo
		}
		f.kept = before
		return nil
	}, nil
}

// shownOf returns what a person is shown of a setting.
func shownOf(t *testing.T, s *Service, name string) Setting {
	t.Helper()
	list, err := s.Settings(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range list {
		if one.Name == name {
			return one
		}
	}
	t.Fatalf("%s is not listed", name)
	return Setting{}
}

func TestSettingsChangeAllOrNone(t *testing.T) {
	full := errors.New("disk full")
	both := map[string]string{"waitSecondsForService": "7", "orderMessageEnable": "true"}
	tests := []struct {
		name    string
		changes map[string]string
		file    fakeFile
		group   func(*fakeGroup)
		says    []string          // parts of the error; nil where there is none
		kept    map[string]string // in the file afterwards
		entries int               // in the log
	}{
		{name: "both", changes: both, kept: map[string]string{"waitSecondsForService": "7"}, entries: 1},
		{name: "the disk is full", changes: both, file: fakeFile{fails: full}, says: []string{"disk full", "nothing was changed"}},
		{name: "the disk is full, and need not be written", changes: map[string]string{"orderMessageEnable": "true"}, file: fakeFile{fails: full}, entries: 1},
		{name: "no leader", changes: both, group: noLeader, says: []string{cluster.ErrNoLeader.Error(), "waitSecondsForService did not change"}},
		{name: "no leader, and the file cannot be put back", changes: both, group: noLeader, file: fakeFile{failsToUndo: full},
			says: []string{cluster.ErrNoLeader.Error(), "waitSecondsForService did not change, but will at the next start", "disk full"},
			kept: map[string]string{"waitSecondsForService": "7"}},
		{name: "one cannot work", changes: map[string]string{"waitSecondsForService": "-1", "orderMessageEnable": "true", "scanNotActiveBrokerInterval": "7"},
			says: []string{"waitSecondsForService is -1"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, func(cfg *Config) { cfg.SaveSettings = tt.file.save })
			if tt.group != nil {
				r.group.set(tt.group)
			}
			err := r.service.SetSettings(t.Context(), tt.changes)
			if (err == nil) != (tt.says == nil) {
				t.Fatalf("error %v", err)
			}
			for _, part := range tt.says {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q lacks %q", err, part)
				}
			}
			if diff := cmp.Diff(tt.kept, tt.file.kept); diff != "" {
				t.Errorf("file (-want +got):\n%s", diff)
			}
			if got := r.group.entries(); got != tt.entries {
				t.Errorf("%d entries in the log, want %d", got, tt.entries)
			}
			r.group.set(func(g *fakeGroup) { g.confirm = nil })
			for name, value := range tt.changes {
				if holds := shownOf(t, r.service, name).Value == value; holds != (err == nil) {
					t.Errorf("%s=%s holds: %v", name, value, holds)
				}
			}
		})
	}
}

// An error that leaves open what the group took is the only one after which a setting may have changed.
func TestSettingsOfUnknownOutcome(t *testing.T) {
	var file fakeFile
	r := newRig(t, func(cfg *Config) { cfg.SaveSettings = file.save })
	r.group.set(func(g *fakeGroup) { g.propose, g.confirm = cluster.ErrUnknownOutcome, cluster.ErrNoLeader })
	err := r.service.SetSettings(t.Context(), map[string]string{"waitSecondsForService": "7", "orderMessageEnable": "true"})
	if !errors.Is(err, cluster.ErrUnknownOutcome) || !strings.Contains(err.Error(), "waitSecondsForService did not change") || len(file.kept) > 0 {
		t.Errorf("error %v, file %v", err, file.kept)
	}
}

func TestOddValuesDoNotHideTheSettings(t *testing.T) {
	first, _, err := settings.Load(settings.Source{})
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, func(cfg *Config) { cfg.Settings = first })
	for _, odd := range []string{`C:\users\x`, `pa\\ss\`, "a=b:c#d!", "größer", "two\nlines"} {
		if err := r.service.SetSettings(t.Context(), map[string]string{"productEnvName": odd}); err != nil {
			t.Fatalf("set %q: %v", odd, err)
		}
		if got := shownOf(t, r.service, "productEnvName").Next; got != odd {
			t.Errorf("shown %q, want %q", got, odd)
		}
	}
}

// A disk that hangs keeps nobody waiting but those who change settings, and these not for longer than they want.
func TestSlowSaveHoldsNothingElseUp(t *testing.T) {
	saving, release := make(chan struct{}), make(chan struct{})
	r := newRig(t, func(cfg *Config) {
		cfg.SaveSettings = func(map[string]string) (func() error, error) {
			close(saving)
			<-release
			return nil, nil
		}
	})
	changed := make(chan error, 1)
	go func() {
		changed <- r.service.UpdateConfig(context.Background(), map[string]string{"serverChannelMaxIdleTimeSeconds": "60"})
	}()
	<-saving
	looked := make(chan struct{})
	go func() {
		defer close(looked)
		shownOf(t, r.service, "serverChannelMaxIdleTimeSeconds")
		r.dial().want(protocol.Success, protocol.GetNamesrvConfig, nil)
		if got := r.service.IdleTimeout(); got != 120*time.Second {
			t.Errorf("in force before it is saved: %s", got)
		}
	}()
	select {
	case <-looked:
	case <-time.After(10 * time.Second):
		t.Error("a look at the settings, or a new connection, waits for the disk")
	}
	impatient, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.service.UpdateConfig(impatient, map[string]string{"waitSecondsForService": "7"}); !errors.Is(err, errBusySettings) {
		t.Errorf("a second change: %v", err)
	}
	close(release)
	if err := <-changed; err != nil {
		t.Fatal(err)
	}
	<-looked
	if got := r.service.IdleTimeout(); got != time.Minute {
		t.Errorf("in force after it is saved: %s", got)
	}
}
