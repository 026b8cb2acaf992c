package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// modeOf is what kind of file a name is, links not followed.
func modeOf(t *testing.T, path string) fs.FileMode {
	t.Helper()
	found, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	return found.Mode().Type()
}

func mustNot(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// writers are the commands that write a file of which the caller says the name.
func writers(t *testing.T) [][]string {
	t.Helper()
	p := servePeer(t, "")
	p.uuid, p.snapshot = "u-1", tablesOf(t)
	return [][]string{{"kv", "export"}, {"snapshot", "save"}}
}

func TestOnlyRegularFilesAreReplaced(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	mustNot(t, syscall.Mkfifo(at("fifo"), 0o600))
	mustNot(t, os.Mkdir(at("folder"), 0o700))
	mustNot(t, os.Symlink("fifo", at("to-fifo")))
	mustNot(t, os.Symlink("loop", at("loop")))
	for _, command := range writers(t) {
		for _, name := range []string{"fifo", "folder", "to-fifo", "loop"} {
			t.Run(command[1]+" "+name, func(t *testing.T) {
				before := modeOf(t, at(name))
				runProgram(t, append(command, at(name))...).oneLine(t, exitFailed, name, "give the name of a file")
				if after := modeOf(t, at(name)); after != before {
					t.Errorf("it was %v and is %v", before, after)
				}
			})
		}
		runProgram(t, append(command, "-")...).oneLine(t, exitUsage, "standard output")
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 4 {
		t.Errorf("in the folder: %v, %v", left, err)
	}
}

func TestLinksAreFollowed(t *testing.T) {
	tests := map[string]struct{ link, to, target string }{
		"to a file":        {"link", "file", "file"},
		"to no file yet":   {"link", "new", "new"},
		"over another":     {"link", "second", "file"},
		"out of a folder":  {"sub/link", "../file", "file"},
		"in a linked one":  {"alias/link", "../new", "deep/new"},
		"of absolute name": {"link", "/file", "file"},
	}
	for _, command := range writers(t) {
		for name, tc := range tests {
			t.Run(command[1]+" "+name, func(t *testing.T) {
				dir := t.TempDir()
				at := func(name string) string { return filepath.Join(dir, name) }
				mustNot(t, os.MkdirAll(at("deep/sub"), 0o700))
				mustNot(t, os.Mkdir(at("sub"), 0o700))
				mustNot(t, os.Symlink("deep/sub", at("alias")))
				mustNot(t, os.WriteFile(at("file"), []byte("old"), 0o600))
				mustNot(t, os.Symlink("file", at("second")))
				to := tc.to
				if strings.HasPrefix(to, "/") {
					to = dir + to
				}
				mustNot(t, os.Symlink(to, at(tc.link)))
				if got := runProgram(t, append(command, at(tc.link))...); got.code != exitDone {
					t.Fatalf("%+v", got)
				}
				if modeOf(t, at(tc.link)) != fs.ModeSymlink {
					t.Error("the link was replaced")
				}
				if text, err := os.ReadFile(at(tc.target)); err != nil || len(text) < 10 {
					t.Errorf("%s holds %q, %v", tc.target, text, err)
				}
			})
		}
	}
}

func TestSettingsAreSavedToAFileOnly(t *testing.T) {
	dir := t.TempDir()
	path, elsewhere := filepath.Join(dir, "ns.properties"), filepath.Join(dir, "elsewhere")
	mustNot(t, os.Symlink("elsewhere", path))
	mustNot(t, os.WriteFile(elsewhere, []byte("a=1\n"), 0o600))
	if _, err := saveTo(path)(map[string]string{"a": "2"}); err != nil || modeOf(t, path) != fs.ModeSymlink {
		t.Errorf("%v; mode %v", err, modeOf(t, path))
	}
	text, err := os.ReadFile(elsewhere)
	if bak, berr := os.ReadFile(path + ".bak"); string(text) != "a=2\n" || string(bak) != "a=1\n" {
		t.Errorf("%q, before %q, %v", text, bak, errors.Join(err, berr))
	}
	fifo := filepath.Join(dir, "fifo")
	mustNot(t, syscall.Mkfifo(fifo, 0o600))
	if _, err := saveTo(fifo)(map[string]string{"a": "2"}); err == nil || modeOf(t, fifo) != fs.ModeNamedPipe {
		t.Errorf("%v; mode %v", err, modeOf(t, fifo))
	}
}
