package namesrv_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
)

// module is the path of this module in go.mod.
const module = "namesrv"

// Limits that every file and function is held to. Generated code is exempt from
// both, tests from the second: a table of cases is long and easy to read.
const (
	maxFileLines     = 600
	maxFunctionLines = 80
)

// everything in rule.rooms or rule.modules allows any import.
const everything = "*"

// rule says what the packages of one folder, and of those below it that have no
// rule of their own, may import. Their own folder is always allowed, and so is the
// standard library but for what is named. Tests are free.
type rule struct {
	dir       string
	rooms     []string // folders of this module
	modules   []string // other modules, by path prefix
	forbidden []string // packages of the standard library, with those below them
	noGo      bool     // no goroutine may be started
	why       string
}

var (
	impure  = []string{"time", "net", "os", "math/rand", "crypto/rand", "log", "syscall"}
	outside = []string{"net", "os", "log", "syscall"}
	logging = "github.com/hashicorp/go-hclog"
	metrics = "github.com/prometheus/client_golang"
)

// rules are the arrows of the architecture; they point one way.
var rules = []rule{
	{
		dir: "remoting/protocol", forbidden: outside, noGo: true,
		why: "it is data only: frames, headers and bodies, without I/O, so that every other room can use and test it alone",
	},
	{
		dir: "remoting", rooms: []string{"remoting/protocol"},
		modules: []string{logging, metrics, "github.com/pires/go-proxyproto"},
		why:     "it is the wire as a library and knows no word of a name server; its dependencies stay few and small",
	},
	{
		dir: "fsm", rooms: []string{"remoting/protocol"}, forbidden: impure, noGo: true,
		modules: []string{"github.com/hashicorp/go-immutable-radix/v2", "google.golang.org/protobuf"},
		why:     "it must compute the same tables from the same log on every peer: no clock, no chance, no I/O, no goroutine",
	},
	{
		dir: "cluster/liveness", modules: []string{logging}, forbidden: []string{"net", "os", "syscall"},
		why: "it is a clock over opaque keys, in memory only",
	},
	{
		dir: "cluster", rooms: []string{"internal"}, modules: []string{everything},
		why: "it moves opaque commands and hands back opaque results: it knows neither the tables nor the wire",
	},
	{
		dir: "nameserver", rooms: []string{"remoting", "fsm", "cluster", "internal"}, modules: []string{everything},
		why: "it is the only room that knows both the wire and the tables, and it is wired by cmd alone",
	},
	{
		dir: "admin", rooms: []string{"internal"}, modules: []string{logging, metrics},
		why: "it declares what it asks for as interfaces of its own, so that it can be served and tested without a cluster",
	},
	{
		dir: "internal/test", rooms: []string{everything}, modules: []string{everything},
		why: "it helps tests",
	},
	{
		dir: "internal", rooms: []string{"internal"}, modules: []string{everything},
		why: "helpers have one job each and know no room",
	},
	{
		dir: "systemtest", rooms: []string{"internal", "remoting", "admin"}, modules: []string{everything},
		why: "it looks at the built program from outside",
	},
	{dir: "cmd", rooms: []string{everything}, modules: []string{everything}, why: "it wires everything"},
	{dir: "scripts", rooms: []string{everything}, modules: []string{everything}, why: "it holds programs for those who work on this one"},
}

func TestArchitecture(t *testing.T) {
	problems, err := check(os.DirFS("."), rules)
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range problems {
		t.Error(problem)
	}
}

// check reads every Go file of a tree and returns what breaks a rule.
func check(tree fs.FS, rules []rule) ([]string, error) {
	c := &checker{rules: rules, documented: make(map[string]bool)}
	err := fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != "." && skipped(tree, name):
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(name, ".go"):
			return nil
		}
		text, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		return c.file(name, text)
	})
	for dir, documented := range c.documented {
		if !documented {
			c.problem(dir, "has no doc.go with a package comment: a reader starts there")
		}
	}
	slices.Sort(c.problems)
	return c.problems, err
}

// skipped reports folders that hold no code of this module.
func skipped(tree fs.FS, dir string) bool {
	base := path.Base(dir)
	if strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") || base == "testdata" || base == "vendor" {
		return true
	}
	_, err := fs.Stat(tree, path.Join(dir, "go.mod"))
	return err == nil
}

type checker struct {
	rules      []rule
	problems   []string
	documented map[string]bool // by folder of a package: has it a package comment in doc.go
}

func (c *checker) problem(where, format string, args ...any) {
	c.problems = append(c.problems, where+": "+fmt.Sprintf(format, args...))
}

func (c *checker) file(name string, text []byte) error {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	generated, isTest := ast.IsGenerated(file), strings.HasSuffix(name, "_test.go")
	if lines := strings.Count(string(text), "\n"); lines > maxFileLines && !generated {
		c.problem(name, "has %d lines, more than %d: split it by what it does", lines, maxFileLines)
	}
	if isTest {
		return nil
	}
	dir := path.Dir(name)
	c.documented[dir] = c.documented[dir] || path.Base(name) == "doc.go" && file.Doc != nil
	if !generated {
		c.functions(files, name, file)
	}
	c.exits(name, file)
	r, ok := c.ruleFor(dir)
	if !ok {
		c.problem(name, "is in a folder without a rule: add one that says what it may import, and why")
		return nil
	}
	c.imports(name, file, r)
	if r.noGo {
		c.goroutines(files, name, file, r)
	}
	return nil
}

func (c *checker) functions(files *token.FileSet, name string, file *ast.File) {
	for _, declared := range file.Decls {
		function, ok := declared.(*ast.FuncDecl)
		if !ok {
			continue
		}
		lines := files.Position(function.End()).Line - files.Position(function.Pos()).Line + 1
		if lines > maxFunctionLines {
			c.problem(name, "function %s has %d lines, more than %d: split it", function.Name.Name, lines, maxFunctionLines)
		}
	}
}

// exits finds calls that end the process, outside of programs.
func (c *checker) exits(name string, file *ast.File) {
	if file.Name.Name == "main" {
		return
	}
	called := map[string]string{} // local name of a package to its path
	for _, spec := range file.Imports {
		if imported := importPath(spec); imported == "os" || imported == "log" {
			called[localName(spec)] = imported
		}
	}
	ast.Inspect(file, func(node ast.Node) bool {
		selector, ok := node.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		from, _ := selector.X.(*ast.Ident)
		if from == nil {
			return true
		}
		call := called[from.Name] + "." + selector.Sel.Name
		if call == "os.Exit" || strings.HasPrefix(call, "log.Fatal") {
			c.problem(name, "calls %s: only a program in cmd ends the process, after it has closed everything; return an error", call)
		}
		return true
	})
}

func (c *checker) goroutines(files *token.FileSet, name string, file *ast.File, r rule) {
	ast.Inspect(file, func(node ast.Node) bool {
		if statement, ok := node.(*ast.GoStmt); ok {
			c.problem(fmt.Sprintf("%s:%d", name, files.Position(statement.Pos()).Line), "starts a goroutine, but %s", r.why)
		}
		return true
	})
}

// ruleFor returns the rule of the longest folder that dir is in. A rule named
// internal/test covers internal/testcluster too.
func (c *checker) ruleFor(dir string) (rule, bool) {
	var best rule
	found := false
	for _, r := range c.rules {
		if (within(dir, r.dir) || r.dir == "internal/test" && testHelper(dir)) && len(r.dir) >= len(best.dir) {
			best, found = r, true
		}
	}
	return best, found
}

func testHelper(dir string) bool { return strings.HasPrefix(dir, "internal/test") }

func (c *checker) imports(name string, file *ast.File, r rule) {
	dir := path.Dir(name)
	for _, spec := range file.Imports {
		imported := importPath(spec)
		room, ours := strings.CutPrefix(imported, module+"/")
		first, _, _ := strings.Cut(imported, "/")
		switch {
		case ours && testHelper(room) && !testHelper(dir):
			c.problem(name, "imports %s: only tests may use what helps tests", imported)
		case ours && !within(room, r.dir) && !allowed(room, r.rooms):
			c.problem(name, "imports %s, but %s may use only %s of this module: %s", imported, r.dir, listed(r.rooms), r.why)
		case !ours && strings.Contains(first, ".") && !allowed(imported, r.modules):
			c.problem(name, "imports %s, but %s may use only %s of other modules: %s", imported, r.dir, listed(r.modules), r.why)
		case !ours && allowed(imported, r.forbidden):
			c.problem(name, "imports %s, which %s must not: %s", imported, r.dir, r.why)
		}
	}
}

// within reports whether a path is another one or below it.
func within(name, parent string) bool {
	return name == parent || strings.HasPrefix(name, parent+"/")
}

func allowed(name string, list []string) bool {
	return slices.ContainsFunc(list, func(entry string) bool { return entry == everything || within(name, entry) })
}

func listed(list []string) string {
	if len(list) == 0 {
		return "nothing"
	}
	return strings.Join(list, ", ")
}

func importPath(spec *ast.ImportSpec) string {
	imported, err := strconv.Unquote(spec.Path.Value)
	if err != nil {
		panic("the parser let an unquoted import pass: " + spec.Path.Value)
	}
	return imported
}

func localName(spec *ast.ImportSpec) string {
	if spec.Name != nil {
		return spec.Name.Name
	}
	return path.Base(importPath(spec))
}

// TestCheckFindsWhatIsWrong holds the checker itself: a rule that finds nothing
// looks like a clean tree.
func TestCheckFindsWhatIsWrong(t *testing.T) {
	long := "package fsm\n\nfunc f() {\n" + strings.Repeat("\t_ = 1\n", maxFunctionLines) + "}\n"
	tests := []struct {
		name, file, text string
		want             string // part of the only problem, "" for none
	}{
		{"a clean file", "fsm/a.go", "package fsm\n\nimport _ \"fmt\"\nimport _ \"namesrv/remoting/protocol\"\nimport _ \"namesrv/fsm/fsmpb\"\n", ""},
		{"cluster knows the tables", "cluster/a.go", "package cluster\n\nimport _ \"namesrv/fsm\"\n", "cluster/a.go: imports namesrv/fsm, but cluster may use only internal"},
		{"cluster knows the wire", "cluster/a.go", "package cluster\n\nimport _ \"namesrv/remoting/protocol\"\n", "imports namesrv/remoting/protocol"},
		{"cluster knows its user", "cluster/a.go", "package cluster\n\nimport _ \"namesrv/nameserver\"\n", "imports namesrv/nameserver"},
		{"cluster uses its clock", "cluster/a.go", "package cluster\n\nimport _ \"namesrv/cluster/liveness\"\n", ""},
		{"a helper knows a room", "internal/x/a.go", "package x\n\nimport _ \"namesrv/fsm\"\n", "helpers have one job"},
		{"the tables know the time", "fsm/a.go", "package fsm\n\nimport clock \"time\"\n", "fsm/a.go: imports time, which fsm must not: it must compute the same tables"},
		{"the tables throw dice", "fsm/fsmpb/a.go", "package fsmpb\n\nimport _ \"math/rand/v2\"\n", "imports math/rand/v2"},
		{"the tables start work", "fsm/a.go", "package fsm\n\nfunc f() { go f() }\n", "fsm/a.go:3: starts a goroutine"},
		{"the wire takes a big library", "remoting/a.go", "package remoting\n\nimport _ \"github.com/hashicorp/raft\"\n", "imports github.com/hashicorp/raft"},
		{"the wire writes a log", "remoting/a.go", "package remoting\n\nimport _ \"github.com/hashicorp/go-hclog\"\n", ""},
		{"a look-alike module", "remoting/a.go", "package remoting\n\nimport _ \"github.com/hashicorp/go-hclog2\"\n", "go-hclog2"},
		{"a test is free", "fsm/a_test.go", "package fsm\n\nimport _ \"time\"\nimport _ \"namesrv/cluster\"\n", ""},
		{"help for tests in the program", "cmd/namesrv/a.go", "package main\n\nimport _ \"namesrv/internal/testcluster\"\n", "only tests"},
		{"help for tests", "internal/testcluster/a.go", "package testcluster\n\nimport _ \"namesrv/cluster\"\n", ""},
		{"a library exits", "cluster/a.go", "package cluster\n\nimport \"os\"\n\nfunc f() { os.Exit(1) }\n", "calls os.Exit"},
		{"a library exits by another name", "cluster/a.go", "package cluster\n\nimport l \"log\"\n\nfunc f() { l.Fatalf(\"\") }\n", "calls log.Fatalf"},
		{"a program exits", "cmd/namesrv/a.go", "package main\n\nimport \"os\"\n\nfunc f() { os.Exit(1) }\n", ""},
		{"a new room", "extra/a.go", "package extra\n", "folder without a rule"},
		{"a long file", "fsm/a.go", "package fsm\n" + strings.Repeat("\n", maxFileLines), "has 601 lines"},
		{"a long test", "fsm/a_test.go", "package fsm\n" + strings.Repeat("\n", maxFileLines), "has 601 lines"},
		{"a long function", "fsm/a.go", long, "function f has 82 lines"},
		{"generated code", "fsm/a.pb.go", "// Code generated by protoc-gen-go. DO NOT EDIT.\n\n" + long + strings.Repeat("\n", maxFileLines), ""},
		{"another module", "tools/a.go", "package tools\n", ""},
		{"data of a test", "fsm/testdata/a.go", "package broken\n\nimport _ \"time\"\n", ""},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			tree := fstest.MapFS{tc.file: {Data: []byte(tc.text)}, "tools/go.mod": {Data: []byte("module tools\n")}}
			doc := path.Join(path.Dir(tc.file), "doc.go")
			tree[doc] = &fstest.MapFile{Data: []byte("// Package x is documented.\npackage " + packageOf(tc.text) + "\n")}
			problems, err := check(tree, rules)
			if err != nil {
				t.Fatal(err)
			}
			if tc.name == "a new room" {
				problems = problems[:1] // doc.go is in it too
			}
			switch {
			case tc.want == "" && len(problems) > 0:
				t.Errorf("found in a clean tree: %q", problems)
			case tc.want != "" && (len(problems) != 1 || !strings.Contains(problems[0], tc.want)):
				t.Errorf("found %q, want one problem with %q", problems, tc.want)
			}
		})
	}
}

func TestCheckAsksForDocumentation(t *testing.T) {
	tree := fstest.MapFS{
		"fsm/a.go":       {Data: []byte("// Package fsm is documented elsewhere.\npackage fsm\n")},
		"cluster/doc.go": {Data: []byte("package cluster\n")},
		"admin/doc.go":   {Data: []byte("// Package admin is documented.\npackage admin\n")},
	}
	problems, err := check(tree, rules)
	if err != nil {
		t.Fatal(err)
	}
	if len(problems) != 2 || !strings.HasPrefix(problems[0], "cluster: has no doc.go") || !strings.HasPrefix(problems[1], "fsm: has no doc.go") {
		t.Errorf("found %q", problems)
	}
}

// packageOf reads the package clause of a file.
func packageOf(text string) string {
	_, after, _ := strings.Cut("\n"+text, "\npackage ")
	name, _, _ := strings.Cut(after, "\n")
	return name
}
