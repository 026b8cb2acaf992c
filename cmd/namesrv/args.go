package main

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// arrange moves the flags of a command in front of its arguments, since the
// library stops looking for flags at the first argument and people write
// "kv get NS KEY -o json". What follows "--" stays an argument. So does what
// begins with a single hyphen, names no flag and follows an argument: "kv put NS KEY -1".
func arrange(commands []*cli.Command, args []string) []string {
	command, start := find(commands, args)
	if command == nil || len(command.Subcommands) > 0 {
		return args
	}
	var flags, positional []string
	for rest := args[start:]; len(rest) > 0; rest = rest[1:] {
		arg := rest[0]
		if arg == "--" {
			positional = append(positional, rest[1:]...)
			break
		}
		flag, inline := flagOf(command, arg)
		switch {
		case flag != nil:
			flags = append(flags, arg)
			if takesValue(flag) && !inline && len(rest) > 1 {
				flags = append(flags, rest[1])
				rest = rest[1:]
			}
		case looksLikeFlag(arg, len(positional) > 0):
			flags = append(flags, arg) // to be refused by its name
		default:
			positional = append(positional, arg)
		}
	}
	arranged := append(slices.Clone(args[:start]), flags...)
	if len(positional) > 0 {
		arranged = append(append(arranged, "--"), positional...)
	}
	return arranged
}

// find follows the names of commands and returns the last one and where its
// arguments start.
func find(commands []*cli.Command, args []string) (*cli.Command, int) {
	var found *cli.Command
	for i := 1; i < len(args); i++ {
		at := slices.IndexFunc(commands, func(c *cli.Command) bool { return c.HasName(args[i]) })
		if at < 0 {
			return found, i
		}
		found = commands[at]
		commands = found.Subcommands
	}
	return found, len(args)
}

// flagOf returns the flag of a command that an argument names, and whether its
// value is part of the argument.
func flagOf(command *cli.Command, arg string) (flag cli.Flag, inline bool) {
	if !strings.HasPrefix(arg, "-") {
		return nil, false
	}
	name, _, inline := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(arg, "-"), "-"), "=")
	for _, flag := range append(slices.Clone(command.Flags), cli.HelpFlag) {
		if slices.Contains(flag.Names(), name) {
			return flag, inline
		}
	}
	return nil, false
}

func takesValue(flag cli.Flag) bool {
	documented, ok := flag.(cli.DocGenerationFlag)
	return ok && documented.TakesValue()
}

func looksLikeFlag(arg string, afterArgument bool) bool {
	if afterArgument {
		return strings.HasPrefix(arg, "--")
	}
	return strings.HasPrefix(arg, "-") && arg != "-"
}
