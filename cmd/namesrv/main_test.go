package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	testscript.Main(topLevel{m}, map[string]func(){"namesrv": main})
}

// mustNotSkip is the variable by which the test command fails where a test would be
// skipped for want of a program.
const mustNotSkip = "NAMESRV_SYSTEMTEST"

// topLevel runs the tests, but not the program that scripts start by its name.
type topLevel struct{ m *testing.M }

// Run runs the tests and looks for goroutines that they left behind.
func (t topLevel) Run() int {
	// The environment of whoever runs the tests must not reach the flags.
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		if strings.HasPrefix(name, "ROCKETMQ_") || strings.HasPrefix(name, "NAMESRV_") && name != mustNotSkip {
			_ = os.Unsetenv(name)
		}
	}
	code := t.m.Run()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return code
}

// result is what a run of the program left behind.
type result struct {
	code           int
	stdout, stderr string
}

func runProgram(t *testing.T, args ...string) result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), append([]string{"namesrv"}, args...), strings.NewReader(""), &stdout, &stderr)
	return result{code, stdout.String(), stderr.String()}
}

// failer is the part of testing.T that oneLine needs.
type failer interface {
	Helper()
	Errorf(format string, args ...any)
}

// oneLine checks that a failure was said in one line that holds the given parts.
func (r result) oneLine(t failer, code int, parts ...string) {
	t.Helper()
	if r.code != code {
		t.Errorf("exit code %d, want %d", r.code, code)
	}
	if r.stdout != "" || strings.Count(r.stderr, "\n") != 1 || !strings.HasPrefix(r.stderr, "namesrv: ") {
		t.Errorf("not one line on standard error: stdout %q, stderr %q", r.stdout, r.stderr)
	}
	for _, part := range parts {
		if !strings.Contains(r.stderr, part) {
			t.Errorf("stderr %q lacks %q", r.stderr, part)
		}
	}
}

// TestSignals promises that a server is given all the time it takes, and nothing else more than a moment.
func TestSignals(t *testing.T) {
	tests := []struct {
		name  string
		args  string
		again bool // a second signal comes
		kills bool
	}{
		{"a command", "kv import file", false, true},
		{"a command, twice", "kv import file", true, true},
		{"a server", "server -p", false, false},
		{"a server behind other things", "-- server -p", false, false},
		{"a server, twice", "server", true, true},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				signals := make(chan os.Signal)
				var stopped, killed atomic.Bool
				go watchSignals(signals, patience(strings.Fields("namesrv "+tc.args)), func() { stopped.Store(true) }, func() { killed.Store(true) })
				signals <- os.Interrupt
				synctest.Wait()
				if !stopped.Load() || killed.Load() {
					t.Errorf("after the first signal: stopped %v, killed %v", stopped.Load(), killed.Load())
				}
				if tc.again {
					signals <- os.Interrupt
				} else {
					time.Sleep(time.Hour) // of the test's own clock
				}
				synctest.Wait()
				if killed.Load() != tc.kills {
					t.Errorf("killed %v, want %v", killed.Load(), tc.kills)
				}
				if !tc.kills {
					signals <- os.Interrupt // ends the goroutine
				}
			})
		})
	}
}

func TestUsageErrors(t *testing.T) {
	tests := []struct {
		name  string
		args  []string
		code  int
		parts []string
	}{
		{"unknown command", []string{"serve"}, exitUsage, []string{`unknown command "serve"`, "did you mean", "namesrv --help"}},
		{"unknown subcommand", []string{"kv", "gett"}, exitUsage, []string{`"gett"`, `did you mean "get"`, "namesrv kv --help"}},
		{"the stock server's command line", []string{"-c", "file"}, exitUsage, []string{"unknown flag -c", `"server"`}},
		{"unknown flag", []string{"kv", "get", "NS", "KEY", "--bogus"}, exitUsage, []string{"unknown flag --bogus", "namesrv kv get --help"}},
		{"missing argument", []string{"kv", "get", "NS"}, exitUsage, []string{"KEY is missing"}},
		{"empty argument", []string{"kv", "get", "", "KEY"}, exitUsage, []string{"NAMESPACE is empty"}},
		{"too many arguments", []string{"topic", "list", "x"}, exitUsage, []string{`unexpected argument "x"`}},
		{"bad format", []string{"topic", "list", "-o", "yaml"}, exitUsage, []string{`"yaml"`, "table or json"}},
		{"bad format of version", []string{"version", "-o", "yaml"}, exitUsage, []string{`"yaml"`}},
		{"bad timeout", []string{"topic", "list", "--timeout", "soon"}, exitUsage, []string{`--timeout "soon": it is no duration`, "10s"}},
		{"a timeout without its unit", []string{"topic", "list", "--timeout", "5"}, exitUsage, []string{`--timeout "5": use a unit, as in 5s`}},
		{"a wait without its unit", []string{"cluster", "join", "n4", "ns4:9875", "--wait", "30"}, exitUsage, []string{`--wait "30": use a unit, as in 30s`}},
		{"no URL", []string{"topic", "list", "--admin", ""}, exitUsage, []string{`--admin: "" is no URL`, "http://HOST:PORT"}},
		{"a host that is none", []string{"topic", "list", "--admin", "a?b"}, exitUsage, []string{`--admin: "a?b" is no URL`}},
		{"no time at all", []string{"topic", "list", "--timeout", "0s"}, exitUsage, []string{"--timeout"}},
		{"bad URL", []string{"topic", "list", "--admin", "ftp://x"}, exitUsage, []string{"--admin", "http://HOST:PORT"}},
		{"no token file", []string{"topic", "list", "--token-file", "/nonexistent"}, exitUsage, []string{"--token-file", "/nonexistent"}},
		{"healthcheck", []string{"healthcheck", "--admin", "ftp://x"}, exitUsage, []string{"--admin"}},
		{"argument of the server", []string{"server", "now"}, exitFailed, []string{`unexpected argument "now"`}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) { runProgram(t, tc.args...).oneLine(t, tc.code, tc.parts...) })
	}
}

func TestVariableWithoutItsUnit(t *testing.T) {
	t.Setenv("NAMESRV_TIMEOUT", "5")
	runProgram(t, "topic", "list").oneLine(t, exitUsage, `--timeout "5"`, `"NAMESRV_TIMEOUT"`, "use a unit, as in 5s")
}

func TestServerShowsItsUsage(t *testing.T) {
	got := runProgram(t, "server", "--bogus")
	if got.code != exitFailed || got.stdout != "" {
		t.Errorf("exit code %d, stdout %q", got.code, got.stdout)
	}
	for _, part := range []string{"unknown flag --bogus", "--bootstrap-expect", "$NAMESRV_DATA_DIR"} {
		if !strings.Contains(got.stderr, part) {
			t.Errorf("stderr lacks %q", part)
		}
	}
}

func TestVersion(t *testing.T) {
	if got := runProgram(t, "version"); got.code != exitDone || !strings.HasPrefix(got.stdout, "namesrv "+programVersion()+" (go") {
		t.Errorf("version: %+v", got)
	}
	if got := runProgram(t, "version", "-o", "json"); got.code != exitDone || !strings.Contains(got.stdout, `"version": "`) {
		t.Errorf("version -o json: %+v", got)
	}
}

func TestArrange(t *testing.T) {
	tests := []struct{ name, given, want string }{
		{"flags move to the front", "kv get NS KEY -o json", "kv get -o json -- NS KEY"},
		{"flags between", "kv get NS --timeout=2s KEY", "kv get --timeout=2s -- NS KEY"},
		{"one hyphen for long names", "kv get NS KEY -output json", "kv get -output json -- NS KEY"},
		{"a negative value", "kv put NS KEY -1", "kv put -- NS KEY -1"},
		{"an unknown flag stays one", "kv put NS KEY --x", "kv put --x -- NS KEY"},
		{"after two hyphens all are arguments", "kv put NS -o json -- KEY -o", "kv put -o json -- NS KEY -o"},
		{"names like commands and flags", "kv get help o", "kv get -- help o"},
		{"a flag without its value", "kv get NS KEY -o", "kv get -o -- NS KEY"},
		{"a switch takes no value", "server -p -c f", "server -p -c f"},
		{"help", "kv get --help", "kv get --help"},
		{"a group", "kv -h", "kv -h"},
		{"nothing", "", ""},
		{"no command", "x -y", "x -y"},
	}
	commands := newApp(nil, nil, nil).Commands
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			args := append([]string{"namesrv"}, strings.Fields(tc.given)...)
			if got := strings.Join(arrange(commands, args)[1:], " "); got != tc.want {
				t.Errorf("arrange(%s) = %s, want %s", tc.given, got, tc.want)
			}
		})
	}
}
