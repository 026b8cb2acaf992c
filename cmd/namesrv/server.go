package main

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"namesrv/internal/settings"
)

const serverName = "server"

// Names of the server's flags that do not stand for a setting of their own.
const (
	flagConfigFile  = "configFile"
	flagPrintConfig = "printConfigItem"
	flagNamesrvAddr = "namesrvAddr"
	flagListen      = "listen"
)

// ownFlag is a flag whose value may also stand in the configuration file.
type ownFlag struct {
	name    string // of the flag
	setting string // in the file
	def     string // "" where it is derived
	shown   string // of the default in the help text, where def does not say it
	usage   string
}

// ownFlags lists them.
func ownFlags() []ownFlag {
	return []ownFlag{
		{"node-id", settings.NodeID, "", "the host name, then what the data directory remembers", "`NAME` of this peer, unique in its group"},
		{"data-dir", settings.DataDir, "", "~/namesrv/raft", "`DIR` that keeps the log, the snapshots and the identity of this peer"},
		{"advertise", settings.Advertise, "", "the host of --listen, or the host name", "`HOST:PORT` that clients and brokers reach this peer at"},
		{"peer-listen", settings.PeerListen, "", "0.0.0.0:9875, or 127.0.0.1:9875 for a server on its own", "`HOST:PORT` for the other peers"},
		{"peer-advertise", settings.PeerAdvertise, "", "the host of --peer-listen, or the host name", "`HOST:PORT` that the other peers reach this one at"},
		{"admin-listen", settings.AdminListen, "127.0.0.1:9874", "", "`HOST:PORT` of the HTTP port, for commands and monitors"},
		{"bootstrap-expect", settings.BootstrapExpect, "", "a server on its own", "`N`: form a group of the N peers in --join; 0: wait to be admitted to a group"},
		{"join", settings.Join, "", "", "`HOST:PORT,...` of all peers that form the group, the same list on each; with --bootstrap-expect 0, of peers to be admitted by"},
		{"peer-ca", settings.PeerCA, "", "", "`FILE` with the certificates that other peers are checked by"},
		{"peer-cert", settings.PeerCert, "", "", "`FILE` with this peer's certificate"},
		{"peer-key", settings.PeerKey, "", "", "`FILE` with its key"},
		{"admin-cert", settings.AdminCert, "", "", "`FILE` with the certificate of the HTTP port, which then speaks HTTPS and nothing else"},
		{"admin-key", settings.AdminKey, "", "", "`FILE` with its key"},
		{"admin-token-file", settings.AdminTokenFile, "", "", "`FILE` with the token that the HTTP API asks for; needed when --admin-listen is not loopback, made when it is missing in --data-dir"},
		{"log-level", settings.LogLevel, "info", "", "`LEVEL` trace, debug, info, warn, error or off"},
		{"log-json", settings.LogJSON, "false", "", "log in JSON, one object a line"},
		{"raft-profile", settings.RaftProfile, "lan", "", "`PROFILE` lan, or wan for peers far from each other (ten times slower to notice a loss)"},
		{"read-consistency", settings.ReadConsistency, "linearizable", "", "`MODE` linearizable, or local for routes that may be a moment old"},
		{"on-no-leader", settings.OnNoLeader, "serve", "", "`MODE` serve, from the last known state, or refuse, while no leader is known"},
	}
}

// serverCommand runs a peer.
func serverCommand() *cli.Command {
	return &cli.Command{
		Name:  serverName,
		Usage: "run a name server",
		Description: "Without any flag it is a complete server on its own. A value is taken from the flag, else from the\n" +
			"environment, else from the file of -c, else the default. The file takes the stock keys, and the flags\n" +
			"below as keys without hyphens (peer-listen is peerListen).\n\n" +
			"Examples:\n" +
			"  namesrv server\n" +
			"  namesrv server -c namesrv.properties --data-dir /var/lib/namesrv\n" +
			"  namesrv server --node-id n1 --peer-advertise ns1:9875 \\\n" +
			"      --bootstrap-expect 3 --join ns1:9875,ns2:9875,ns3:9875",
		Flags:  serverFlags(),
		Action: serve,
	}
}

func serverFlags() []cli.Flag {
	flags := []cli.Flag{
		&cli.StringFlag{Name: flagConfigFile, Aliases: []string{"c"}, Usage: "Java properties `FILE` with stock settings"},
		&cli.BoolFlag{Name: flagPrintConfig, Aliases: []string{"p"}, Usage: "print the settings in force and exit"},
		&cli.StringFlag{Name: flagNamesrvAddr, Aliases: []string{"n"}, Usage: "`ADDRESS` accepted and ignored, as by the stock server"},
		&cli.StringFlag{Name: flagListen, Usage: "`HOST:PORT` for clients and brokers",
			DefaultText: "bindAddress and listenPort of the file, or 0.0.0.0:9876"},
	}
	for _, own := range ownFlags() {
		if own.isSwitch() {
			flags = append(flags, &cli.BoolFlag{Name: own.name, Usage: own.usage})
			continue
		}
		flags = append(flags, &cli.StringFlag{Name: own.name, Usage: own.usage, DefaultText: own.shownDefault()})
	}
	return append(withEnvironment(flags), propertyFlag())
}

// isSwitch reports a flag that takes no value.
func (f ownFlag) isSwitch() bool { return f.def == "false" }

func (f ownFlag) shownDefault() string {
	if f.def != "" {
		return f.def
	}
	return f.shown
}

// withEnvironment gives each flag its variable: peer-listen is NAMESRV_PEER_LISTEN.
func withEnvironment(flags []cli.Flag) []cli.Flag {
	for _, flag := range flags {
		switch f := flag.(type) {
		case *cli.StringFlag:
			f.EnvVars = append([]string{variable(f.Name)}, f.EnvVars...)
		case *cli.BoolFlag:
			f.EnvVars = append([]string{variable(f.Name)}, f.EnvVars...)
		case *cli.DurationFlag:
			f.EnvVars = append([]string{variable(f.Name)}, f.EnvVars...)
		}
	}
	return flags
}

// variable turns a flag's name, with hyphens or in camel case, into a variable's.
func variable(flag string) string {
	var name strings.Builder
	for _, r := range flag {
		switch {
		case r == '-':
			name.WriteByte('_')
			continue
		case r >= 'A' && r <= 'Z':
			name.WriteByte('_')
		}
		name.WriteRune(r)
	}
	return "NAMESRV_" + strings.ToUpper(name.String())
}

func serve(c *cli.Context) error {
	if _, err := arguments(c); err != nil {
		return err
	}
	cfg, err := loadServerConfig(c)
	if err != nil {
		return err
	}
	for _, warning := range cfg.Warnings {
		cfg.Logger.Warn(warning)
	}
	if c.Bool(flagPrintConfig) {
		_, err := c.App.Writer.Write(cfg.Settings.Render())
		return err
	}
	if cfg.ConfigFile != "" {
		fmt.Fprintf(c.App.Writer, "load config properties file OK, %s\n", cfg.ConfigFile)
	}
	return runServer(c.Context, cfg)
}
