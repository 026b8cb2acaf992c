package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"namesrv/admin"
)

// configCommand looks at settings and changes them.
func configCommand() *cli.Command {
	return &cli.Command{
		Name:  "config",
		Usage: "look at the settings of a running peer and change them",
		Description: "Settings have their stock names. What is decided at the start, such as addresses, is changed by the flags\n" +
			"or the file of the server.\n\nExamples:\n  namesrv config get\n  namesrv config set orderMessageEnable=true",
		Subcommands: []*cli.Command{
			{
				Name: "get", Usage: "print the settings that a peer uses, or some of them", ArgsUsage: "[KEY...]",
				Description: "Those of the scope \"cluster\" are the same at every peer. A value that was changed and waits for the next\n" +
					"start of the peer stands under AFTER RESTART.\n\nExamples:\n  namesrv config get\n  namesrv config get orderMessageEnable -o json",
				Flags: clientFlags(), Action: configGet,
			},
			{
				Name: "set", Usage: "change settings: all of those given, or none", ArgsUsage: "KEY=VALUE...",
				Description: "A setting of the cluster changes at every peer and is kept with the tables, others change at the peer\n" +
					"that is asked. These are written into the file of -c, over what stands there, for its next start: neither\n" +
					"defaults nor what flags decide is written with them, and comments are lost. The file before that stays as\n" +
					"FILE.bak. Some settings are in force only from the next start on, which is said. So it is when a change\n" +
					"will not hold then: the peer was started without -c, or a flag of the server decides.\n\n" +
					"When the file cannot be written, or the cluster takes no change, nothing changes. Only when it is not known\n" +
					"whether the cluster took its settings may these have changed, and the others not; the error says so.\n\n" +
					"Example:\n  namesrv config set orderMessageEnable=true",
				Flags: clientFlags(), Action: configSet,
			},
		},
	}
}

func configGet(c *cli.Context) error {
	wanted := c.Args().Slice()
	return look(c, func(ctx context.Context, client *admin.Client) error {
		list, err := client.Settings(ctx)
		if err != nil {
			return err
		}
		if len(wanted) > 0 {
			if list, err = pick(list, wanted); err != nil {
				return err
			}
		}
		if len(wanted) == 1 && c.String(flagOutput) != outputJSON && list[0].Next != list[0].Value {
			fmt.Fprintf(c.App.ErrWriter, "%s: %s after restart\n", list[0].Name, cell(list[0].Next))
		}
		return show(c, list, func(w io.Writer) { settingsTable(w, list, len(wanted) == 1) })
	})
}

// pick returns the settings of the given names, in their order.
func pick(list []admin.Setting, wanted []string) ([]admin.Setting, error) {
	var picked []admin.Setting
	for _, name := range wanted {
		at := slices.IndexFunc(list, func(s admin.Setting) bool { return s.Name == name })
		if at < 0 {
			return nil, fmt.Errorf("there is no setting %s, or it is a secret; see: namesrv config get", cell(name))
		}
		picked = append(picked, list[at])
	}
	return picked, nil
}

func settingsTable(w io.Writer, list []admin.Setting, valueOnly bool) {
	if valueOnly {
		fmt.Fprintln(w, list[0].Value)
		return
	}
	heading := []string{"SETTING", "VALUE", "SCOPE"}
	waiting := slices.ContainsFunc(list, func(s admin.Setting) bool { return s.Next != s.Value })
	if waiting {
		heading = append(heading, "AFTER RESTART")
	}
	rows := make([][]string, 0, len(list))
	for _, s := range list {
		row := []string{s.Name, s.Value, scopeOf(s)}
		switch {
		case waiting && s.Next != s.Value:
			row = append(row, s.Next)
		case waiting:
			row = append(row, "-")
		}
		rows = append(rows, row)
	}
	columns(w, heading, rows)
}

func scopeOf(s admin.Setting) string {
	if s.Shared {
		return "cluster"
	}
	return "peer"
}

func configSet(c *cli.Context) error {
	if !c.Args().Present() {
		return usagef(c, "KEY=VALUE is missing")
	}
	changes := make(map[string]string)
	for _, arg := range c.Args().Slice() {
		name, value, ok := strings.Cut(arg, "=")
		if !ok || name == "" {
			return usagef(c, "%q is not of the form KEY=VALUE", arg)
		}
		if _, twice := changes[name]; twice {
			return usagef(c, "%s is given twice", name)
		}
		changes[name] = value
	}
	return ask(c, func(ctx context.Context, client *admin.Client) error {
		if err := client.SetSettings(ctx, changes); err != nil {
			return err
		}
		list, err := client.Settings(ctx)
		if err == nil {
			list, err = pick(list, slices.Sorted(maps.Keys(changes)))
		}
		if err != nil {
			return fmt.Errorf("they are set, but could not be read back: %w", err)
		}
		return show(c, list, func(w io.Writer) { changedTable(w, list) })
	})
}

// changedTable says what settings are after a change, which not all take at once.
func changedTable(w io.Writer, list []admin.Setting) {
	for _, s := range list {
		fmt.Fprintf(w, "%s is %s", s.Name, cell(s.Value))
		switch {
		case s.Next != s.Value:
			fmt.Fprintf(w, ", and %s after restart", cell(s.Next))
		case s.Note != "":
			fmt.Fprint(w, ", after restart too")
		}
		if s.Note != "" {
			fmt.Fprintf(w, ": %s", s.Note)
		}
		fmt.Fprintln(w)
	}
}
