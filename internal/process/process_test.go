package process_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"namesrv/internal/process"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func start(t *testing.T, script string) *process.Process {
	t.Helper()
	p, err := process.Start(process.Config{Path: "sh", Args: []string{"-c", script}, Log: filepath.Join(t.TempDir(), "log")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	return p
}

func soon(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func TestWaitLine(t *testing.T) {
	tests := []struct {
		name, script, text string
		want               string
		err                error
	}{
		{"later", "sleep 0.1; echo one; echo two words; exec sleep 100", "words", "two words", nil},
		{"on standard error", "echo bad thing >&2; exec sleep 100", "bad", "bad thing", nil},
		{"last line without an end", "printf ready", "ready", "ready", nil},
		{"ended without it", "echo other", "ready", "", process.ErrExited},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := start(t, tt.script).WaitLine(soon(t), tt.text)
			if got != tt.want || !errors.Is(err, tt.err) {
				t.Errorf("got %q and %v, want %q and %v", got, err, tt.want, tt.err)
			}
		})
	}
}

func TestWaitLineFindsWhatWasPrintedBefore(t *testing.T) {
	p := start(t, "echo first; echo second; exec sleep 100")
	for _, text := range []string{"second", "first"} {
		if _, err := p.WaitLine(soon(t), text); err != nil {
			t.Error(err)
		}
	}
}

func TestWaitLineEndsWithItsContext(t *testing.T) {
	p := start(t, "exec sleep 100")
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := p.WaitLine(ctx, "never"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want the error of the context", err)
	}
}

func TestStop(t *testing.T) {
	tests := []struct {
		name, script string
		polite       bool
		code         int
	}{
		{"ends by itself", `trap 'exit 3' TERM; echo up; while :; do sleep 0.01; done`, true, 3},
		{"ignores the request", `trap '' TERM; echo up; while :; do sleep 0.01; done`, false, -1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := start(t, tt.script)
			if _, err := p.WaitLine(soon(t), "up"); err != nil {
				t.Fatal(err)
			}
			if got := p.Stop(300 * time.Millisecond); got != tt.polite {
				t.Errorf("ended by itself: %v, want %v", got, tt.polite)
			}
			if code, err := p.ExitCode(soon(t)); code != tt.code || err != nil {
				t.Errorf("exit code %d, %v, want %d", code, err, tt.code)
			}
		})
	}
}

func TestStopReachesAProcessThatIsStopped(t *testing.T) {
	p := start(t, `trap 'exit 0' TERM; echo up; while :; do sleep 0.01; done`)
	if _, err := p.WaitLine(soon(t), "up"); err != nil {
		t.Fatal(err)
	}
	if err := p.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if !p.Stop(10 * time.Second) {
		t.Error("it had to be killed")
	}
}

func TestStreamsAndLog(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	p, err := process.Start(process.Config{Path: "sh", Args: []string{"-c", `echo "out $X"; echo err >&2`}, Env: []string{"X=1"}, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	if code, err := p.ExitCode(soon(t)); code != 0 || err != nil {
		t.Fatalf("exit code %d, %v", code, err)
	}
	if p.Stdout() != "out 1\n" || p.Stderr() != "err\n" {
		t.Errorf("streams %q and %q", p.Stdout(), p.Stderr())
	}
	b, err := os.ReadFile(log)
	if err != nil || !strings.Contains(string(b), "out 1\n") || !strings.Contains(string(b), "err\n") {
		t.Errorf("log %q, %v", b, err)
	}
}

func TestStartOfNothing(t *testing.T) {
	if _, err := process.Start(process.Config{Path: "/no/such/program"}); err == nil {
		t.Error("no error")
	}
}

func TestEnvironment(t *testing.T) {
	t.Setenv("NAMESRV_TEST_KEPT", "kept")
	t.Setenv("NAMESRV_TEST_HIDDEN", "")
	p, err := process.Start(process.Config{
		Path: "sh", Args: []string{"-c", `echo "$NAMESRV_TEST_KEPT ${NAMESRV_TEST_HIDDEN-absent} $NAMESRV_TEST_ADDED"`},
		Env: []string{"NAMESRV_TEST_ADDED=added"}, Hide: []string{"NAMESRV_TEST_HIDDEN"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	if _, err := p.ExitCode(soon(t)); err != nil {
		t.Fatal(err)
	}
	if got := p.Stdout(); got != "kept absent added\n" {
		t.Errorf("the child sees %q", got)
	}
}
