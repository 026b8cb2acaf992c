package main

import (
	"context"
	"io"

	"github.com/urfave/cli/v2"

	"namesrv/admin"
)

// listing is the action of a command that takes no argument, asks a server for one
// value and prints it. get is a method expression.
func listing[T any](get func(client *admin.Client, ctx context.Context) (T, error), table func(w io.Writer, value T)) cli.ActionFunc {
	return func(c *cli.Context) error {
		if _, err := arguments(c); err != nil {
			return err
		}
		return look(c, func(ctx context.Context, client *admin.Client) error {
			value, err := get(client, ctx)
			if err != nil {
				return err
			}
			return show(c, value, func(w io.Writer) { table(w, value) })
		})
	}
}
