package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"

	"github.com/google/renameio/v2"
	"github.com/urfave/cli/v2"

	"namesrv/admin"
	"namesrv/remoting/protocol"
)

// kvFileCommands move the whole KV store, in the form of the stock server's file.
func kvFileCommands() []*cli.Command {
	return []*cli.Command{
		{
			Name: "import", Usage: "store all keys of a stock kvConfig.json", ArgsUsage: "FILE",
			Description: "Keys that are there and not in the file stay.\n\nExample:\n  namesrv kv import kvConfig.json",
			Flags:       clientFlags(), Action: kvImport,
		},
		{
			Name: "export", Usage: "write all keys to a file, in the form of the stock kvConfig.json", ArgsUsage: "FILE",
			Description: "A file of that name is replaced.\n\nExample:\n  namesrv kv export kvConfig.json",
			Flags:       clientFlags(), Action: kvExport,
		},
	}
}

// stockKV is the stock server's file.
type stockKV struct {
	ConfigTable map[string]map[string]string `json:"configTable"`
}

func kvImport(c *cli.Context) error {
	args, err := arguments(c, "FILE")
	if err != nil {
		return err
	}
	raw, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	tables, err := protocol.ParseKVConfig(raw)
	if err != nil {
		return fmt.Errorf("%s is no stock kvConfig.json, nothing was changed: %w", args[0], err)
	}
	stored, all := 0, 0
	for _, table := range tables {
		all += len(table)
	}
	for _, namespace := range slices.Sorted(maps.Keys(tables)) {
		for _, key := range slices.Sorted(maps.Keys(tables[namespace])) {
			err := ask(c, func(ctx context.Context, client *admin.Client) error { // each with its own time
				return client.PutKV(ctx, namespace, key, tables[namespace][key])
			})
			if err != nil {
				return fmt.Errorf("%d of %d keys are stored, run it again for all: %w", stored, all, err)
			}
			stored++
		}
	}
	shown := map[string]any{"file": args[0], "keys": stored, "namespaces": len(tables)}
	return show(c, shown, func(w io.Writer) { fmt.Fprintf(w, "stored %d keys of %d namespaces\n", stored, len(tables)) })
}

func kvExport(c *cli.Context) error {
	args, err := arguments(c, "FILE")
	if err != nil {
		return err
	}
	return ask(c, func(ctx context.Context, client *admin.Client) error {
		all, err := client.AllKV(ctx)
		if err != nil {
			return err
		}
		text, err := json.MarshalIndent(stockKV{ConfigTable: all}, "", "\t")
		if err != nil {
			return fmt.Errorf("encode: %w", err)
		}
		if err := renameio.WriteFile(args[0], append(text, '\n'), 0o644); err != nil {
			return fmt.Errorf("write the export: %w", err)
		}
		keys := 0
		for _, table := range all {
			keys += len(table)
		}
		shown := map[string]any{"file": args[0], "keys": keys, "namespaces": len(all)}
		return show(c, shown, func(w io.Writer) { fmt.Fprintf(w, "wrote %d keys of %d namespaces\n", keys, len(all)) })
	})
}
