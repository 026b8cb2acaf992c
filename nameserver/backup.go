package nameserver

import (
	"bytes"
	"context"
	"errors"

	"namesrv/fsm"
)

// ErrRefused says that a request makes no sense or would do harm: nothing was
// changed. The text says why.
var ErrRefused = errors.New("refused")

// Save returns tables that show everything that was committed before the call,
// without settings of a restore under way, and a log index that they show at least.
func (s *Service) Save(ctx context.Context) (tables *fsm.State, index uint64, err error) {
	if _, err := s.group.Confirm(ctx); err != nil {
		return nil, 0, err
	}
	index = s.group.Applied() // before the tables are read: they may show more
	return s.tables.State().WithoutUpload(), index, nil
}

// AllKV returns the KV table of every namespace, as it certainly is.
func (s *Service) AllKV(ctx context.Context) (map[string]map[string]string, error) {
	if _, err := s.group.Confirm(ctx); err != nil {
		return nil, err
	}
	all := make(map[string]map[string]string)
	for ns := range s.tables.State().Namespaces() {
		values := make(map[string]string, ns.Len())
		for key, value := range ns.All() {
			values[key] = value
		}
		all[ns.Name] = values
	}
	return all, nil
}

// WriteSnapshot renders tables as a snapshot, in memory.
func WriteSnapshot(tables *fsm.State, index uint64) ([]byte, error) {
	var out bytes.Buffer
	if err := tables.WriteSnapshot(&out, index); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
