package main

import (
	"fmt"
	"os"
	"syscall"
)

const accessWrite = 2 // W_OK of access(2)

// checkDataDir makes the data directory where it is not there, and finds out early
// whether it can be written.
func checkDataDir(dir string) error {
	err := os.MkdirAll(dir, 0o755)
	if err == nil {
		err = syscall.Access(dir, accessWrite)
	}
	if err != nil {
		return fmt.Errorf("data directory %s cannot be written: %w: make it writable for this user, or give another --data-dir", dir, err)
	}
	return nil
}
