package main

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSuggest(t *testing.T) {
	tests := []struct{ name, words, want string }{
		{"commands", "cl|", "cluster"},
		{"no hidden commands", "__|", ""},
		{"subcommands", "kv |", "get put delete list import export"},
		{"a part of a subcommand", "kv p|", "put"},
		{"nothing for arguments", "kv get NS |", ""},
		{"flags", "kv get --t|", "--token-file --timeout"},
		{"flags behind arguments", "kv get NS KEY --ou|", "--output"},
		{"a flag that was given", "kv get -o json --o|", ""},
		{"a flag that may be given again", "tls cert --host a --ho|", "--host"},
		{"values", "topic list -o |", "table json"},
		{"a part of a value", "server --log-level de|", "debug"},
		{"values behind an equals sign", "server --log-level = |", "trace debug info warn error off"},
		{"on an equals sign", "server --read-consistency =|", "linearizable local"},
		{"a policy", "server --on-no-leader |", "serve refuse"},
		{"a profile", "server --raft-profile w|", "wan"},
		{"files are the shell's", "server -c |", ""},
		{"a switch has no value", "cluster remove --force --w|", ""},
		{"after an unknown word", "nothing |", ""},
		{"help", "version --h|", "--help"},
	}
	commands := newApp(nil, nil, nil).Commands
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			words := strings.Split(strings.TrimSuffix(tc.words, "|"), " ")
			if got := strings.Join(suggest(commands, words), " "); got != tc.want {
				t.Errorf("suggest(%s) = %q, want %q", tc.words, got, tc.want)
			}
		})
	}
}

func TestCompletionScripts(t *testing.T) {
	for shell, script := range map[string]string{"bash": bashCompletion, "zsh": zshCompletion, "fish": fishCompletion} {
		if got := runProgram(t, "completion", shell); got != (result{stdout: script}) {
			t.Errorf("%s: %+v", shell, got)
		}
	}
	runProgram(t, "completion", "tcsh").oneLine(t, exitUsage, `unknown command "tcsh"`)
}

// inBash is what the bash script completes a line to. The cursor is at its end.
const inBash = `
source <(namesrv completion bash)
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
complete -p namesrv >&2
_namesrv namesrv
printf '%s\n' "${COMPREPLY[@]}"
`

func TestCompletionInBash(t *testing.T) {
	tests := []struct{ name, words, want string }{
		{"commands", "namesrv hea", "healthcheck"},
		{"subcommands", "namesrv broker w", "wipe-write"},
		{"flags", "namesrv cluster members --timeo", "--timeout"},
		{"values", "namesrv cluster members -o j", "json"},
		{"a flag with an equals sign, as bash splits it", "namesrv server --on-no-leader = ref", "refuse"},
		{"what was typed is not run", "namesrv kv put $(touch ran) NS --ti", "--timeout"},
		{"nothing", "namesrv kv get x", ""},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), "bash", append([]string{"-c", inBash, "bash"}, strings.Fields(tc.words)...)...)
			cmd.Dir = t.TempDir()
			var stderr strings.Builder
			cmd.Stderr = &stderr
			out, err := cmd.Output()
			if err != nil || !strings.Contains(stderr.String(), "-F _namesrv namesrv") {
				t.Fatalf("%v: %s", err, &stderr)
			}
			if got := strings.TrimSpace(string(out)); got != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
			left, err := exec.CommandContext(t.Context(), "ls", cmd.Dir).Output()
			if diff := cmp.Diff("", string(left)); err != nil || diff != "" {
				t.Errorf("the line was run: %v %s", err, diff)
			}
		})
	}
}
