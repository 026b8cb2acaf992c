package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// suggestName is the hidden command that the scripts below ask. The completion that
// the command line library brings is not used: its scripts let the shell evaluate
// what was typed so far, substitutions included, and it knows no values of flags.
const suggestName = "__complete"

const bashCompletion = `# bash completion of namesrv; in ~/.bashrc: source <(namesrv completion bash)
_namesrv() {
  local cur=${COMP_WORDS[COMP_CWORD]}
  [[ $cur != "=" ]] || cur=
  mapfile -t COMPREPLY < <(compgen -W "$("$1" ` + suggestName + ` -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)" -- "$cur")
}
complete -o bashdefault -o default -F _namesrv namesrv
`

const zshCompletion = `#compdef namesrv
# zsh completion of namesrv; in ~/.zshrc, after compinit: source <(namesrv completion zsh)
_namesrv() {
  local -a found
  found=("${(@f)$("$words[1]" ` + suggestName + ` -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n "$found[1]" ]]; then compadd -a found; else _files; fi
}
compdef _namesrv namesrv
`

const fishCompletion = `# fish completion of namesrv: namesrv completion fish > ~/.config/fish/completions/namesrv.fish
complete -c namesrv -a '(set -l typed (commandline -opc); $typed[1] ` + suggestName + ` -- $typed[2..] (commandline -ct) 2>/dev/null)'
`

// completionCommand prints what makes a shell complete commands, flags and their values.
func completionCommand() *cli.Command {
	return &cli.Command{
		Name:  "completion",
		Usage: "print the script that makes a shell complete commands and flags",
		Description: "Files and other arguments are completed as the shell does it.\n\n" +
			"Examples:\n  source <(namesrv completion bash)\n  namesrv completion fish > ~/.config/fish/completions/namesrv.fish",
		Subcommands: []*cli.Command{
			shellCommand("bash", bashCompletion, "source <(namesrv completion bash)"),
			shellCommand("zsh", zshCompletion, "source <(namesrv completion zsh)"),
			shellCommand("fish", fishCompletion, "namesrv completion fish > ~/.config/fish/completions/namesrv.fish"),
		},
	}
}

func shellCommand(shell, script, example string) *cli.Command {
	return &cli.Command{
		Name: shell, Usage: "print the script for " + shell, Description: "Example:\n  " + example,
		Action: func(c *cli.Context) error {
			if _, err := arguments(c); err != nil {
				return err
			}
			_, err := io.WriteString(c.App.Writer, script)
			return err
		},
	}
}

// suggestCommand prints, one a line, what the last of its arguments may become; the
// others are the words before it.
func suggestCommand() *cli.Command {
	return &cli.Command{
		Name: suggestName, Hidden: true, Usage: "print what a word of a command line may become", ArgsUsage: "-- WORD...",
		Description: "Example:\n  namesrv " + suggestName + " -- kv ge",
		Action: func(c *cli.Context) error {
			for _, found := range suggest(c.App.Commands, c.Args().Slice()) {
				fmt.Fprintln(c.App.Writer, found)
			}
			return nil
		},
	}
}

// suggest returns what the last word may become after those before it.
func suggest(commands []*cli.Command, words []string) []string {
	if len(words) == 0 {
		return nil
	}
	before, word := splitAtEquals(words)
	command, start := find(commands, append([]string{"namesrv"}, before...))
	var found []string
	switch flag := valueOf(command, before); {
	case flag != nil:
		found = flagValues(flag)
	case strings.HasPrefix(word, "-") && command != nil:
		found = unusedFlags(command, before)
	case command == nil && len(before) == 0:
		found = namesOf(commands)
	case command != nil && start == len(before)+1:
		found = namesOf(command.Subcommands)
	}
	return slices.DeleteFunc(found, func(s string) bool { return !strings.HasPrefix(s, word) })
}

// splitAtEquals takes the last word off. bash makes three words of --flag=value; "="
// is dropped, as if the value were the next word.
func splitAtEquals(words []string) (before []string, word string) {
	last := len(words) - 1
	word = words[last]
	if word == "=" {
		word = ""
	}
	return slices.DeleteFunc(slices.Clone(words[:last]), func(w string) bool { return w == "=" }), word
}

// valueOf returns the flag whose value comes after these words; nil for none.
func valueOf(command *cli.Command, before []string) cli.Flag {
	if command == nil || len(before) == 0 {
		return nil
	}
	flag, inline := flagOf(command, before[len(before)-1])
	if flag == nil || inline || !takesValue(flag) {
		return nil
	}
	return flag
}

// flagValues are the words that a flag takes; none where the shell may offer files.
func flagValues(flag cli.Flag) []string {
	switch flag.Names()[0] {
	case flagOutput:
		return []string{outputTable, outputJSON}
	case "log-level":
		return slices.Clone(logLevels)
	case "raft-profile":
		return slices.Clone(raftProfiles)
	case "read-consistency":
		return slices.Clone(readModes)
	case "on-no-leader":
		return slices.Clone(leaderlessModes)
	}
	return nil
}

// unusedFlags are the long names of the flags that were not given yet, or may be
// given again.
func unusedFlags(command *cli.Command, before []string) []string {
	var found []string
	for _, flag := range append(slices.Clone(command.Flags), cli.HelpFlag) {
		used := slices.ContainsFunc(before, func(w string) bool {
			given, _ := flagOf(command, w)
			return given == flag && !repeatable(flag)
		})
		if !used {
			found = append(found, dashed(flag.Names()[0]))
		}
	}
	return found
}

func repeatable(flag cli.Flag) bool {
	switch flag.(type) {
	case *cli.StringSliceFlag, *cli.GenericFlag:
		return true
	}
	return false
}

// dashed is a flag's name as it is written.
func dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

func namesOf(commands []*cli.Command) []string {
	var names []string
	for _, command := range commands {
		if !command.Hidden {
			names = append(names, command.Name)
		}
	}
	return names
}
