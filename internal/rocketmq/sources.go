package rocketmq

import (
	"embed"
	"os"
	"path/filepath"
)

// sources are small programs that use the released artifacts.
//
//go:embed testdata
var sources embed.FS

// writeSource puts a program into dir and gives its path.
func writeSource(dir, name string) (string, error) {
	text, err := sources.ReadFile("testdata/" + name)
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, name)
	return path, os.WriteFile(path, text, 0o644)
}
