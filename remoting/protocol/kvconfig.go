package protocol

import "fmt"

// ParseKVConfig decodes the file in which the stock name server keeps its KV table: namespace, key, value. A null value
// counts as absent, and the table is nil without a configTable. It returns ErrBody for a file that is empty, cut or
// followed by something else.
func ParseKVConfig(file []byte) (map[string]map[string]string, error) {
	s := newScanner(file)
	var tables map[string]map[string]string
	for m := s.object(); m.next(); {
		if string(m.key.bytes) != "configTable" {
			s.skip()
			continue
		}
		if s.null() {
			continue
		}
		if tables == nil {
			tables = make(map[string]map[string]string)
		}
		for ns := s.object(); ns.next(); {
			tables[s.str(ns.key)] = s.kvTable()
		}
	}
	if err := s.end(); err != nil {
		return nil, fmt.Errorf("%w: KV configuration: %w", ErrBody, err)
	}
	return tables, nil
}

func (s *scanner) kvTable() map[string]string {
	table := make(map[string]string)
	if s.null() {
		return table
	}
	for m := s.object(); m.next(); {
		key := s.str(m.key)
		if !s.null() {
			table[key] = s.string()
		}
	}
	return table
}
