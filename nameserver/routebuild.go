package nameserver

import (
	"cmp"
	"slices"
	"strings"

	"namesrv/fsm"
	"namesrv/remoting/protocol"
)

// buildRoute collects a topic's route; nil when it has none. A topic whose
// brokers are all unknown has none, as in RocketMQ's RouteInfoManager.
func buildRoute(state *fsm.State, topic string) *protocol.TopicRoute {
	t := state.Topic(topic)
	if t == nil || len(t.Queues) == 0 {
		return nil
	}
	r := &protocol.TopicRoute{Mappings: t.Mappings}
	for _, q := range t.Queues {
		r.Queues = append(r.Queues, protocol.QueueData{BrokerName: q.Broker, Read: q.Settings.Read, Write: q.Settings.Write, Perm: q.Settings.Perm, SysFlag: q.Settings.SysFlag})
		g := state.Broker(q.Broker)
		if g == nil {
			continue
		}
		r.Brokers = append(r.Brokers, protocol.BrokerData{Name: g.Name, Cluster: g.Cluster, Zone: g.Zone, ActingMaster: g.Acting, Addrs: g.Addrs})
		r.Filters = append(r.Filters, filtersOf(state, g)...)
	}
	if len(r.Brokers) == 0 {
		return nil
	}
	opts := state.Options()
	if opts.OrderMessageEnable {
		r.OrderConf, r.HasOrderConf = state.KV(orderNamespace, topic)
	}
	if opts.SupportActingMaster && !strings.HasPrefix(topic, syncTopicPrefix) {
		actMasters(r)
	}
	return r
}

func filtersOf(state *fsm.State, g *fsm.BrokerGroup) []protocol.FilterServers {
	var out []protocol.FilterServers
	for _, a := range g.Addrs {
		if l := state.LiveOf(g, a.Addr); l != nil && len(l.Filters) > 0 {
			out = append(out, protocol.FilterServers{Addr: a.Addr, Servers: l.Filters})
		}
	}
	return out
}

// actMasters lets the smallest id of a group without a master stand in for it, in
// the answer only: readers go on, and producers find no writable queue.
func actMasters(r *protocol.TopicRoute) {
	const write = 2
	for i, b := range r.Brokers {
		if !b.ActingMaster || len(b.Addrs) == 0 || hasMaster(b.Addrs) || permOf(r.Queues, b.Name)&write != 0 {
			continue
		}
		addrs := slices.Clone(b.Addrs) // the table's own must not change
		addrs[0].ID = 0
		slices.SortFunc(addrs, func(a, b protocol.BrokerAddr) int { return cmp.Compare(a.ID, b.ID) })
		r.Brokers[i].Addrs = addrs
	}
}

func hasMaster(addrs []protocol.BrokerAddr) bool {
	for _, a := range addrs {
		if a.ID == 0 {
			return true
		}
	}
	return false
}

func permOf(queues []protocol.QueueData, broker string) int32 {
	for _, q := range queues {
		if q.BrokerName == broker {
			return q.Perm
		}
	}
	return 0
}

// zoneOf reads the fields with which a client asks for one zone's brokers only.
func zoneOf(req *protocol.Command) (zone string, ok bool) {
	zone = req.ExtFields["__ZONE_NAME"]
	return zone, isTrue(req.ExtFields["__ZONE_MODE"]) && strings.TrimSpace(zone) != ""
}

// zoneAnswer keeps the brokers of a zone, and those without a master; it may be
// empty, and is always in the legacy dialect, as the stock ZoneRouteRPCHook does.
func (s *Service) zoneAnswer(state *fsm.State, topic, zone string) *protocol.Command {
	r := buildRoute(state, topic)
	if r == nil {
		return noRoute(topic)
	}
	kept := &protocol.TopicRoute{OrderConf: r.OrderConf, HasOrderConf: r.HasOrderConf, Mappings: r.Mappings}
	dropped := map[string]bool{}
	droppedAddrs := map[string]bool{}
	for _, b := range r.Brokers {
		if !hasMaster(b.Addrs) || strings.EqualFold(b.Zone, zone) {
			kept.Brokers = append(kept.Brokers, b)
			continue
		}
		dropped[b.Name] = true
		for _, a := range b.Addrs {
			droppedAddrs[a.Addr] = true
		}
	}
	for _, q := range r.Queues {
		if !dropped[q.BrokerName] {
			kept.Queues = append(kept.Queues, q)
		}
	}
	for _, f := range r.Filters {
		if !droppedAddrs[f.Addr] {
			kept.Filters = append(kept.Filters, f)
		}
	}
	return withBody(kept.AppendJSON(nil, protocol.Legacy))
}
