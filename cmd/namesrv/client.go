package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/urfave/cli/v2"

	"namesrv/admin"
	"namesrv/remoting/gate"
)

// Flags of every command that asks a server.
const (
	flagAdmin     = "admin"
	flagAdminCA   = "admin-ca"
	flagTokenFile = "token-file"
	flagTimeout   = "timeout"
	flagOutput    = "output"
)

const defaultAdmin = "http://127.0.0.1:9874"

// defaultTimeout is for answers that take no longer than reading does.
const defaultTimeout = 5 * time.Second

// clientFlags are the flags of a command that asks a server and prints something.
// Those of its own have no variables: what is forced, replaced or deleted is said each
// time, and is no matter of where a command runs.
func clientFlags(own ...cli.Flag) []cli.Flag { return clientFlagsWithin(defaultTimeout, own...) }

// slowFlags are clientFlags of a command whose answer may take longer than most.
func slowFlags(own ...cli.Flag) []cli.Flag { return clientFlagsWithin(30*time.Second, own...) }

// clientFlagsWithin are clientFlags with another time to wait for the answer.
func clientFlagsWithin(timeout time.Duration, own ...cli.Flag) []cli.Flag {
	return append(append(own, outputFlag()), connectionFlags(timeout)...)
}

// connectionFlags say which server to ask, and how.
func connectionFlags(timeout time.Duration) []cli.Flag {
	return withEnvironment([]cli.Flag{
		&cli.StringFlag{Name: flagAdmin, Usage: "`URL` of the HTTP port of any peer", Value: defaultAdmin},
		&cli.StringFlag{Name: flagAdminCA, Usage: "`FILE` with the certificates that an https URL is checked by", DefaultText: "those of the system"},
		&cli.StringFlag{Name: flagTokenFile, Usage: "`FILE` with the token of the server, if it asks for one",
			EnvVars: []string{variable("admin-token-file")}}, // so that a command beside a server needs no flag
		&cli.DurationFlag{Name: flagTimeout, Usage: "`DURATION` to wait for the answer, as in 500ms, 10s or 2m", Value: timeout},
	})
}

// ask runs do with a client of the server that the flags name, within the timeout. It
// is for what changes something.
func ask(c *cli.Context, do func(ctx context.Context, client *admin.Client) error) error {
	return explain(attempt(c, admin.ClientConfig{}, do))
}

// look is ask for what changes nothing at the server. It warns of an answer that may be
// old.
func look(c *cli.Context, do func(ctx context.Context, client *admin.Client) error) error {
	return explainLook(attempt(c, admin.ClientConfig{Unconfirmed: sync.OnceFunc(func() { fmt.Fprint(c.App.ErrWriter, unconfirmedWarning) })}, do))
}

// unconfirmedWarning is the line beside what no leader confirmed.
const unconfirmedWarning = "namesrv: warning: no leader confirmed this: it is the last state that the peer knew, and may be old; see: namesrv cluster health\n"

func attempt(c *cli.Context, cfg admin.ClientConfig, do func(ctx context.Context, client *admin.Client) error) error {
	if err := checkOutput(c); err != nil {
		return err
	}
	timeout := c.Duration(flagTimeout)
	if timeout <= 0 {
		return usagef(c, "--timeout %s: it must be longer than nothing", timeout)
	}
	cfg.URL = c.String(flagAdmin)
	var err error
	if file := c.String(flagTokenFile); file != "" {
		if cfg.Token, err = readToken(file); err != nil {
			return usagef(c, "--token-file: %v", err)
		}
	}
	if file := c.String(flagAdminCA); file != "" {
		if cfg.RootCAs, err = gate.LoadTrusted(file); err != nil {
			return usagef(c, "--admin-ca: %v", err)
		}
	}
	client, err := admin.NewClient(cfg)
	if err != nil {
		return usagef(c, "--admin: %v", err)
	}
	ctx, cancel := context.WithTimeout(c.Context, timeout)
	defer cancel()
	return do(ctx, client)
}

// healthcheckCommand is for containers: a program that asks and exits 0 or 1.
func healthcheckCommand() *cli.Command {
	return &cli.Command{
		Name:  "healthcheck",
		Usage: "exit 0 when a peer is ready to serve, else 1",
		Description: "Ready means that the peer knows a leader, has caught up with it and is not stopping.\n\n" +
			"Example:\n  namesrv healthcheck --timeout 2s",
		Flags: connectionFlags(defaultTimeout),
		Action: func(c *cli.Context) error {
			if _, err := arguments(c); err != nil {
				return err
			}
			return healthcheck(c)
		},
	}
}

// healthcheck exits 1 for whatever is wrong with the server, since container
// engines give no meaning to other codes.
func healthcheck(c *cli.Context) error {
	err := look(c, func(ctx context.Context, client *admin.Client) error {
		reasons, err := client.NotReady(ctx)
		if err == nil && len(reasons) > 0 {
			err = fmt.Errorf("not ready: %s", joinLines(reasons))
		}
		return err
	})
	var exit *exitError
	if err == nil || errors.As(err, &exit) && exit.code == exitUsage {
		return err
	}
	return &exitError{code: exitFailed, err: err}
}
