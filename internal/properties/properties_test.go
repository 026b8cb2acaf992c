package properties

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestParse(t *testing.T) {
	tests := []struct {
		name string
		text string
		want map[string]string
	}{
		{"empty", "", map[string]string{}},
		{"separators", "a=1\nb:2\nc 3\nd\t4\ne = 5\nf : 6\ng  7", map[string]string{
			"a": "1", "b": "2", "c": "3", "d": "4", "e": "5", "f": "6", "g": "7"}},
		{"only the first separator counts", "a==1\nb=:2\nc = = 3", map[string]string{"a": "=1", "b": ":2", "c": "= 3"}},
		{"a key alone", "a\nb=\n", map[string]string{"a": "", "b": ""}},
		{"an empty key", "=1\n", map[string]string{"": "1"}},
		{"comments", "#x=1\n! y=2\n  # z=3\na=1 # not a comment", map[string]string{"a": "1 # not a comment"}},
		{"a comment does not continue", "# x \\\na=1", map[string]string{"a": "1"}},
		{"blank lines", "\n \t\f\na=1\n\n", map[string]string{"a": "1"}},
		{"leading blanks go, trailing blanks stay", "  a = 1  ", map[string]string{"a": "1  "}},
		{"crlf and cr", "a=1\r\nb=2\rc=3\r\n", map[string]string{"a": "1", "b": "2", "c": "3"}},
		{"continuation", "a=1,\\\n   2,\\\r\n\t3\nb=4", map[string]string{"a": "1,2,3", "b": "4"}},
		{"a continuation may look like a comment", "a=\\\n#1", map[string]string{"a": "#1"}},
		{"a blank continuation ends the line", "a=1\\\n\nb=2", map[string]string{"a": "1", "b": "2"}},
		{"a backslash alone on a line", "\\\n#a", map[string]string{"#a": ""}},
		{"an empty logical line is none", "\\\n\n#c\na=1", map[string]string{"a": "1"}},
		{"two backslashes do not continue", "a=1\\\\\nb=2", map[string]string{"a": `1\`, "b": "2"}},
		{"a backslash at the end of the text", `a=1\`, map[string]string{"a": "1"}},
		{"escapes", `a\=\:\ \#=\t\r\n\f\q\\`, map[string]string{"a=: #": "\t\r\n\fq\\"}},
		{"unicode", `a=\u4e2D\u0041x`, map[string]string{"a": "中Ax"}},
		{"a surrogate pair", `a=\uD83D\uDE00`, map[string]string{"a": "😀"}},
		{"lone surrogates", `a=\uD83D\u0041\uD83D`, map[string]string{"a": "\uFFFDA\uFFFD"}},
		{"utf-8", "a=中", map[string]string{"a": "中"}},
		{"iso-8859-1", "a=\xe9", map[string]string{"a": "é"}},
		{"the last of equal keys wins", "a=1\na=2", map[string]string{"a": "2"}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			got, err := Parse([]byte(tc.text))
			if err != nil {
				t.Fatalf("Parse: %v", err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("Parse(%q) (-want +got):\n%s", tc.text, diff)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	tests := []struct {
		name string
		text string
		line int
	}{
		{"not a digit", `a=\uZZZZ`, 1},
		{"too short", "\n# c\na=1\nb=\\u12", 4},
		{"in a key", "a=1\n\\u=1", 2},
		{"after a continuation", "a=1\nb=\\\n\\\n\\u00g0", 2},
		{"in the second half of a pair", `a=\uD83D\u00`, 1},
		{"a sign is not a digit", `a=\u+123`, 1},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			_, err := Parse([]byte(tc.text))
			var syntax *SyntaxError
			if !errors.As(err, &syntax) {
				t.Fatalf("Parse(%q) = %v, want a SyntaxError", tc.text, err)
			}
			if syntax.Line != tc.line {
				t.Errorf("line %d, want %d", syntax.Line, tc.line)
			}
		})
	}
}

func TestFormat(t *testing.T) {
	got := string(Format(map[string]string{"b c": " x y ", "a": "1=2", "m": "中😀\x00", "n": "\t\r\n\f\\"}))
	want := "a=1\\=2\n" + `b\ c=\ x y ` + "\n" + `m=\u4E2D\uD83D\uDE00\u0000` + "\n" + `n=\t\r\n\f\\` + "\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Format (-want +got):\n%s", diff)
	}
}

func TestParseLines(t *testing.T) {
	settings, lines, err := ParseLines([]byte("# c\na=1\n\nb=\\\n  2\n=x\na=3\n"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"a": "3", "b": "2", "": "x"}, settings); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]int{"a": 7, "b": 4, "": 6}, lines); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

func TestFormatLosesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.MapOf(rapid.String(), rapid.String()).Draw(t, "settings")
		got, err := Parse(Format(want))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("read back (-want +got):\n%s", diff)
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"a=1\r\nb:2 \\\n c", `k\u4e2d=\uD83D\uDE00`, "#c\n!d\n=\n\\", "a=\xff"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		first, err := Parse(text)
		if err != nil {
			return
		}
		again, err := Parse(Format(first))
		if err != nil {
			t.Fatalf("parse of formatted text: %v", err)
		}
		if diff := cmp.Diff(first, again); diff != "" {
			t.Fatalf("formatting changed the settings (-first +again):\n%s", diff)
		}
	})
}
