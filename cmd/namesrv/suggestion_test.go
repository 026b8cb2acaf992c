package main

import (
	"strings"
	"testing"
)

func TestSimilarCommands(t *testing.T) {
	tests := []struct{ given, want string }{
		{"serve", "server"},
		{"topics", "topic"},
		{"snapshto", "snapshot"},
		{"ver", "version"},
		{"foo", ""},
		{"x", ""},
		{"cluster foo", ""},
		{"cluster member", "members"},
		{"cluster membres", "members"},
		{"cluster rm", ""},
		{"kv gett", "get"},
		{"kv exp", "export"},
		{"kv putt", "put"},
	}
	for _, tc := range tests {
		t.Run(tc.given, func(t *testing.T) {
			words := strings.Fields(tc.given)
			got := runProgram(t, words...)
			got.oneLine(t, exitUsage, `unknown command "`+words[len(words)-1]+`"`)
			suggested := ""
			if _, rest, found := strings.Cut(got.stderr, `did you mean "`); found {
				suggested, _, _ = strings.Cut(rest, `"`)
			}
			if suggested != tc.want {
				t.Errorf("suggests %q, want %q: %s", suggested, tc.want, got.stderr)
			}
		})
	}
}

// TestHelpInAGroup promises that "help" is understood wherever a command may stand.
func TestHelpInAGroup(t *testing.T) {
	for given, like := range map[string]string{
		"kv help":           "kv --help",
		"kv h":              "kv --help",
		"kv help get":       "kv get --help",
		"cluster help join": "cluster join --help",
		"help kv":           "kv --help",
	} {
		t.Run(given, func(t *testing.T) {
			want, got := runProgram(t, strings.Fields(like)...), runProgram(t, strings.Fields(given)...)
			if got != want || got.code != exitDone || got.stdout == "" {
				t.Errorf("%+v, want %+v", got, want)
			}
		})
	}
	runProgram(t, "kv", "help", "bogus").oneLine(t, exitUsage, `unknown command "bogus"`)
	if got := runProgram(t, "kv", "help", "help"); strings.Contains(got.stderr, "did you mean") {
		t.Error(got.stderr)
	}
}
