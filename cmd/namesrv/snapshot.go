package main

import (
	"context"
	"io"
	"time"

	"github.com/urfave/cli/v2"

	"namesrv/admin"
)

const snapshotTimeout = 5 * time.Minute

// snapshotCommand saves and restores the tables.
func snapshotCommand() *cli.Command {
	return &cli.Command{
		Name:  "snapshot",
		Usage: "back the tables up, look into a backup, bring one back",
		Description: "A backup holds topics, brokers, KV and shared settings, and its own checksum.\n\n" +
			"Examples:\n  namesrv snapshot save /var/backups/namesrv.save\n  namesrv snapshot inspect /var/backups/namesrv.save",
		Subcommands: []*cli.Command{
			{
				Name: "save", Usage: "save topics, brokers, KV and shared settings to a file", ArgsUsage: "FILE",
				Description: "Any peer can be asked; the file shows everything that was committed before. A file of that name is replaced;\n" +
					"what is no regular file is refused.\n\n" +
					"Example:\n  namesrv snapshot save /var/backups/namesrv.save",
				Flags: clientFlagsWithin(snapshotTimeout), Action: snapshotSave,
			},
			{
				Name: "inspect", Usage: "check a backup and say what is in it; asks no server", ArgsUsage: "FILE",
				Description: "Example:\n  namesrv snapshot inspect /var/backups/namesrv.save",
				Flags:       []cli.Flag{outputFlag()}, Action: snapshotInspect,
			},
			{
				Name: "restore", Usage: "replace topics, brokers and KV of the running group by those of a backup", ArgsUsage: "FILE",
				Description: "Members and settings stay. Brokers that are up register anew where they differ; every other address is\n" +
					"kept for its timeout and half a minute. All peers change at the same moment, or none. Exit code 4 says that\n" +
					"it is not known whether they did: ask with namesrv snapshot status.\n\n" +
					"Example:\n  namesrv snapshot restore /var/backups/namesrv.save",
				Flags: clientFlagsWithin(snapshotTimeout,
					&cli.BoolFlag{Name: flagForce, Usage: "restore a backup of another cluster too"}),
				Action: snapshotRestore,
			},
			{
				Name: "status", Usage: "print which restore took effect last, and which is under way",
				Description: "One that is under way and of which nothing more arrives is dropped after a minute.\n\n" +
					"Example:\n  namesrv snapshot status",
				Flags: clientFlags(), Action: snapshotStatus,
			},
		},
	}
}

// summary is what is shown of a backup.
type summary struct {
	File string `json:"file"`
	backupHeader
	Size         int    `json:"size"` // bytes
	Topics       int    `json:"topics"`
	QueueEntries int    `json:"queue_entries"` // one a topic and broker
	Brokers      int    `json:"brokers"`
	Addresses    int    `json:"addresses"`
	Namespaces   int    `json:"namespaces"`
	Digest       string `json:"digest"` // equal for equal tables, whichever group they are of
}

func (b *backup) summary(file string) summary {
	return summary{File: file, backupHeader: b.backupHeader, Size: b.Size, Topics: b.counts.Topics, QueueEntries: b.counts.QueueEntries,
		Brokers: b.counts.Brokers, Addresses: b.counts.Addresses, Namespaces: b.counts.Namespaces, Digest: b.digest}
}

// show prints what a backup holds.
func (b *backup) show(c *cli.Context, file string) error {
	s := b.summary(file)
	return show(c, s, func(w io.Writer) { summaryTable(w, s) })
}

func summaryTable(w io.Writer, s summary) {
	columns(w, nil, [][]string{
		{"file", s.File},
		{"size", number(s.Size)},
		{"saved", s.Saved.Format(time.RFC3339)},
		{"cluster", s.Cluster},
		{"log index", number(s.Index)},
		{"program", s.Program},
		{"topics", number(s.Topics)},
		{"queue entries", number(s.QueueEntries)},
		{"brokers", number(s.Brokers)},
		{"addresses", number(s.Addresses)},
		{"namespaces", number(s.Namespaces)},
		{"digest", s.Digest},
	})
}

func snapshotSave(c *cli.Context) error {
	file, err := outputArgument(c)
	if err != nil {
		return err
	}
	return look(c, func(ctx context.Context, client *admin.Client) error {
		snapshot, err := client.SaveSnapshot(ctx)
		if err != nil {
			return err
		}
		saved, err := writeBackup(file, snapshot, time.Now())
		if err != nil {
			return err
		}
		return saved.show(c, file)
	})
}

func snapshotInspect(c *cli.Context) error {
	file, b, err := backupArgument(c)
	if err != nil {
		return err
	}
	return b.show(c, file)
}

// backupArgument reads the file that a command names.
func backupArgument(c *cli.Context) (file string, b *backup, err error) {
	args, err := arguments(c, "FILE")
	if err == nil {
		err = checkOutput(c)
	}
	if err != nil {
		return "", nil, err
	}
	b, err = readBackup(args[0])
	return args[0], b, err
}
