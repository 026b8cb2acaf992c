package main

import (
	"io"

	"github.com/hashicorp/go-hclog"

	"namesrv/internal/settings"
)

// formAlone is the value of serverConfig.BootstrapExpect of a server that was told
// nothing about other peers.
const formAlone = -1

// serverConfig is everything a server is told: flags, environment and file, in
// that order of precedence, with every default filled in.
type serverConfig struct {
	ConfigFile string            // of -c, "" without one
	Settings   settings.Settings // in force, the values below included
	Secrets    map[string]string // of the command line, by setting; not in Settings
	ByFlag     map[string]string // by setting, the flag that decides it whatever the file says
	Serialize  string            // of responses: JSON or ROCKETMQ

	NodeID      string
	NodeIDGiven bool // false: the host's name, to be used unless the data directory knows another
	DataDir     string

	Listen         hostPort // for clients and brokers
	Advertise      hostPort // for the same; its port is 0 when that of Listen is
	PeerListen     hostPort
	PeerAdvertise  hostPort // its port is 0 when that of PeerListen is
	AdminListen    hostPort
	AdminAdvertise hostPort // never given, derived as the others are

	BootstrapExpect int        // formAlone; 0 to be admitted to a group; else how many peers form one
	Join            []hostPort // the peers that form the group, or that may be asked to admit this one

	PeerCA, PeerCert, PeerKey string // files, all or none
	AdminCert, AdminKey       string // files, both or none

	AdminToken      string // "" asks for none
	NewTokenFile    string // where the server is to make one, "" where it need not
	RaftProfile     string // lan or wan
	ReadConsistency string // linearizable or local
	OnNoLeader      string // serve or refuse

	LogLevel string
	LogJSON  bool

	Warnings []string     // about the above, for the log
	Logger   hclog.Logger // writes to standard error
	Stdout   io.Writer    // for the line that says the server is up
}

// newLogger makes the logger of a server.
func newLogger(cfg *serverConfig, stderr io.Writer) hclog.Logger {
	return hclog.New(&hclog.LoggerOptions{
		Name:       "namesrv",
		Level:      hclog.LevelFromString(cfg.LogLevel),
		Output:     stderr,
		JSONFormat: cfg.LogJSON,
	})
}
