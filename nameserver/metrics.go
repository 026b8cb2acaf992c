package nameserver

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"namesrv/fsm"
)

const metricsNamespace = "namesrv"

// Collectors returns the service's metrics, for the caller's own registry.
func (s *Service) Collectors() []prometheus.Collector {
	table := func(name, help string, value func(fsm.Counts) int) prometheus.Collector {
		return gaugeOf(name, help, func() float64 { return float64(value(s.tables.State().Counts())) })
	}
	registrations := func(result string, n *atomic.Uint64) prometheus.Collector {
		return counterOf("registrations_total", "Broker registrations at this peer: logged in full, touched (a small entry for a new connection), unchanged (no entry), refused.",
			prometheus.Labels{"result": result}, n)
	}
	return []prometheus.Collector{
		table("topics", "Topics that have a route.", func(c fsm.Counts) int { return c.Topics }),
		table("queue_entries", "Pairs of topic and broker name.", func(c fsm.Counts) int { return c.QueueEntries }),
		table("broker_groups", "Broker names.", func(c fsm.Counts) int { return c.Brokers }),
		table("broker_addresses", "Registered broker addresses.", func(c fsm.Counts) int { return c.Addresses }),
		table("kv_namespaces", "KV namespaces.", func(c fsm.Counts) int { return c.Namespaces }),
		gaugeOf("broker_sessions", "Broker addresses that have a connection to this peer.", func() float64 { return float64(s.sessions.open()) }),
		registrations("logged", &s.registers.logged),
		registrations("touched", &s.registers.touched),
		registrations("unchanged", &s.registers.unchanged),
		registrations("refused", &s.registers.refused),
		counterOf("unconfirmed_answers_total", "Answers given from the last known state because no leader could be reached.", nil, &s.unconfirmed),
	}
}

// Figures are the sizes of the tables, and this peer's own part.
type Figures struct {
	Topics      int    // with a route
	Addresses   int    // registered broker addresses
	Sessions    int    // of them, those with a connection here
	Unconfirmed uint64 // answers from the last known state, since the start
}

// Figures returns those of this moment.
func (s *Service) Figures() Figures {
	counts := s.tables.State().Counts()
	return Figures{Topics: counts.Topics, Addresses: counts.Addresses, Sessions: s.sessions.open(), Unconfirmed: s.unconfirmed.Load()}
}

// Collectors returns the clock's metrics, for the caller's own registry.
func (c *Clock) Collectors() []prometheus.Collector {
	expired := func(reason string, n *atomic.Uint64) prometheus.Collector {
		return counterOf("expired_addresses_total", "Broker addresses that this peer, as the leader, removed, by reason: silence, or the end of the last connection.",
			prometheus.Labels{"reason": reason}, n)
	}
	return []prometheus.Collector{
		expired("silence", &c.silent),
		expired("connection", &c.ended),
		counterOf("expiry_held_total", "Broker addresses that were given one timeout more because too many fell silent together.", nil, &c.held),
	}
}

func gaugeOf(name, help string, value func() float64) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: metricsNamespace, Name: name, Help: help}, value)
}

func counterOf(name, help string, labels prometheus.Labels, n *atomic.Uint64) prometheus.Collector {
	return prometheus.NewCounterFunc(prometheus.CounterOpts{Namespace: metricsNamespace, Name: name, Help: help, ConstLabels: labels},
		func() float64 { return float64(n.Load()) })
}
