package main

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"namesrv/admin"
	"namesrv/cluster"
	"namesrv/nameserver"
	"namesrv/remoting"
)

// readyLimit is how long a readiness probe may take.
const readyLimit = 500 * time.Millisecond

// clusterView shows the group to the HTTP API.
type clusterView struct {
	node    *cluster.Node
	service *nameserver.Service
	wire    *remoting.Server
	started time.Time
}

func (v *clusterView) Members(ctx context.Context) ([]admin.Member, error) {
	members, err := v.node.Members(ctx)
	if err != nil {
		return nil, translate(err)
	}
	out := make([]admin.Member, len(members))
	for i, m := range members {
		out[i] = admin.Member{ID: m.ID, Member: m.Member, Peer: m.Peer, Client: m.Client, Admin: m.Admin, Voter: m.Voter,
			Leader: m.Leader, Reachable: m.Reachable, LastIndex: m.LastIndex, Lag: m.Lag, Version: m.Version}
	}
	slices.SortFunc(out, func(a, b admin.Member) int { return strings.Compare(a.ID, b.ID) })
	return out, nil
}

func (v *clusterView) Status(context.Context) (admin.Status, error) {
	s, figures := v.node.Status(), v.service.Figures()
	return admin.Status{ID: s.ID, Member: s.Member, Cluster: s.UUID, State: strings.ToLower(s.State), Term: s.Term, Leader: s.Leader,
		AppliedIndex: s.Applied, CommitIndex: s.Commit, LastIndex: s.LastIndex, Voters: s.Voters, FeatureLevel: s.FeatureLevel, KnownLevel: s.Knows, Linearizable: s.Linearizable,
		Formed: s.Formed, LastContact: s.LastContact.Milliseconds(), Snapshot: s.Snapshot, LogBytes: s.LogBytes,
		Topics: figures.Topics, Brokers: figures.Addresses, Sessions: figures.Sessions, Unconfirmed: figures.Unconfirmed, Connections: v.wire.Conns(),
		Version: programVersion(), Started: v.started}, nil
}

func (v *clusterView) NotReady() []string {
	ctx, cancel := context.WithTimeout(context.Background(), readyLimit)
	defer cancel()
	return v.node.NotReady(ctx)
}

// tablesView shows the tables to the HTTP API.
type tablesView struct{ service *nameserver.Service }

func (v *tablesView) GetKV(ctx context.Context, namespace, key string) (string, bool, error) {
	value, found, err := v.service.GetKV(ctx, namespace, key)
	return value, found, translate(err)
}

func (v *tablesView) PutKV(ctx context.Context, namespace, key, value string) error {
	return translate(v.service.PutKV(ctx, namespace, key, value))
}

func (v *tablesView) DeleteKV(ctx context.Context, namespace, key string) error {
	return translate(v.service.DeleteKV(ctx, namespace, key))
}

func (v *tablesView) ListKV(ctx context.Context, namespace string) (map[string]string, bool, error) {
	values, found, err := v.service.ListKV(ctx, namespace)
	return values, found, translate(err)
}

func (v *tablesView) Topics(ctx context.Context) ([]string, error) {
	names, err := v.service.Topics(ctx)
	return names, translate(err)
}

func (v *tablesView) Route(ctx context.Context, topic string) (json.RawMessage, bool, error) {
	body, found, err := v.service.Route(ctx, topic)
	return body, found, translate(err)
}

func (v *tablesView) DeleteTopic(ctx context.Context, topic, cluster string) error {
	return translate(v.service.DeleteTopic(ctx, topic, cluster))
}

func (v *tablesView) Brokers(ctx context.Context) ([]admin.Broker, error) {
	brokers, err := v.service.Brokers(ctx)
	out := make([]admin.Broker, len(brokers))
	for i, b := range brokers {
		out[i] = admin.Broker{Name: b.Live.Broker, Cluster: b.Cluster, Zone: b.Zone, ActingMaster: b.Acting, ID: b.ID, Address: b.Addr,
			TimeoutMS: b.TimeoutMillis, Registered: b.Registered,
			DataVersion: admin.DataVersion{StateVersion: b.DataVersion.StateVersion, Timestamp: b.DataVersion.Timestamp, Counter: b.DataVersion.Counter}}
	}
	return out, translate(err)
}

func (v *tablesView) WipeWrite(ctx context.Context, broker string) (int, error) {
	n, err := v.service.WipeWrite(ctx, broker)
	return n, translate(err)
}

func (v *tablesView) AddWrite(ctx context.Context, broker string) (int, error) {
	n, err := v.service.AddWrite(ctx, broker)
	return n, translate(err)
}

// translate gives the group's errors the names that the HTTP API knows.
func translate(err error) error {
	switch {
	case errors.Is(err, cluster.ErrNoLeader):
		return &admin.Error{Kind: admin.KindNoLeader, Message: err.Error()}
	case errors.Is(err, nameserver.ErrAbsent):
		return &admin.Error{Kind: admin.KindNotFound, Message: err.Error()}
	case errors.Is(err, nameserver.ErrRefused), errors.Is(err, cluster.ErrRefused), errors.Is(err, cluster.ErrTooNew):
		return &admin.Error{Kind: admin.KindRefused, Message: err.Error()}
	case errors.Is(err, cluster.ErrUnknownOutcome):
		return &admin.Error{Kind: admin.KindTimeout, Message: err.Error()}
	}
	return err
}
