package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"
)

// saveTo returns a function that replaces a file whole, after the old content was
// copied to the same name with .bak, as the stock server does.
func saveTo(path string) func(text []byte) error {
	if path == "" {
		return nil
	}
	return func(text []byte) error {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return fmt.Errorf("save settings: %w", err)
		}
		if _, err := fileTarget(path); err != nil { // before it is read: a pipe would not end
			return fmt.Errorf("save settings: %w", err)
		}
		old, err := os.ReadFile(path)
		if err == nil {
			err = replaceFile(path+".bak", old, 0o600)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("save settings: %w", err)
		}
		if err := replaceFile(path, text, 0o644, renameio.WithExistingPermissions()); err != nil {
			return fmt.Errorf("save settings: %w", err)
		}
		return nil
	}
}
