package systemtest_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const faultCount = 33 // rows of the table in docs/cases.md

var (
	faultRow   = regexp.MustCompile(`^\| ([0-9]{2}) \|`)
	faultLink  = regexp.MustCompile(`\(https://github\.com/[a-z-]+/[a-z-]+/(issues|pull)/[0-9]+\)`)
	namedTest  = regexp.MustCompile("`([a-z/]+)\\.(Test\\w+)`")
	namedCase  = regexp.MustCompile("`conformance/(\\w+)`")
	namedThing = regexp.MustCompile("`[^`]*(\\.Test|conformance/)[^`]*`")
)

// TestFaultsAreCovered promises that the table of faults is whole and that every test it names exists.
func TestFaultsAreCovered(t *testing.T) {
	text, err := os.ReadFile("../docs/cases.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		checkNames(t, line)
		row := faultRow.FindStringSubmatch(line)
		if row == nil {
			continue
		}
		if rows[row[1]] {
			t.Errorf("row %s is there twice", row[1])
		}
		rows[row[1]] = true
		if !faultLink.MatchString(line) || !namedThing.MatchString(line) || strings.Count(line, "|") != 6 {
			t.Errorf("row %s needs a public source, a test and all columns", row[1])
		}
	}
	if len(rows) != faultCount {
		t.Errorf("%d rows, want %d", len(rows), faultCount)
	}
}

// checkNames looks for every test and script that a line names.
func checkNames(t *testing.T, line string) {
	t.Helper()
	tests, cases := namedTest.FindAllStringSubmatch(line, -1), namedCase.FindAllStringSubmatch(line, -1)
	if all := namedThing.FindAllString(line, -1); len(all) != len(tests)+len(cases) {
		t.Errorf("a name without the right form among %q", all)
	}
	for _, m := range tests {
		checkSource(t, filepath.Join("..", m[1], "*_test.go"), "\nfunc "+m[2]+"(t *testing.T)")
	}
	for _, m := range cases {
		checkSource(t, "conformance/*_cases_test.go", `{"`+m[1]+`", `)
	}
}

// checkSource fails the test when none of the files has the text.
func checkSource(t *testing.T, files, text string) {
	t.Helper()
	paths, err := filepath.Glob(files)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		source, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(source), text) {
			return
		}
	}
	t.Errorf("%q is not in %s", text, files)
}
