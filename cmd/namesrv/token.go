package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"namesrv/internal/settings"
)

// maxToken bounds what is read of a token file, in bytes.
const maxToken = 4096

// fillToken reads the file of --admin-token-file. One in the data directory need
// not exist: the server makes it when it starts, not whoever looks at its settings.
func (l *loader) fillToken() {
	file := l.values[settings.AdminTokenFile]
	if file == "" {
		return
	}
	token, err := readToken(file)
	switch {
	case err == nil:
		l.cfg.AdminToken = token
	case errors.Is(err, fs.ErrNotExist) && filepath.Dir(file) == filepath.Clean(l.cfg.DataDir):
		l.cfg.NewTokenFile = file
	default:
		l.errs = append(l.errs, fmt.Errorf("--admin-token-file: %w", err))
	}
}

// makeToken writes a token where none was found, for this process's user alone. So
// that of a container is in its volume, and commands run inside it find it.
func (cfg *serverConfig) makeToken() error {
	if cfg.NewTokenFile == "" {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(cfg.NewTokenFile), 0o755); err != nil {
		return fmt.Errorf("--admin-token-file: %w", err)
	}
	token := rand.Text()
	if err := replaceFile(cfg.NewTokenFile, []byte(token+"\n"), 0o600); err != nil {
		return fmt.Errorf("--admin-token-file: %w", err)
	}
	cfg.AdminToken = token
	cfg.Logger.Info("made a token for the HTTP API", "file", cfg.NewTokenFile)
	return nil
}

// readToken reads a token: one word of visible ASCII, with blanks and line ends
// around it, since it travels in an HTTP header.
func readToken(file string) (string, error) {
	text, err := readFile(file, maxToken)
	if err != nil {
		return "", err
	}
	token := strings.TrimSpace(string(text))
	strange := strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' })
	if token == "" || strange {
		return "", fmt.Errorf("%s must hold one word of at most %d letters, digits and signs", file, maxToken)
	}
	return token, nil
}
