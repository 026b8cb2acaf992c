package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/hashicorp/go-hclog"
)

func TestTokenOfTheDataDirectoryIsMade(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	file := filepath.Join(dir, "token")
	flags := []string{"--data-dir", dir, "--admin-listen", "0.0.0.0:9874", "--admin-token-file", file}
	cfg := mustLoadConfig(t, flags...)
	if cfg.NewTokenFile != file || cfg.AdminToken != "" {
		t.Fatalf("before the start: %q, token %q", cfg.NewTokenFile, cfg.AdminToken)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("a look at the settings made the data directory")
	}
	cfg.Logger = hclog.NewNullLogger()
	if err := cfg.makeToken(); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 || len(cfg.AdminToken) < 20 {
		t.Fatalf("made %v, %v, token %q", info, err, cfg.AdminToken)
	}
	again := mustLoadConfig(t, flags...)
	if again.NewTokenFile != "" || again.AdminToken != cfg.AdminToken {
		t.Errorf("the next start: %q, token %q, want %q", again.NewTokenFile, again.AdminToken, cfg.AdminToken)
	}
}
