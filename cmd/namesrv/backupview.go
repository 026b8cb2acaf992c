package main

import (
	"context"

	"namesrv/admin"
	"namesrv/nameserver"
)

func (v *tablesView) AllKV(ctx context.Context) (map[string]map[string]string, error) {
	all, err := v.service.AllKV(ctx)
	return all, translate(err)
}

func (v *tablesView) Settings(ctx context.Context) ([]admin.Setting, error) {
	list, err := v.service.Settings(ctx)
	out := make([]admin.Setting, len(list))
	for i, s := range list {
		out[i] = admin.Setting{Name: s.Name, Value: s.Value, Next: s.Next, Shared: s.Shared, Note: s.Note}
	}
	return out, translate(err)
}

func (v *tablesView) SetSettings(ctx context.Context, changes map[string]string) error {
	return translate(v.service.SetSettings(ctx, changes))
}

func (v *tablesView) SaveSnapshot(ctx context.Context) (admin.Snapshot, error) {
	tables, index, err := v.service.Save(ctx)
	if err != nil {
		return admin.Snapshot{}, translate(err)
	}
	data, err := nameserver.WriteSnapshot(tables, index)
	return admin.Snapshot{Index: index, Data: data}, err
}

func (v *tablesView) RestoreSnapshot(ctx context.Context, id string, data []byte) (int, error) {
	addresses, err := v.service.Restore(ctx, id, data)
	return addresses, translate(err)
}

func (v *tablesView) RestoreState(ctx context.Context) (admin.RestoreState, error) {
	state, err := v.service.RestoreState(ctx)
	return admin.RestoreState(state), translate(err)
}
