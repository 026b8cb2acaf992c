package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"namesrv/admin"
)

// Exit codes, see the package comment.
const (
	exitDone     = 0
	exitFailed   = 1
	exitUsage    = 2
	exitNoLeader = 3
	exitTimeout  = 4
)

// exitCode is one exit code, for the help text.
type exitCode struct {
	code    int
	meaning string
}

// exitCodes lists all of them.
func exitCodes() []exitCode {
	return []exitCode{
		{exitDone, "done"},
		{exitFailed, "failed or refused: the line on standard error says why and what to do next; for namesrv server wrong usage too, as with the stock one"},
		{exitUsage, "wrong usage: nothing was asked of any server"},
		{exitNoLeader, "no leader could be reached: nothing was changed"},
		{exitTimeout, "timed out: a change may have been made all the same"},
	}
}

// exitError is an error with the code to exit with.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

// report writes an error as one line and returns the exit code.
func report(stderr io.Writer, err error) int {
	if err == nil {
		return exitDone
	}
	fmt.Fprintf(stderr, "namesrv: %s\n", strings.ReplaceAll(err.Error(), "\n", "; "))
	var exit *exitError
	if errors.As(err, &exit) {
		return exit.code
	}
	return exitFailed
}

// usagef makes the error of a command that was called wrongly.
func usagef(c *cli.Context, format string, args ...any) error {
	name := "namesrv"
	if c.Command.HelpName != "" {
		name = c.Command.HelpName
	}
	code := exitUsage
	if isServer(c) {
		code = exitFailed
	}
	return &exitError{code: code, err: fmt.Errorf("%s; see: %s --help", fmt.Sprintf(format, args...), name)}
}

// onUsageError answers flags that the library refused. For the server the whole
// usage follows on standard error, as with the stock one.
func onUsageError(c *cli.Context, err error, _ bool) error {
	reason := mended(c, err.Error())
	if name, unknown := strings.CutPrefix(reason, "flag provided but not defined: "); unknown {
		if len(name) > len("-x") {
			name = "-" + name // the library cuts both hyphens to one
		}
		reason = "unknown flag " + name
		if c.Command.HelpName == "namesrv" || c.Command.HelpName == "" {
			reason += ` (flags of the server follow the word "server")`
		}
	}
	if isServer(c) {
		c.App.Writer = c.App.ErrWriter
		defer fmt.Fprintln(c.App.ErrWriter)
		_ = cli.ShowSubcommandHelp(c)
	}
	return usagef(c, "%s", reason)
}

// badDuration is how the library tells of a duration that does not parse, of the command
// line or of a variable.
var badDuration = regexp.MustCompile(`^invalid value ("[^"]*") for flag -(\S+): |^could not parse ("[^"]*") as duration value from (.+) for flag (\S+): `)

// mended says of a duration what is wrong with it, which the library does not.
func mended(c *cli.Context, reason string) string {
	found := badDuration.FindStringSubmatch(reason)
	if found == nil {
		return reason
	}
	value, name, from := found[1], found[2], ""
	if name == "" {
		value, name, from = found[3], found[5], " of "+found[4]
	}
	at := slices.IndexFunc(c.Command.Flags, func(f cli.Flag) bool { return slices.Contains(f.Names(), name) })
	if at < 0 {
		return reason
	}
	if _, duration := c.Command.Flags[at].(*cli.DurationFlag); !duration {
		return reason
	}
	if number := strings.Trim(value, `"`); strings.Trim(number, "0123456789.") == "" && number != "" {
		return fmt.Sprintf("--%s %s%s: use a unit, as in %ss", name, value, from, number)
	}
	return fmt.Sprintf("--%s %s%s: it is no duration; use one as in 500ms, 10s or 2m", name, value, from)
}

func isServer(c *cli.Context) bool { return c.Command.Name == serverName }

// explain makes of a failed call what a person needs: what to do next, and the
// exit code.
func explain(err error) error {
	var failed *admin.Error
	var untrusted *tls.CertificateVerificationError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &untrusted):
		return fmt.Errorf("%w; --admin-ca names the file with the CA of the server's certificate", err)
	case errors.Is(err, admin.ErrNoLeader):
		return &exitError{exitNoLeader, fmt.Errorf(
			"%w; a majority of the voters must run and reach each other: ask each peer with namesrv cluster status", err)}
	case errors.Is(err, context.DeadlineExceeded):
		return &exitError{exitTimeout, fmt.Errorf(
			"%w; try again or raise --timeout (a change may have been made all the same: read it back first)", err)}
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("interrupted (a change may have been made all the same): %w", err)
	case errors.Is(err, admin.ErrUnreachable):
		return fmt.Errorf("%w; is the server running? --admin names another peer", err)
	case errors.As(err, &failed) && failed.Kind == admin.KindUnauthorized:
		return fmt.Errorf("%w; give the server's token with --token-file", err)
	}
	return err
}

// explainLook is explain for a call that can have changed nothing.
func explainLook(err error) error {
	switch {
	case errors.Is(err, admin.ErrNoLeader):
	case errors.Is(err, context.DeadlineExceeded):
		return &exitError{exitTimeout, fmt.Errorf("%w; try again or raise --timeout", err)}
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("interrupted: %w", err)
	}
	return explain(err)
}

// hint adds what to do next to an error of "there is no such thing".
func hint(err error, next string) error {
	var failed *admin.Error
	if errors.As(err, &failed) && failed.Kind == admin.KindNotFound {
		return fmt.Errorf("%w; see: %s", err, next)
	}
	return err
}
