package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/urfave/cli/v2"

	"namesrv/admin"
)

const (
	flagReplace = "replace"
	flagForce   = "force"
	flagWait    = "wait"
)

const (
	defaultWait   = 2 * time.Minute
	progressPause = 500 * time.Millisecond // between two looks at a newcomer
)

// membershipCommands change who belongs to the group, and who leads it.
func membershipCommands() []*cli.Command {
	return []*cli.Command{
		{
			Name: "join", Usage: "make a waiting peer a member", ArgsUsage: "ID PEER_ADDR",
			Description: "The peer was started with --bootstrap-expect 0 and an empty --data-dir; ID is its --node-id and PEER_ADDR\n" +
				"its --peer-advertise. It gets its vote when it has caught up, which is waited for. A member that is found\n" +
				"at another address than before gets that address. With --replace the peer takes the place of the member\n" +
				"of the same ID, whose directory was lost.\n\n" +
				"Examples:\n  namesrv cluster join n4 ns4:9875\n  namesrv cluster join n2 ns2:9875 --replace",
			Flags: slowFlags(
				&cli.BoolFlag{Name: flagReplace, Usage: "take the place of the member of that ID"},
				waitFlag()),
			Action: clusterJoin,
		},
		{
			Name: "remove", Usage: "take a peer out of the group", ArgsUsage: "ID",
			Description: "It is refused where fewer voters could be reached afterwards than must be, and for the last peer. A leader\n" +
				"hands over first. The peer stops by itself; its directory is of no use any more.\n\n" +
				"Example:\n  namesrv cluster remove n4",
			Flags:  slowFlags(&cli.BoolFlag{Name: flagForce, Usage: "do it also where the group then can decide nothing"}),
			Action: clusterRemove,
		},
		{
			Name: "transfer", Usage: "give the leadership to another peer", ArgsUsage: "[ID]",
			Description: "Without ID the peer that is most up to date leads next.\n\nExample:\n  namesrv cluster transfer n2",
			Flags:       slowFlags(), Action: clusterTransfer,
		},
		{
			Name: "health", Usage: "exit 0 when the group works and can bear a loss, else say why not",
			Description: "Exit code 3 means that no leader is known, 1 anything else that is wrong.\n\nExample:\n  namesrv cluster health -o json",
			Flags:       clientFlags(), Action: clusterHealth,
		},
	}
}

func waitFlag() cli.Flag {
	return &cli.DurationFlag{Name: flagWait, Usage: "`DURATION` to wait for the vote, as in 30s or 5m; 0 does not wait", Value: defaultWait}
}

func clusterJoin(c *cli.Context) error {
	args, err := arguments(c, "ID", "PEER_ADDR")
	if err != nil {
		return err
	}
	if _, err := parseHostPort(args[1]); err != nil {
		return usagef(c, "PEER_ADDR: %v", err)
	}
	var joined admin.Change
	err = ask(c, func(ctx context.Context, client *admin.Client) error {
		joined, err = client.Join(ctx, admin.JoinRequest{ID: args[0], Address: args[1], Replace: c.Bool(flagReplace)})
		return err
	})
	if err != nil {
		return err
	}
	if joined.Outcome == admin.OutcomeAdded && c.Duration(flagWait) > 0 {
		if err := awaitVote(c, joined); err != nil {
			return err
		}
	}
	return show(c, joined, func(w io.Writer) { joinOutcome(w, c, joined) })
}

// joinOutcome says what a join led to.
func joinOutcome(w io.Writer, c *cli.Context, joined admin.Change) {
	switch {
	case joined.Outcome == admin.OutcomeMember:
		fmt.Fprintf(w, "%s is a member already: nothing was changed\n", cell(joined.ID))
	case joined.Outcome == admin.OutcomeMoved:
		fmt.Fprintf(w, "%s is known at its new address\n", cell(joined.ID))
	case c.Duration(flagWait) > 0:
		fmt.Fprintf(w, "%s is a voter\n", cell(joined.ID))
	default:
		fmt.Fprintf(w, "%s is a member and gets its vote when it has caught up: namesrv cluster members\n", cell(joined.ID))
	}
	majorities(w, joined)
}

// awaitVote waits until a newcomer votes, and shows how far it is on a terminal.
func awaitVote(c *cli.Context, joined admin.Change) error {
	progress := newProgress(c.App.ErrWriter)
	defer progress.end()
	end := time.NewTimer(c.Duration(flagWait))
	defer end.Stop()
	for {
		done := false
		err := ask(c, func(ctx context.Context, client *admin.Client) error {
			members, err := client.Members(ctx)
			done = err == nil && hasVote(members, joined, progress)
			return err
		})
		if done {
			return nil
		}
		if err != nil {
			progress.say("%v", err) // the peer may be the one that hands over right now
		}
		select {
		case <-time.After(progressPause):
		case <-c.Context.Done():
			return explain(c.Context.Err())
		case <-end.C:
			return &exitError{exitTimeout, fmt.Errorf("%s is a member and has no vote yet after %s: it gets one when it has caught up; see: namesrv cluster members", joined.ID, c.Duration(flagWait))}
		}
	}
}

// hasVote says whether the newcomer votes and nobody of its node id is left beside it.
func hasVote(members []admin.Member, joined admin.Change, progress *progress) bool {
	votes, others := false, false
	for _, m := range members {
		switch {
		case m.Member != joined.Member:
			others = others || m.ID == joined.ID
		case m.Voter:
			votes = true
		case m.Reachable:
			progress.say("%s is catching up: %d log entries behind", m.ID, m.Lag)
		default:
			progress.say("%s was admitted and is not reachable yet", m.ID)
		}
	}
	return votes && !others
}

// progress writes one line over and over, on a terminal only.
type progress struct {
	w     io.Writer // nil: nobody looks
	wrote bool
}

func newProgress(w io.Writer) *progress {
	if f, ok := w.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
			return &progress{w: w}
		}
	}
	return &progress{}
}

func (p *progress) say(format string, args ...any) {
	if p.w != nil {
		p.wrote = true
		fmt.Fprintf(p.w, "\r\x1b[K%s", cell(fmt.Sprintf(format, args...)))
	}
}

func (p *progress) end() {
	if p.wrote {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}

func clusterRemove(c *cli.Context) error {
	args, err := arguments(c, "ID")
	if err != nil {
		return err
	}
	return ask(c, func(ctx context.Context, client *admin.Client) error {
		removed, err := client.Remove(ctx, args[0], c.Bool(flagForce))
		if err != nil {
			return err
		}
		return show(c, removed, func(w io.Writer) {
			fmt.Fprintf(w, "removed %s (%s)\n", cell(removed.ID), cell(removed.Member))
			majorities(w, removed)
		})
	})
}

// majorities shows what a change does to the group's majority.
func majorities(w io.Writer, change admin.Change) {
	if change.VotersBefore > 0 {
		reachable := ""
		if change.Reachable > 0 {
			reachable = fmt.Sprintf("; %d can be reached now", change.Reachable)
		}
		fmt.Fprintf(w, "voters: %d before, of which %d must be reachable; %d now, of which %d must be%s\n",
			change.VotersBefore, change.MajorityBefore, change.VotersAfter, change.MajorityAfter, reachable)
	}
	for _, warning := range change.Warnings {
		fmt.Fprintf(w, "Warning: %s\n", cell(warning))
	}
}

func clusterTransfer(c *cli.Context) error {
	to := ""
	if c.Args().Present() {
		args, err := arguments(c, "ID")
		if err != nil {
			return err
		}
		to = args[0]
	}
	return ask(c, func(ctx context.Context, client *admin.Client) error {
		done, err := client.Transfer(ctx, to)
		if err != nil {
			return err
		}
		return show(c, done, func(w io.Writer) {
			switch {
			case done.Outcome == admin.OutcomeLedBefore:
				fmt.Fprintf(w, "%s leads already: nothing was changed\n", cell(done.ID))
			case done.ID == "":
				fmt.Fprintln(w, "leadership was handed over; see: namesrv cluster members")
			default:
				fmt.Fprintf(w, "%s leads\n", cell(done.ID))
			}
		})
	})
}

func clusterHealth(c *cli.Context) error {
	if _, err := arguments(c); err != nil {
		return err
	}
	return look(c, func(ctx context.Context, client *admin.Client) error {
		health, err := client.Health(ctx)
		if err != nil {
			return err
		}
		if !health.Healthy {
			return unhealthy(c, health)
		}
		return show(c, health, func(w io.Writer) {
			fmt.Fprintf(w, "healthy: %s leads, %d of %d voters can be reached\n", cell(health.Leader), health.Reachable, health.Voters)
			for _, warning := range health.Warnings {
				fmt.Fprintf(w, "Warning: %s\n", cell(warning))
			}
		})
	})
}

// unhealthy is the error that says what is wrong; with -o json scripts get it all
// on standard output too.
func unhealthy(c *cli.Context, health admin.Health) error {
	if c.String(flagOutput) == outputJSON {
		if err := show(c, health, nil); err != nil {
			return err
		}
	}
	code := exitFailed
	if health.Leader == "" {
		code = exitNoLeader
	}
	return &exitError{code, fmt.Errorf("unhealthy: %s", joinLines(health.Reasons))}
}
