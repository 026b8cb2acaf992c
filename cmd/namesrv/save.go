package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"

	"namesrv/internal/properties"
	"namesrv/nameserver"
)

// saveTo returns a function that lays changes over the settings of a file; nil
// without one.
func saveTo(path string) nameserver.SaveSettings {
	if path == "" {
		return nil
	}
	return func(changes map[string]string) (func() error, error) {
		undo, err := laySettings(path, changes)
		if err != nil {
			return nil, fmt.Errorf("save settings: %w", err)
		}
		return undo, nil
	}
}

// saveSettings is how this server keeps changes of its settings. Without -c nobody reads
// the file at the next start: then a disk that does not take it is no reason to refuse.
func (c *serverConfig) saveSettings() nameserver.SaveSettings {
	save := saveTo(c.Settings.ConfigStorePath())
	if save == nil || c.ConfigFile != "" {
		return save
	}
	return func(changes map[string]string) (func() error, error) {
		undo, err := save(changes)
		if err != nil {
			c.Logger.Warn("a change of settings holds until this server ends, and is not kept", "error", err)
			return func() error { return nil }, nil
		}
		return undo, nil
	}
}

// laySettings replaces a file whole, after its content was copied to the same name
// with .bak, as the stock server does. Unlike there it holds what it held before and
// the changes: neither defaults nor what flags decided, which may be others at the
// next start. What was edited by hand meanwhile stays, but for comments.
func laySettings(path string, changes map[string]string) (undo func() error, err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	target, err := fileTarget(path) // before it is read: a pipe would not end
	if err != nil {
		return nil, err
	}
	old, err := readFile(path, maxProperties)
	missing := errors.Is(err, fs.ErrNotExist)
	if err != nil && !missing {
		return nil, err
	}
	kept, err := properties.Parse(old)
	if err != nil {
		return nil, fmt.Errorf("%s, which was changed since the start: %w: mend it first", path, err)
	}
	if !missing {
		if err := replaceFile(path+".bak", old, 0o600); err != nil {
			return nil, err
		}
	}
	maps.Copy(kept, changes)
	write := func(text []byte) error { return replaceFile(path, text, 0o644, renameio.WithExistingPermissions()) }
	if err := write(properties.Format(kept)); err != nil {
		return nil, err
	}
	if missing {
		return func() error { return os.Remove(target) }, nil
	}
	return func() error { return write(old) }, nil
}
