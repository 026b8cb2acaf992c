package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"
)

// newApp builds the tree of commands.
func newApp(stdin io.Reader, stdout, stderr io.Writer) *cli.App {
	app := &cli.App{
		Name:    "namesrv",
		Usage:   "a RocketMQ name server whose peers form one Raft group",
		Version: programVersion(),
		Description: "A server without any flag is complete: it serves clients and brokers on port 9876 and keeps its state.\n" +
			"Every command that prints data takes -o json; errors are one line on standard error.\n" +
			"What is read while no leader can be reached is the last state that the peer knew; one line on standard error says so.\n\n" +
			exitCodeText() + "\n\nExamples:\n  namesrv server\n  namesrv cluster members",
		Commands: []*cli.Command{
			serverCommand(), clusterCommand(), kvCommand(), topicCommand(), brokerCommand(), configCommand(),
			snapshotCommand(), recoverCommand(), tlsCommand(), healthcheckCommand(),
			completionCommand(), versionCommand(), helpCommand(), suggestCommand(), pagesCommand(),
		},
		Flags:          []cli.Flag{cli.HelpFlag}, // the library adds it with its own help command only
		Reader:         stdin,
		Writer:         stdout,
		ErrWriter:      stderr,
		Action:         helpOrUnknown,
		OnUsageError:   onUsageError,
		ExitErrHandler: func(*cli.Context, error) {}, // run reports errors, and only main exits
	}
	for _, command := range app.Commands {
		prepare(command)
	}
	return app
}

// exitCodeText is the table of exit codes, a line each.
func exitCodeText() string {
	lines := []string{"Exit codes:"}
	for _, e := range exitCodes() {
		lines = append(lines, fmt.Sprintf("  %d  %s", e.code, e.meaning))
	}
	return strings.Join(lines, "\n")
}

// prepare gives every command of a tree what they have in common.
func prepare(command *cli.Command) {
	command.HideHelpCommand = true // "help" would be taken for an argument
	command.OnUsageError = onUsageError
	if command.Action == nil {
		command.Action = helpOrUnknown
	}
	for _, sub := range command.Subcommands {
		prepare(sub)
	}
}

// helpOrUnknown is the action of what only groups commands.
func helpOrUnknown(c *cli.Context) error {
	if !c.Args().Present() {
		return cli.ShowSubcommandHelp(c)
	}
	if asked := c.Args().Slice(); helpCommand().HasName(asked[0]) {
		return showHelp(c, append(strings.Fields(c.Command.HelpName)[1:], asked[1:]...)) // HelpName begins with the program's
	}
	return usagef(c, "unknown command %q%s", c.Args().First(), similarTo(c.Args().First(), c.Command.Subcommands))
}

// argValue is the only argument that may be empty.
const argValue = "VALUE"

// arguments returns the positional arguments, which must be as many as there are
// names.
func arguments(c *cli.Context, names ...string) ([]string, error) {
	given := c.Args().Slice()
	if len(given) > len(names) {
		return nil, usagef(c, "unexpected argument %q", given[len(names)])
	}
	for i, name := range names {
		if i >= len(given) {
			return nil, usagef(c, "%s is missing", name)
		}
		if given[i] == "" && name != argValue {
			return nil, usagef(c, "%s is empty", name)
		}
	}
	return given, nil
}
