package main

import (
	"fmt"
	"io"
	"os"
)

// The most that is read of files, in bytes.
const (
	maxProperties = 1 << 20  // settings: those that are known take some 10 KiB
	maxPEM        = 8 << 20  // certificates: those that a system trusts take a quarter of a MiB
	maxKVFile     = 64 << 20 // a kvConfig.json, which the stock server writes whole at each change of a key
)

// readFile reads a file of limit bytes at most. The size that the system tells is not
// asked for: of devices and pipes, which may have no end, it is 0.
func readFile(path string, limit int64) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := readUpTo(file, limit)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return text, nil
}

// readUpTo reads to the end, which must come within limit bytes.
func readUpTo(r io.Reader, limit int64) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(text)) > limit {
		return nil, fmt.Errorf("it has more than the %d bytes that are read of it at most: give another file", limit)
	}
	return text, err
}
