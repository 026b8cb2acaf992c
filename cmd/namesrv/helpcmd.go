package main

import (
	"slices"

	"github.com/urfave/cli/v2"
)

// helpCommand takes the place of the library's, which shows a group of commands
// without them and has exit codes of its own.
func helpCommand() *cli.Command {
	return &cli.Command{
		Name: "help", Aliases: []string{"h"}, Usage: "print what --help prints", ArgsUsage: "[COMMAND...]",
		Description: "Examples:\n  namesrv help cluster\n  namesrv help cluster join",
		Action:      func(c *cli.Context) error { return showHelp(c, c.Args().Slice()) },
	}
}

// showHelp prints the help text of a command, or of the program when none is named.
func showHelp(c *cli.Context, asked []string) error {
	if len(asked) == 0 {
		return cli.ShowAppHelp(c)
	}
	commands := c.App.Commands
	for _, name := range asked {
		at := slices.IndexFunc(commands, func(command *cli.Command) bool { return command.HasName(name) })
		if at < 0 {
			return usagef(c, "unknown command %q%s", name, similarTo(name, commands))
		}
		commands = commands[at].Subcommands
	}
	return c.App.RunContext(c.Context, slices.Concat([]string{c.App.Name}, asked, []string{"--help"}))
}
