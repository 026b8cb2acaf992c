package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/urfave/cli/v2"
)

// everyCommand calls visit for each command, hidden ones included, with its path.
func everyCommand(visit func(command *cli.Command, path []string)) {
	var walk func(commands []*cli.Command, path []string)
	walk = func(commands []*cli.Command, path []string) {
		for _, command := range commands {
			path := append(slices.Clone(path), command.Name)
			visit(command, path)
			walk(command.Subcommands, path)
		}
	}
	walk(newApp(nil, nil, nil).Commands, nil)
}

func TestEveryHelpTextIsComplete(t *testing.T) {
	everyCommand(func(command *cli.Command, path []string) {
		t.Run(strings.Join(path, " "), func(t *testing.T) {
			got := runProgram(t, append(path, "--help")...)
			if got.code != exitDone || got.stderr != "" {
				t.Errorf("exit code %d, stderr %q", got.code, got.stderr)
			}
			if command.Usage == "" || strings.Contains(command.Usage, "\n") || strings.HasSuffix(command.Usage, ".") {
				t.Errorf("its usage is not one line without a full stop: %q", command.Usage)
			}
			_, examples := apart(command.Description)
			if !strings.Contains(examples, "namesrv "+strings.Join(path, " ")) || !strings.Contains(got.stdout, "Example") {
				t.Errorf("no example of it:\n%s", got.stdout)
			}
			for _, flag := range command.Flags {
				checkFlag(t, flag)
			}
		})
	})
	if got := runProgram(t); got.code != exitDone || !strings.Contains(got.stdout, "namesrv server") || !strings.Contains(got.stdout, "Exit codes:") {
		t.Errorf("without arguments: %+v", got)
	}
}

// checkFlag demands a description, a word for the value, and the unit of a duration.
func checkFlag(t *testing.T, flag cli.Flag) {
	t.Helper()
	documented, ok := flag.(cli.DocGenerationFlag)
	if !ok || documented.GetUsage() == "" {
		t.Errorf("%v is not described", flag.Names())
		return
	}
	placeholder, usage := unquoted(documented.GetUsage())
	if documented.TakesValue() && placeholder == "VALUE" {
		t.Errorf("%v: no word in backquotes says what its value is: %s", flag.Names(), usage)
	}
	if _, duration := flag.(*cli.DurationFlag); duration && !strings.Contains(usage, "as in ") {
		t.Errorf("%v: its usage shows no duration with its unit: %s", flag.Names(), usage)
	}
}

// TestVariablesAreForWhereACommandRuns promises that no variable forces, replaces, deletes or confirms anything: one that
// was set for one command would be taken by others. What has variables is listed here.
func TestVariablesAreForWhereACommandRuns(t *testing.T) {
	common := []string{flagAdmin, flagAdminCA, flagTokenFile, flagTimeout, flagOutput}
	more := map[string][]string{"recover": {flagDataDir, flagPeerAdvertise}}
	everyCommand(func(command *cli.Command, path []string) {
		if command.Name == serverName {
			return
		}
		for _, flag := range command.Flags {
			documented, ok := flag.(cli.DocGenerationFlag)
			name := flag.Names()[0]
			allowed := slices.Contains(common, name) || slices.Contains(more[strings.Join(path, " ")], name)
			if ok && len(documented.GetEnvVars()) > 0 != allowed {
				t.Errorf("%s --%s has the variables %v", strings.Join(path, " "), name, documented.GetEnvVars())
			}
		}
	})
}

// pagesDir holds what go generate makes of the help texts.
const pagesDir = "../../docs/commands"

// handwritten are the other pages there.
var handwritten = []string{"json.md"}

func TestPagesAreMadeOfTheHelpTexts(t *testing.T) {
	want := pages(newApp(nil, nil, nil))
	entries, err := os.ReadDir(pagesDir)
	if err != nil {
		t.Fatal(err)
	}
	var have []string
	for _, entry := range entries {
		if !slices.Contains(handwritten, entry.Name()) {
			have = append(have, entry.Name())
		}
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(want)), have); diff != "" {
		t.Errorf("pages (-want +got); run go generate ./cmd/namesrv and delete what is too many:\n%s", diff)
	}
	for name, text := range want {
		found, err := os.ReadFile(filepath.Join(pagesDir, name))
		if diff := cmp.Diff(text, string(found)); err != nil || diff != "" {
			t.Errorf("%s differs from the help texts; run go generate ./cmd/namesrv (%v)\n%s", name, err, diff)
		}
	}
}

func TestPagesCommand(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "folder")
	if got := runProgram(t, "pages", dir); got != (result{}) {
		t.Fatalf("%+v", got)
	}
	kv, err := os.ReadFile(filepath.Join(dir, "kv.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"## namesrv kv get\n", "namesrv kv get [options] NAMESPACE KEY\n", "| `--timeout DURATION` |", "| 5s | `NAMESRV_TIMEOUT` |"} {
		if !strings.Contains(string(kv), part) {
			t.Errorf("kv.md lacks %q:\n%s", part, kv)
		}
	}
	index, err := os.ReadFile(filepath.Join(dir, indexPage))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range exitCodes() {
		if row := fmt.Sprintf("| %d | %s |\n", e.code, e.meaning); !strings.Contains(string(index), row) {
			t.Errorf("the index lacks %q", row)
		}
	}
	if strings.Contains(string(index), suggestName) {
		t.Error("a hidden command is shown")
	}
}
