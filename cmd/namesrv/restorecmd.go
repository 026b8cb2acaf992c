package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"namesrv/admin"
)

func snapshotRestore(c *cli.Context) error {
	file, b, err := backupArgument(c)
	var usage *exitError
	if err != nil && !errors.As(err, &usage) {
		err = fmt.Errorf("%w; nothing was changed", err)
	}
	if err != nil {
		return err
	}
	return ask(c, func(ctx context.Context, client *admin.Client) error {
		id := rand.Text()
		saved := admin.Snapshot{Cluster: b.Cluster, Index: b.Index, Data: b.tables}
		restored, err := client.RestoreSnapshot(ctx, id, saved, c.Bool(flagForce))
		if err != nil {
			return explainRestore(id, err)
		}
		shown := map[string]any{"file": file, "id": id, "addresses": restored.Addresses, "topics": b.counts.Topics,
			"namespaces": b.counts.Namespaces, "keys": b.keys, "restored": true}
		return show(c, shown, func(w io.Writer) {
			fmt.Fprintf(w, "restored %s: %s, %s, %s\n", cell(file), quantity(b.counts.Topics, "topic", "topics"),
				quantity(restored.Addresses, "broker address", "broker addresses"), countedKeys(b.keys, b.counts.Namespaces))
		})
	})
}

// explainRestore says how to find out what became of a restore, unless the error
// says that nothing was changed.
func explainRestore(id string, err error) error {
	if errors.Is(err, admin.ErrNotTaken) {
		return fmt.Errorf("%w; nothing was changed", err)
	}
	if surelyNotDone(err) {
		return err
	}
	return &exitError{exitTimeout, fmt.Errorf("it is not known whether restore %s took effect (%w): ask a peer that runs with namesrv snapshot status: "+
		"it did when it is the last restore, it may still when it is under way, else it did not", id, err)}
}

// surelyNotDone says whether a change was answered with a failure after which nothing
// was changed, in words that say so.
func surelyNotDone(err error) bool {
	var answered *admin.Error
	return errors.As(err, &answered) && answered.Kind != admin.KindTimeout && answered.Kind != admin.KindInternal
}

func snapshotStatus(c *cli.Context) error {
	if _, err := arguments(c); err != nil {
		return err
	}
	return look(c, func(ctx context.Context, client *admin.Client) error {
		state, err := client.RestoreState(ctx)
		if err != nil {
			return err
		}
		return show(c, state, func(w io.Writer) {
			columns(w, nil, [][]string{
				{"last restore", state.Restored},
				{"under way", state.Running},
				{"bytes of it", fmt.Sprint(state.Bytes)},
			})
		})
	})
}
