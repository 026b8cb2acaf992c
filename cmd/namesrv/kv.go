package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/urfave/cli/v2"

	"namesrv/admin"
)

// kvCommand reads and changes the KV store (mqadmin updateKvConfig and its kin).
func kvCommand() *cli.Command {
	return &cli.Command{
		Name:  "kv",
		Usage: "read and change stored keys, such as order topics",
		Description: "All peers hold the same keys; a change is made in the whole group or not at all.\n\n" +
			"Examples:\n  namesrv kv list ORDER_TOPIC_CONFIG\n  namesrv kv put ORDER_TOPIC_CONFIG TopicA broker-a:8",
		Subcommands: append([]*cli.Command{
			{
				Name: "get", Usage: "print one value", ArgsUsage: "NAMESPACE KEY",
				Description: "Example:\n  namesrv kv get ORDER_TOPIC_CONFIG TopicA",
				Flags:       clientFlags(), Action: kvGet,
			},
			{
				Name: "put", Usage: "store a value", ArgsUsage: "NAMESPACE KEY VALUE",
				Description: "A value that begins with two hyphens follows \"--\".\n\n" +
					"Example:\n  namesrv kv put ORDER_TOPIC_CONFIG TopicA broker-a:8",
				Flags: clientFlags(), Action: kvPut,
			},
			{
				Name: "delete", Usage: "remove a key", ArgsUsage: "NAMESPACE KEY",
				Description: "A key that is not there is said to be so, with exit code 1.\n\nExample:\n  namesrv kv delete ORDER_TOPIC_CONFIG TopicA",
				Flags:       clientFlags(), Action: kvDelete,
			},
			{
				Name: "list", Usage: "print all keys of a namespace", ArgsUsage: "NAMESPACE",
				Description: "Example:\n  namesrv kv list ORDER_TOPIC_CONFIG -o json",
				Flags:       clientFlags(), Action: kvList,
			},
		}, kvFileCommands()...),
	}
}

func kvGet(c *cli.Context) error {
	args, err := arguments(c, "NAMESPACE", "KEY")
	if err != nil {
		return err
	}
	return look(c, func(ctx context.Context, client *admin.Client) error {
		kv, err := client.GetKV(ctx, args[0], args[1])
		if err != nil {
			return hint(err, "namesrv kv list "+args[0])
		}
		return show(c, kv, func(w io.Writer) { fmt.Fprintln(w, kv.Value) })
	})
}

func kvPut(c *cli.Context) error {
	args, err := arguments(c, "NAMESPACE", "KEY", argValue)
	if err != nil {
		return err
	}
	return ask(c, func(ctx context.Context, client *admin.Client) error {
		if err := client.PutKV(ctx, args[0], args[1], args[2]); err != nil {
			return err
		}
		stored := admin.KV{Namespace: args[0], Key: args[1], Value: args[2]}
		return show(c, stored, func(w io.Writer) { fmt.Fprintf(w, "stored %s in %s\n", cell(args[1]), cell(args[0])) })
	})
}

func kvDelete(c *cli.Context) error {
	args, err := arguments(c, "NAMESPACE", "KEY")
	if err != nil {
		return err
	}
	return ask(c, func(ctx context.Context, client *admin.Client) error {
		if err := client.DeleteKV(ctx, args[0], args[1]); err != nil {
			return hint(err, "namesrv kv list "+args[0])
		}
		deleted := map[string]any{"namespace": args[0], "key": args[1], "deleted": true}
		return show(c, deleted, func(w io.Writer) { fmt.Fprintf(w, "deleted %s from %s\n", cell(args[1]), cell(args[0])) })
	})
}

func kvList(c *cli.Context) error {
	args, err := arguments(c, "NAMESPACE")
	if err != nil {
		return err
	}
	return look(c, func(ctx context.Context, client *admin.Client) error {
		values, err := client.ListKV(ctx, args[0])
		if err != nil {
			return err
		}
		return show(c, values, func(w io.Writer) {
			var rows [][]string
			for _, key := range slices.Sorted(maps.Keys(values)) {
				rows = append(rows, []string{key, values[key]})
			}
			columns(w, []string{"KEY", "VALUE"}, rows)
		})
	})
}
