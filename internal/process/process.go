package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// ErrExited is returned by [Process.WaitLine] when the program ended before it printed the line.
var ErrExited = errors.New("the process ended first")

// pipeDelay bounds how long the end of a process waits for output pipes that a grandchild still holds open.
const pipeDelay = 2 * time.Second

// Config says what to run.
type Config struct {
	Path string   // the program; looked up in PATH when it has no slash
	Args []string // its arguments, without the program itself
	Env  []string // added to this process's own environment
	Hide []string // names of variables of this process that the child does not get
	Dir  string   // working directory; "" = this process's
	Log  string   // file that both output streams are appended to; "" = none
}

// Process is a running or ended child.
type Process struct {
	cmd  *exec.Cmd
	out  *stream
	err  *stream
	log  *os.File
	done chan struct{} // closed when the child has ended and its output has been read
}

// Start runs cfg. The caller ends the child with [Process.Stop] or [Process.Kill].
func Start(cfg Config) (*Process, error) {
	p := &Process{cmd: exec.Command(cfg.Path, cfg.Args...), done: make(chan struct{})}
	if cfg.Log != "" {
		f, err := os.OpenFile(cfg.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
		if err != nil {
			return nil, fmt.Errorf("open the log of %s: %w", cfg.Path, err)
		}
		p.log = f
	}
	p.out, p.err = newStream(p.log), newStream(p.log)
	p.cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains(cfg.Hide, name)
	}), cfg.Env...)
	p.cmd.Dir = cfg.Dir
	p.cmd.Stdout, p.cmd.Stderr = p.out, p.err
	p.cmd.WaitDelay = pipeDelay
	p.cmd.SysProcAttr = childAttr()

	started := make(chan error, 1)
	go p.run(started)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", cfg.Path, err)
	}
	return p, nil
}

// run starts the child and waits for its end. It keeps its operating system thread all that time: the kernel ends the
// child with the thread that started it, not with the process.
func (p *Process) run(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(p.done)
	if p.log != nil {
		defer p.log.Close()
	}
	err := p.cmd.Start()
	started <- err
	if err == nil {
		_ = p.cmd.Wait() // its outcome is read from ProcessState
	}
	p.out.close()
	p.err.close()
}

// Pid is the process id of the child.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Done is closed when the child has ended and all it printed has been read.
func (p *Process) Done() <-chan struct{} { return p.done }

// ExitCode waits for the end of the child and gives its exit code; -1 when a signal ended it, or when ctx ended first
// together with the error of ctx.
func (p *Process) ExitCode(ctx context.Context) (int, error) {
	select {
	case <-p.done:
		return p.cmd.ProcessState.ExitCode(), nil
	case <-ctx.Done():
		return -1, fmt.Errorf("wait for process %d: %w", p.Pid(), ctx.Err())
	}
}

// Stdout is what the child printed on its standard output so far.
func (p *Process) Stdout() string { return p.out.text() }

// Stderr is what the child printed on its standard error so far.
func (p *Process) Stderr() string { return p.err.text() }

// WaitLine waits for the first line of either stream that contains text, printed at any time since the start, and
// returns it. It fails with [ErrExited] when the child ended without it, and with the error of ctx.
func (p *Process) WaitLine(ctx context.Context, text string) (string, error) {
	out, stopOut := p.out.watch(text)
	defer stopOut()
	errs, stopErr := p.err.watch(text)
	defer stopErr()
	select {
	case line := <-out:
		return line, nil
	case line := <-errs:
		return line, nil
	case <-ctx.Done():
		return "", fmt.Errorf("wait for %q: %w", text, ctx.Err())
	case <-p.done:
	}
	for _, s := range []*stream{p.out, p.err} { // printed just before the end
		if line, ok := s.find(text); ok {
			return line, nil
		}
	}
	return "", fmt.Errorf("wait for %q: %w: %s", text, ErrExited, lastLine(p.Stderr(), p.Stdout()))
}

// Signal sends sig to the child. One that has ended is no error.
func (p *Process) Signal(sig syscall.Signal) error {
	if err := p.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("signal process %d: %w", p.Pid(), err)
	}
	return nil
}

// Kill ends the child at once (SIGKILL) and waits until it is gone.
func (p *Process) Kill() {
	_ = p.Signal(syscall.SIGKILL)
	<-p.done
}

// Stop asks the child to end (SIGTERM), kills it after grace, and waits until it is gone. It reports whether the child
// ended by itself.
func (p *Process) Stop(grace time.Duration) bool {
	_ = p.Signal(syscall.SIGCONT) // a stopped process would not see the next one
	_ = p.Signal(syscall.SIGTERM)
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-p.done:
		return true
	case <-timer.C:
		p.Kill()
		return false
	}
}

func lastLine(texts ...string) string {
	for _, s := range texts {
		if lines := strings.Split(strings.TrimSpace(s), "\n"); lines[len(lines)-1] != "" {
			return lines[len(lines)-1]
		}
	}
	return "it printed nothing"
}
