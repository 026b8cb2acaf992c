package main

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// nodeIDs become part of Raft ids (NODE-RANDOM) and of MEMBER@HOST:PORT.
var nodeIDs = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// Words that flags take; they never change.
var (
	logLevels       = []string{"trace", "debug", "info", "warn", "error", "off"}
	raftProfiles    = []string{"lan", "wan"}
	readModes       = []string{"linearizable", "local"}
	leaderlessModes = []string{"serve", "refuse"}
)

// Validate says what cannot work, in words of the flags. It may be called at any
// time and changes nothing.
func (cfg *serverConfig) Validate() error {
	return errors.Join(
		cfg.validateIdentity(),
		cfg.validateAddresses(),
		cfg.validateGroup(),
		cfg.validateSecurity(),
		oneOf("--log-level", cfg.LogLevel, logLevels...),
		oneOf("--raft-profile", cfg.RaftProfile, raftProfiles...),
		oneOf("--read-consistency", cfg.ReadConsistency, readModes...),
		oneOf("--on-no-leader", cfg.OnNoLeader, leaderlessModes...),
		oneOf("ROCKETMQ_SERIALIZE_TYPE", cfg.Serialize, "JSON", "ROCKETMQ"),
	)
}

func (cfg *serverConfig) validateIdentity() error {
	if !nodeIDs.MatchString(cfg.NodeID) {
		return fmt.Errorf("--node-id %q: use 1 to 64 letters, digits, dots, hyphens and underscores, the first a letter or digit", cfg.NodeID)
	}
	if cfg.DataDir == "" {
		return errors.New("--data-dir is needed, since there is no home directory to put it in")
	}
	return nil
}

func (cfg *serverConfig) validateAddresses() error {
	advertised := []struct {
		flag           string
		listen, others hostPort
	}{
		{"--advertise", cfg.Listen, cfg.Advertise},
		{"--peer-advertise", cfg.PeerListen, cfg.PeerAdvertise},
	}
	for _, a := range advertised {
		if a.listen.port == 0 && a.others.port == 0 && !a.others.unspecified() {
			continue // known once the port is
		}
		if err := a.others.checkReachable(); err != nil {
			return fmt.Errorf("%s: %w", a.flag, err)
		}
	}
	return cfg.validatePorts()
}

// validatePorts finds two listeners that cannot both have their port.
func (cfg *serverConfig) validatePorts() error {
	listeners := []struct {
		flag    string
		address hostPort
	}{{"--listen", cfg.Listen}, {"--peer-listen", cfg.PeerListen}, {"--admin-listen", cfg.AdminListen}}
	for i, a := range listeners {
		for _, b := range listeners[i+1:] {
			overlap := a.address.unspecified() || b.address.unspecified() || a.address.same(b.address)
			if a.address.port == b.address.port && a.address.port != 0 && overlap {
				return fmt.Errorf("%s %s and %s %s are the same port: give each its own", a.flag, a.address, b.flag, b.address)
			}
		}
	}
	return nil
}

// validateGroup checks what was said about other peers.
func (cfg *serverConfig) validateGroup() error {
	n := cfg.BootstrapExpect
	switch {
	case n == formAlone && len(cfg.Join) > 0:
		return fmt.Errorf("--join needs --bootstrap-expect: %d to form a new group of the peers listed, or 0 to be admitted to one that exists", len(cfg.Join))
	case n == formAlone || n == 0 || n == 1 && len(cfg.Join) == 0:
		return cfg.validateJoin()
	case len(cfg.Join) != n:
		return fmt.Errorf("--bootstrap-expect %d needs --join with exactly %d addresses, this peer's own among them: there are %d", n, n, len(cfg.Join))
	case !slices.ContainsFunc(cfg.Join, cfg.PeerAdvertise.same):
		return fmt.Errorf("--join must hold this peer's own --peer-advertise, %s: it holds %s", cfg.PeerAdvertise, joinText(cfg.Join))
	}
	return cfg.validateJoin()
}

func (cfg *serverConfig) validateJoin() error {
	for i, address := range cfg.Join {
		if err := address.checkReachable(); err != nil {
			return fmt.Errorf("--join: %w", err)
		}
		if slices.ContainsFunc(cfg.Join[:i], address.same) {
			return fmt.Errorf("--join: %s is listed twice", address)
		}
	}
	return nil
}

func (cfg *serverConfig) validateSecurity() error {
	files := []string{cfg.PeerCA, cfg.PeerCert, cfg.PeerKey}
	given := len(slices.DeleteFunc(slices.Clone(files), func(file string) bool { return file == "" }))
	if given != 0 && given != len(files) {
		return errors.New("--peer-ca, --peer-cert and --peer-key go together: give all three, or none for peers that talk in plain text")
	}
	if (cfg.AdminCert == "") != (cfg.AdminKey == "") {
		return errors.New("--admin-cert and --admin-key go together: give both, or none for plain HTTP")
	}
	if !cfg.AdminListen.loopback() && cfg.AdminToken == "" && cfg.NewTokenFile == "" {
		return fmt.Errorf("--admin-listen %s is reachable from other machines: give --admin-token-file, or listen on 127.0.0.1", cfg.AdminListen)
	}
	return nil
}

func oneOf(flag, value string, allowed ...string) error {
	if slices.Contains(allowed, value) {
		return nil
	}
	return fmt.Errorf("%s %q: use one of %s", flag, value, strings.Join(allowed, ", "))
}

// joinText writes addresses as --join takes them.
func joinText(addresses []hostPort) string {
	texts := make([]string, 0, len(addresses))
	for _, address := range addresses {
		texts = append(texts, address.String())
	}
	return strings.Join(texts, ",")
}
