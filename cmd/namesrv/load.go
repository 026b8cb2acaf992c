package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"namesrv/internal/properties"
	"namesrv/internal/settings"
)

// loader finds the value of each flag of the server.
type loader struct {
	c        *cli.Context
	cfg      *serverConfig
	host     string            // this machine's name
	lines    map[string]int    // of the file of -c, by setting
	inFile   map[string]string // by flag, where in that file the value that counts stands
	defaults map[string]string // by setting, those that depend on the machine
	values   map[string]string // by setting, what fill decided
	errs     []error           // of values that do not parse
}

// loadServerConfig reads everything that a server is told, and checks it.
func loadServerConfig(c *cli.Context) (*serverConfig, error) {
	cfg := &serverConfig{ConfigFile: strings.TrimSpace(c.String(flagConfigFile)), Stdout: c.App.Writer, Serialize: "JSON"}
	if given := strings.TrimSpace(os.Getenv("ROCKETMQ_SERIALIZE_TYPE")); given != "" {
		cfg.Serialize = given
	}
	home, _ := os.UserHomeDir() // without one, Validate asks for --data-dir
	lines, err := cfg.loadSettings(home)
	if err != nil {
		return nil, err
	}
	if err := cfg.takeProperties(c); err != nil {
		return nil, err
	}
	cfg.noteFlags(c)
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("find this machine's name (give --node-id and the --advertise flags): %w", err)
	}
	l := &loader{c: c, cfg: cfg, host: host, lines: lines, inFile: make(map[string]string), defaults: map[string]string{settings.NodeID: host}, values: make(map[string]string)}
	if home != "" {
		l.defaults[settings.DataDir] = filepath.Join(home, "namesrv", "raft")
	}
	l.fill()
	l.fillAddresses()
	l.fillToken()
	if err := errors.Join(l.errs...); err != nil {
		return nil, err
	}
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if !cfg.PeerListen.loopback() && cfg.PeerCA == "" {
		cfg.Warnings = append(cfg.Warnings, fmt.Sprintf(
			"--peer-listen %s is open to other machines: whoever reaches it can pose as a peer, unless --peer-ca, --peer-cert and --peer-key are given", cfg.PeerListen))
	}
	cfg.Logger = newLogger(cfg, c.App.ErrWriter)
	return cfg, l.showInForce()
}

// loadSettings reads the file of -c, and returns the line of each of its settings.
func (cfg *serverConfig) loadSettings(home string) (map[string]int, error) {
	src := settings.Source{ConfigFile: cfg.ConfigFile, Home: home, RocketMQHome: os.Getenv("ROCKETMQ_HOME")}
	if cfg.ConfigFile != "" {
		text, err := readFile(cfg.ConfigFile, maxProperties)
		if err != nil {
			return nil, fmt.Errorf("read the file of -c: %w", err)
		}
		if src.File, src.Lines, err = properties.ParseLines(text); err != nil {
			return nil, fmt.Errorf("-c %s: %w", cfg.ConfigFile, err)
		}
	}
	loaded, warnings, err := settings.Load(src)
	if err != nil && cfg.ConfigFile != "" {
		return nil, fmt.Errorf("-c %s: %w", cfg.ConfigFile, err)
	}
	for _, warning := range warnings { // all of them are about the file
		cfg.Warnings = append(cfg.Warnings, fmt.Sprintf("-c %s: %s", cfg.ConfigFile, warning))
	}
	cfg.Settings = loaded
	return src.Lines, err
}

// given returns the value of a flag from the command line or the environment, else
// from the file. Empty counts as not given: that is how compose files leave out a
// variable.
func (l *loader) given(own ownFlag) (string, bool) {
	if own.isSwitch() && l.c.IsSet(own.name) {
		return strconv.FormatBool(l.c.Bool(own.name)), true
	}
	if value := strings.TrimSpace(l.c.String(own.name)); value != "" && l.c.IsSet(own.name) {
		return value, true
	}
	value, _ := l.cfg.Settings.Value(own.setting)
	if line, known := l.lines[own.setting]; known && value != "" {
		l.inFile[own.name] = fmt.Sprintf(" (line %d of %s)", line, l.cfg.ConfigFile)
	}
	return value, value != ""
}

// fill sets what is no address.
func (l *loader) fill() {
	cfg, values := l.cfg, l.values
	for _, own := range ownFlags() {
		value, given := l.given(own)
		switch {
		case given:
			values[own.setting] = value
		case own.def != "":
			values[own.setting] = own.def
		default:
			values[own.setting] = l.defaults[own.setting]
		}
		if own.setting == settings.NodeID {
			cfg.NodeIDGiven = given
		}
	}
	cfg.NodeID, cfg.DataDir = values[settings.NodeID], values[settings.DataDir]
	cfg.PeerCA, cfg.PeerCert, cfg.PeerKey = values[settings.PeerCA], values[settings.PeerCert], values[settings.PeerKey]
	cfg.AdminCert, cfg.AdminKey = values[settings.AdminCert], values[settings.AdminKey]
	cfg.RaftProfile = values[settings.RaftProfile]
	cfg.ReadConsistency, cfg.OnNoLeader = values[settings.ReadConsistency], values[settings.OnNoLeader]
	cfg.LogLevel = strings.ToLower(values[settings.LogLevel])
	cfg.LogJSON = l.yes("log-json", values[settings.LogJSON])
	cfg.BootstrapExpect = l.expect("bootstrap-expect", values[settings.BootstrapExpect])
}

// yes reads a switch, which may come from the file as any text.
func (l *loader) yes(flag, value string) bool {
	yes, err := strconv.ParseBool(strings.ToLower(value))
	if err != nil {
		l.errs = append(l.errs, fmt.Errorf("--%s %q%s: use true or false", flag, value, l.inFile[flag]))
	}
	return yes
}

// expect reads --bootstrap-expect.
func (l *loader) expect(flag, value string) int {
	if value == "" {
		return formAlone
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < 0 {
		l.errs = append(l.errs, fmt.Errorf("--%s %q%s: use the number of peers that form the group, or 0 to be admitted to one", flag, value, l.inFile[flag]))
	}
	return n
}

// fillAddresses sets what to listen on and what to tell others.
func (l *loader) fillAddresses() {
	cfg, values := l.cfg, l.values
	if values[settings.PeerListen] == "" {
		values[settings.PeerListen] = "0.0.0.0:9875"
		if cfg.BootstrapExpect == formAlone {
			values[settings.PeerListen] = "127.0.0.1:9875"
		}
	}
	cfg.Listen = hostPort{host: cfg.Settings.BindAddress(), port: cfg.Settings.ListenPort()}
	if listen := strings.TrimSpace(l.c.String(flagListen)); listen != "" {
		cfg.Listen = l.address(flagListen, listen)
	}
	if cfg.Listen.host == "" {
		cfg.Listen.host = "0.0.0.0"
	}
	cfg.PeerListen = l.address("peer-listen", values[settings.PeerListen])
	cfg.AdminListen = l.address("admin-listen", values[settings.AdminListen])
	cfg.Advertise = l.advertised("advertise", values[settings.Advertise], cfg.Listen)
	cfg.PeerAdvertise = l.advertised("peer-advertise", values[settings.PeerAdvertise], cfg.PeerListen)
	cfg.AdminAdvertise = l.advertised("", "", cfg.AdminListen)
	for entry := range strings.SplitSeq(values[settings.Join], ",") {
		if entry = strings.TrimSpace(entry); entry != "" {
			cfg.Join = append(cfg.Join, l.address("join", entry))
		}
	}
}

func (l *loader) address(flag, value string) hostPort {
	address, err := parseHostPort(value)
	if err != nil {
		l.errs = append(l.errs, fmt.Errorf("--%s%s: %w", flag, l.inFile[flag], err))
	}
	return address
}

// advertised returns the address that was given for others, or derives it.
func (l *loader) advertised(flag, value string, listen hostPort) hostPort {
	switch {
	case value != "":
		return l.address(flag, value)
	case listen.unspecified():
		return hostPort{host: l.host, port: listen.port}
	}
	return listen
}

// showInForce puts what flags, environment and defaults decided into the settings, so
// that whoever asks the server for its settings sees what it uses. It is not for the
// file: there it would decide the next start, which may be told something else.
func (l *loader) showInForce() error {
	cfg := l.cfg
	changes := map[string]string{
		settings.BindAddress:   cfg.Listen.host,
		settings.ListenPort:    strconv.Itoa(cfg.Listen.port),
		settings.Advertise:     cfg.Advertise.String(),
		settings.PeerAdvertise: cfg.PeerAdvertise.String(),
	}
	for name, value := range l.values {
		if _, set := changes[name]; !set {
			changes[name] = value
		}
	}
	inForce, _, err := cfg.Settings.With(changes)
	cfg.Settings = inForce
	return err
}
