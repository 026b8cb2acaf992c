//go:build !linux

package process

import "syscall"

// childAttr asks for nothing: ending a child with its parent is a matter of Linux.
func childAttr() *syscall.SysProcAttr { return nil }
