package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/urfave/cli/v2"

	"namesrv/admin"
)

// permissionChange is a call that changes a broker's write permission, as a method
// expression.
type permissionChange func(client *admin.Client, ctx context.Context, broker string) (int, error)

// brokerCommand looks at brokers and changes their permissions.
func brokerCommand() *cli.Command {
	return &cli.Command{
		Name:  "broker",
		Usage: "look at brokers and stop or allow writing to them",
		Description: "Before a broker is stopped for work, take its write permission away and give it back afterwards.\n\n" +
			"Examples:\n  namesrv broker list\n  namesrv broker wipe-write broker-a",
		Subcommands: []*cli.Command{
			{
				Name: "list", Usage: "print every registered broker address",
				Description: "One line an address; REGISTERED is the log index of its last change.\n\nExample:\n  namesrv broker list",
				Flags:       clientFlags(), Action: listing((*admin.Client).Brokers, brokerTable),
			},
			{
				Name: "wipe-write", Usage: "take the write permission from a broker's queues", ArgsUsage: "NAME",
				Description: "Producers then avoid the broker; consumers go on.\n\nExample:\n  namesrv broker wipe-write broker-a",
				Flags:       clientFlags(), Action: changePermission((*admin.Client).WipeWrite),
			},
			{
				Name: "add-write", Usage: "give the write permission back", ArgsUsage: "NAME",
				Description: "All its queues become readable and writable.\n\nExample:\n  namesrv broker add-write broker-a",
				Flags:       clientFlags(), Action: changePermission((*admin.Client).AddWrite),
			},
		},
	}
}

func brokerTable(w io.Writer, brokers []admin.Broker) {
	rows := make([][]string, 0, len(brokers))
	for _, b := range brokers {
		timeout := time.Duration(b.TimeoutMS) * time.Millisecond
		rows = append(rows, []string{b.Cluster, b.Name, number(b.ID), b.Address, b.Zone, yesNo(b.ActingMaster), timeout.String(), number(b.Registered)})
	}
	columns(w, []string{"CLUSTER", "BROKER", "ID", "ADDRESS", "ZONE", "ACTING MASTER", "TIMEOUT", "REGISTERED"}, rows)
}

func changePermission(change permissionChange) cli.ActionFunc {
	return func(c *cli.Context) error {
		args, err := arguments(c, "NAME")
		if err != nil {
			return err
		}
		return ask(c, func(ctx context.Context, client *admin.Client) error {
			count, err := change(client, ctx, args[0])
			if err != nil {
				return hint(err, "namesrv broker list")
			}
			changed := map[string]any{"broker": args[0], "count": count}
			return show(c, changed, func(w io.Writer) {
				fmt.Fprintf(w, "changed %s of %s\n", quantity(count, "topic", "topics"), cell(args[0]))
			})
		})
	}
}
