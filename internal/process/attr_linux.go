package process

import "syscall"

// childAttr puts the child into a process group of its own, so that a terminal's interrupt reaches only us, and lets
// the kernel end it with us.
func childAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
