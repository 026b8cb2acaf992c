package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	// The environment of whoever runs the tests must not reach the flags.
	for _, entry := range os.Environ() {
		if name, _, _ := strings.Cut(entry, "="); strings.HasPrefix(name, "NAMESRV_") || strings.HasPrefix(name, "ROCKETMQ_") {
			_ = os.Unsetenv(name)
		}
	}
	goleak.VerifyTestMain(m)
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

// oneLine checks that a failure was said in one line that holds the given parts.
func (r result) oneLine(t *testing.T, code int, parts ...string) {
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

func TestSignals(t *testing.T) {
	signals := make(chan os.Signal)
	stopped, killed := make(chan struct{}), make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		watchSignals(signals, func() { close(stopped) }, func() { close(killed) })
	}()
	signals <- os.Interrupt
	<-stopped
	select {
	case <-killed:
		t.Fatal("killed by the first signal")
	default:
	}
	signals <- os.Interrupt
	<-killed
	<-done
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
		{"bad timeout", []string{"topic", "list", "--timeout", "soon"}, exitUsage, []string{"timeout"}},
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

func TestHelpHasAnExample(t *testing.T) {
	var visit func(command *cli.Command, path []string)
	visit = func(command *cli.Command, path []string) {
		path = append(path, command.Name)
		for _, sub := range command.Subcommands {
			visit(sub, path)
		}
		got := runProgram(t, append(path, "--help")...)
		if got.code != exitDone || got.stderr != "" {
			t.Errorf("%v --help: exit code %d, stderr %q", path, got.code, got.stderr)
		}
		example := "namesrv " + strings.Join(path, " ")
		if len(command.Subcommands) == 0 && (!strings.Contains(got.stdout, "Example") || strings.Count(got.stdout, example) < 3) {
			t.Errorf("%v --help has no example:\n%s", path, got.stdout)
		}
	}
	for _, command := range newApp(nil, nil, nil).Commands {
		visit(command, nil)
	}
	if got := runProgram(t); got.code != exitDone || !strings.Contains(got.stdout, "namesrv server") {
		t.Errorf("without arguments: %+v", got)
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
