package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"namesrv/admin"
)

// kvFileCommands move the whole KV store, in the form of the stock server's file.
func kvFileCommands() []*cli.Command {
	return []*cli.Command{
		{
			Name: "import", Usage: "store all keys of a stock kvConfig.json", ArgsUsage: "FILE",
			Description: "Keys that are there and not in the file stay. A file of which one key cannot be stored is refused whole.\n\nExample:\n  namesrv kv import kvConfig.json",
			Flags:       clientFlags(), Action: kvImport,
		},
		{
			Name: "export", Usage: "write all keys to a file, in the form of the stock kvConfig.json", ArgsUsage: "FILE",
			Description: "A file of that name is replaced; what is no regular file is refused.\n\nExample:\n  namesrv kv export kvConfig.json",
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
	entries, namespaces, err := readKVFile(args[0])
	if err != nil {
		return err
	}
	for stored, e := range entries {
		err := ask(c, func(ctx context.Context, client *admin.Client) error { // each with its own time
			return client.PutKV(ctx, e.Namespace, e.Key, e.Value)
		})
		if err != nil {
			return stoppedAt(stored, len(entries), e, err)
		}
	}
	shown := map[string]any{"file": args[0], "keys": len(entries), "namespaces": namespaces}
	return show(c, shown, func(w io.Writer) { fmt.Fprintf(w, "stored %s\n", countedKeys(len(entries), namespaces)) })
}

// stoppedAt says how much of an import is stored, and whether another try may do the
// rest.
func stoppedAt(stored, all int, at admin.KV, err error) error {
	var exit *exitError
	if errors.As(err, &exit) && exit.code == exitUsage {
		return err
	}
	again := ""
	for _, passing := range []error{admin.ErrNoLeader, admin.ErrUnreachable, context.DeadlineExceeded, context.Canceled} {
		if errors.Is(err, passing) {
			again = ", run it again for all"
		}
	}
	return fmt.Errorf("%d of %s stored%s: %s: %w", stored, quantity(all, "key is", "keys are"), again, nameOf(at), err)
}

func kvExport(c *cli.Context) error {
	file, err := outputArgument(c)
	if err != nil {
		return err
	}
	return look(c, func(ctx context.Context, client *admin.Client) error {
		all, err := client.AllKV(ctx)
		if err != nil {
			return err
		}
		text, err := json.MarshalIndent(stockKV{ConfigTable: all}, "", "\t")
		if err != nil {
			return fmt.Errorf("encode: %w", err)
		}
		if err := replaceFile(file, append(text, '\n'), 0o644); err != nil {
			return fmt.Errorf("write the export: %w", err)
		}
		keys := 0
		for _, table := range all {
			keys += len(table)
		}
		shown := map[string]any{"file": file, "keys": keys, "namespaces": len(all)}
		return show(c, shown, func(w io.Writer) { fmt.Fprintf(w, "wrote %s\n", countedKeys(keys, len(all))) })
	})
}
