package main

import (
	"fmt"
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
		Description: "Any peer can be asked: what only the leader can do is passed on to it.\n\n" +
			"Examples:\n  namesrv cluster members\n  namesrv cluster health --admin http://ns2:9874",
		Subcommands: append([]*cli.Command{
			{
				Name:        "members",
				Usage:       "list the peers, who leads and who lags",
				Description: "Example:\n  namesrv cluster members -o json",
				Flags:       clientFlags(),
				Action:      listing((*admin.Client).Members, memberTable),
			},
			{
				Name:        "status",
				Usage:       "show what one peer knows of itself and its group",
				Description: "It answers without a leader too.\n\nExample:\n  namesrv cluster status --admin http://ns2:9874",
				Flags:       clientFlags(),
				Action:      listing((*admin.Client).Status, statusTable),
			},
		}, membershipCommands()...),
	}
}

func memberTable(w io.Writer, members []admin.Member) {
	rows := make([][]string, 0, len(members))
	for _, m := range members {
		last, lag := "", "" // of one that cannot be asked they are not known
		if m.Reachable {
			last, lag = number(m.LastIndex), number(m.Lag)
		}
		rows = append(rows, []string{m.ID, role(m), yesNo(m.Reachable), last, lag, m.Peer, m.Client, m.Admin, m.Version})
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
		{"last contact", lastContact(s)},
		{"log", fmt.Sprintf("%d bytes, snapshot at index %d", s.LogBytes, s.Snapshot)},
		{"topics", number(s.Topics)},
		{"brokers", fmt.Sprintf("%d addresses, %d of them connected here", s.Brokers, s.Sessions)},
		{"connections", number(s.Connections)},
		{"ready", ready},
		{"feature level", featureLevel(s)},
		{"linearizable", linearizable(s)},
		{"version", s.Version},
		{"started", s.Started.Format(time.RFC3339)},
	})
}

// lastContact tells how long ago a follower heard from its leader.
func lastContact(s admin.Status) string {
	switch {
	case s.State == "leader":
		return "with itself: it leads"
	case s.LastContact < 0:
		return "none with a leader"
	}
	return fmt.Sprintf("with the leader %d ms ago", s.LastContact)
}

func linearizable(s admin.Status) string {
	if s.Unconfirmed == 0 {
		return yesNo(s.Linearizable)
	}
	return fmt.Sprintf("%s; %d answers were from the last known state, since the start", yesNo(s.Linearizable), s.Unconfirmed)
}

// featureLevel tells the group's, and what this peer could do once the others can.
func featureLevel(s admin.Status) string {
	if s.KnownLevel > s.FeatureLevel {
		return fmt.Sprintf("%d, %d once all voters run this version", s.FeatureLevel, s.KnownLevel)
	}
	return fmt.Sprint(s.FeatureLevel)
}
