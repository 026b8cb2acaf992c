package main

import (
	"context"
	"io"
	"time"

	"github.com/urfave/cli/v2"

	"namesrv/admin"
)

// clusterCommand looks at the group of peers and changes it.
func clusterCommand() *cli.Command {
	return &cli.Command{
		Name:  "cluster",
		Usage: "look at the group of peers, add and remove peers",
		Subcommands: append([]*cli.Command{
			{
				Name:        "members",
				Usage:       "list the peers, who leads and who lags",
				Description: "Example:\n  namesrv cluster members -o json",
				Flags:       clientFlags(),
				Action:      clusterMembers,
			},
			{
				Name:        "status",
				Usage:       "show what one peer knows of itself and its group",
				Description: "It answers without a leader too.\n\nExample:\n  namesrv cluster status --admin http://ns2:9874",
				Flags:       clientFlags(),
				Action:      clusterStatus,
			},
		}, membershipCommands()...),
	}
}

func clusterMembers(c *cli.Context) error {
	if _, err := arguments(c); err != nil {
		return err
	}
	return ask(c, func(ctx context.Context, client *admin.Client) error {
		members, err := client.Members(ctx)
		if err != nil {
			return err
		}
		return show(c, members, func(w io.Writer) { memberTable(w, members) })
	})
}

func memberTable(w io.Writer, members []admin.Member) {
	rows := make([][]string, 0, len(members))
	for _, m := range members {
		rows = append(rows, []string{m.ID, role(m), yesNo(m.Reachable), number(m.LastIndex), number(m.Lag), m.Peer, m.Client, m.Admin, m.Version})
	}
	columns(w, []string{"ID", "ROLE", "REACHABLE", "LAST INDEX", "LAG", "PEER", "CLIENT", "ADMIN", "VERSION"}, rows)
}

func role(m admin.Member) string {
	switch {
	case m.Leader:
		return "leader"
	case m.Voter:
		return "voter"
	}
	return "non-voter"
}

func clusterStatus(c *cli.Context) error {
	if _, err := arguments(c); err != nil {
		return err
	}
	return ask(c, func(ctx context.Context, client *admin.Client) error {
		status, err := client.Status(ctx)
		if err != nil {
			return err
		}
		return show(c, status, func(w io.Writer) { statusTable(w, status) })
	})
}

func statusTable(w io.Writer, s admin.Status) {
	leader := s.Leader
	if leader == "" {
		leader = "none"
	}
	ready := yesNo(s.Ready)
	if len(s.NotReady) > 0 {
		ready += ": " + joinLines(s.NotReady)
	}
	columns(w, nil, [][]string{
		{"id", s.ID},
		{"member", s.Member},
		{"cluster", s.Cluster},
		{"state", s.State},
		{"term", number(s.Term)},
		{"leader", leader},
		{"applied index", number(s.AppliedIndex)},
		{"commit index", number(s.CommitIndex)},
		{"last index", number(s.LastIndex)},
		{"voters", number(s.Voters)},
		{"ready", ready},
		{"linearizable", yesNo(s.Linearizable)},
		{"version", s.Version},
		{"started", s.Started.Format(time.RFC3339)},
	})
}
