package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"namesrv/admin"
	"namesrv/fsm"
	"namesrv/remoting/protocol"
)

// logRoom is what an entry of the log takes in bytes beside its command, at most.
const logRoom = 32

// readKVFile reads a stock file whose every key can be stored, in the order of the
// names.
func readKVFile(file string) (entries []admin.KV, namespaces int, err error) {
	raw, err := readFile(file, maxKVFile)
	if err != nil {
		return nil, 0, err
	}
	tables, err := protocol.ParseKVConfig(raw)
	if err == nil && tables == nil {
		err = errors.New(`it has no object "configTable"`)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("%s is no stock kvConfig.json, nothing was changed: %w", file, err)
	}
	whole := utf8.Valid(raw)
	for _, namespace := range slices.Sorted(maps.Keys(tables)) {
		if namespace == "" {
			return nil, 0, fmt.Errorf("%s: nothing was changed: it has a namespace without a name", file)
		}
		for _, key := range slices.Sorted(maps.Keys(tables[namespace])) {
			entry := admin.KV{Namespace: namespace, Key: key, Value: tables[namespace][key]}
			if err := checkEntry(entry, whole); err != nil {
				return nil, 0, fmt.Errorf("%s: nothing was changed: %s cannot be stored: %w", file, nameOf(entry), err)
			}
			entries = append(entries, entry)
		}
	}
	return entries, len(tables), nil
}

// checkEntry finds what the servers would refuse, and what is not as it was written:
// reading puts U+FFFD where a file is not whole UTF-8.
func checkEntry(e admin.KV, whole bool) error {
	if !whole && strings.ContainsRune(e.Namespace+e.Key+e.Value, utf8.RuneError) {
		return errors.New("it is not valid UTF-8")
	}
	if err := admin.CheckKV(e.Namespace, e.Key, e.Value); err != nil {
		return err
	}
	if size := len(fsm.EncodePutKV(e.Namespace, e.Key, e.Value)) + logRoom; size > fsm.MaxCommand {
		return fmt.Errorf("it takes %d bytes of the log and may take %d", size, fsm.MaxCommand)
	}
	return nil
}

// maxShown bounds what is shown of a name in an error, in bytes.
const maxShown = 120

// nameOf names an entry in an error.
func nameOf(e admin.KV) string {
	return fmt.Sprintf("key %s of namespace %s", shortened(e.Key), shortened(e.Namespace))
}

func shortened(name string) string {
	if name == "" {
		return `""`
	}
	if len(name) > maxShown {
		return cell(name[:maxShown]) + "..."
	}
	return cell(name)
}
