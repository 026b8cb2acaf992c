package main

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"namesrv/cluster"
	"namesrv/fsm"
	"namesrv/internal/settings"
	"namesrv/remoting/protocol"
)

// kvFact starts the name of a fact that is an entry of a stock kvConfig.json; the
// namespace's length comes next, since either part may contain any character.
const kvFact = "kvConfig.json "

// loadFacts collects what this peer would start a new cluster with: its settings
// of the whole cluster, and the entries of a stock kvConfig.json. A directory that
// belongs to a cluster has no use for them: keys deleted since would come back.
func loadFacts(cfg *serverConfig) (map[string]string, error) {
	facts := cfg.Settings.ClusterOptions()
	if cluster.Admitted(cfg.DataDir) {
		return facts, nil
	}
	path := cfg.Settings.KVConfigPath()
	raw, err := readFile(path, maxKVFile)
	if errors.Is(err, fs.ErrNotExist) {
		return facts, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w: make it readable, or move it away to start without it", settings.KVConfigPath, err)
	}
	tables, err := protocol.ParseKVConfig(raw)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be taken over, nothing was changed: %w: mend it (a .bak may be beside it), or move it away to start without it", path, err)
	}
	for namespace, table := range tables {
		facts[kvFactName(namespace, "")] = ""
		for key, value := range table {
			facts[kvFactName(namespace, key)] = value
		}
	}
	return facts, nil
}

func kvFactName(namespace, key string) string {
	return fmt.Sprintf("%s%d %s %s", kvFact, len(namespace), namespace, key)
}

// initCommand makes the first command of a cluster of everybody's facts.
func initCommand(facts map[string]string) []byte {
	options := make(map[string]string)
	kv := make(map[string]map[string]string)
	for name, value := range facts {
		namespace, key, ok := parseKVFact(name)
		if !ok {
			options[name] = value
			continue
		}
		if kv[namespace] == nil {
			kv[namespace] = make(map[string]string)
		}
		if key != "" {
			kv[namespace][key] = value
		}
	}
	return fsm.EncodeInit(options, kv)
}

func parseKVFact(name string) (namespace, key string, ok bool) {
	rest, ok := strings.CutPrefix(name, kvFact)
	if !ok {
		return "", "", false
	}
	var length int
	if n, err := fmt.Sscanf(rest, "%d ", &length); n != 1 || err != nil {
		return "", "", false
	}
	_, rest, _ = strings.Cut(rest, " ")
	if length < 0 || length >= len(rest) {
		return "", "", false
	}
	return rest[:length], rest[length+1:], true
}
