package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/hashicorp/go-hclog"
	"github.com/urfave/cli/v2"

	"namesrv/cluster"
	"namesrv/nameserver"
)

const (
	flagDataDir       = "data-dir"
	flagPeerAdvertise = "peer-advertise"
	flagYes           = "yes"
)

// recoverCommand rebuilds a group that has lost its majority for good.
func recoverCommand() *cli.Command {
	return &cli.Command{
		Name:  "recover",
		Usage: "rebuild a group that has lost most of its peers, from the directory of one that is left",
		Description: "It asks no server: the peer is stopped. Without --yes it only shows what the directory holds. Do that with the\n" +
			"directory of each peer that is left and take the one with the highest last term; among equals, the one with\n" +
			"the highest last index. With --yes its peer becomes a new cluster of one, with all topics, brokers, KV and\n" +
			"settings. Peers of before come back with an empty directory; with their old one they are refused.\n\n" +
			"Examples:\n  namesrv recover --data-dir /var/lib/namesrv\n  namesrv recover --data-dir /var/lib/namesrv --yes",
		Flags: append(withEnvironment([]cli.Flag{
			&cli.StringFlag{Name: flagDataDir, Usage: "`DIR` of the peer that is left"},
			&cli.StringFlag{Name: flagPeerAdvertise, Usage: "`HOST:PORT` that other peers reach this one at", DefaultText: "as before"},
		}), &cli.BoolFlag{Name: flagYes, Usage: "do it"}, outputFlag()),
		Action: recoverGroup,
	}
}

// surveyed is what is shown of a directory.
type surveyed struct {
	DataDir    string   `json:"data_dir"`
	ID         string   `json:"id"`
	Member     string   `json:"member"`
	Cluster    string   `json:"cluster"` // before
	Removed    bool     `json:"removed"`
	LastTerm   uint64   `json:"last_term"`
	LastIndex  uint64   `json:"last_index"`
	Members    []string `json:"members"`
	NewCluster string   `json:"new_cluster"` // "" when nothing was changed
}

func recoverGroup(c *cli.Context) error {
	if _, err := arguments(c); err != nil {
		return err
	}
	if err := checkOutput(c); err != nil {
		return err
	}
	dir, advertise := strings.TrimSpace(c.String(flagDataDir)), strings.TrimSpace(c.String(flagPeerAdvertise))
	if dir == "" {
		return usagef(c, "--data-dir is missing")
	}
	if advertise != "" {
		address, err := parseHostPort(advertise)
		if err == nil {
			err = address.checkReachable()
		}
		if err != nil {
			return usagef(c, "--peer-advertise: %v", err)
		}
	}
	shown, err := recoverOrLook(c, dir, advertise)
	if err != nil {
		return explainRecover(err)
	}
	return show(c, shown, func(w io.Writer) { surveyTable(w, shown) })
}

func recoverOrLook(c *cli.Context, dir, advertise string) (surveyed, error) {
	log := hclog.New(&hclog.LoggerOptions{Output: c.App.ErrWriter, Level: hclog.Error})
	var found cluster.Survey
	var uuid string
	var err error
	if c.Bool(flagYes) {
		found, uuid, err = cluster.Recover(cluster.RecoverConfig{DataDir: dir, Advertise: advertise, Machine: nameserver.NewTables(), Logger: log})
	} else {
		found, err = cluster.SurveyDir(dir, log)
	}
	return surveyed{DataDir: dir, ID: found.NodeID, Member: found.MemberID, Cluster: found.UUID, Removed: found.Removed,
		LastTerm: found.LastTerm, LastIndex: found.LastIndex, Members: found.Members, NewCluster: uuid}, err
}

func explainRecover(err error) error {
	if errors.Is(err, cluster.ErrInUse) {
		return fmt.Errorf("%w; nothing was changed", err)
	}
	return err
}

func surveyTable(w io.Writer, s surveyed) {
	rows := [][]string{
		{"data directory", s.DataDir},
		{"id", s.ID},
		{"member", s.Member},
		{"cluster", s.Cluster},
		{"members", strings.Join(s.Members, " ")},
		{"last term", number(s.LastTerm)},
		{"last index", number(s.LastIndex)},
	}
	if s.Removed {
		rows = append(rows, []string{"removed", "yes: the cluster went on without this peer"})
	}
	if s.NewCluster != "" {
		rows = append(rows, []string{"new cluster", s.NewCluster})
	}
	columns(w, nil, rows)
	if s.NewCluster == "" {
		fmt.Fprintf(w, "\nNothing was changed. Compare last term and last index with every other directory that is left; to rebuild from this one:\n"+
			"  namesrv recover --data-dir %s --yes\n", s.DataDir)
		return
	}
	fmt.Fprintf(w, "\n%s is a cluster of its own now. Start it as before, then for every other peer: empty its data directory, start it\n"+
		"as before, and run on %s:\n  namesrv cluster join ID PEER_ADDR\n", cell(s.ID), cell(s.ID))
}
