package nameserver

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"namesrv/fsm"
)

// Collectors returns the service's metrics, for the caller's own registry.
func (s *Service) Collectors() []prometheus.Collector {
	table := func(name, help string, value func(fsm.Counts) int) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: "namesrv", Name: name, Help: help}, func() float64 {
			return float64(value(s.tables.State().Counts()))
		})
	}
	registrations := func(result string, n *atomic.Uint64) prometheus.Collector {
		return prometheus.NewCounterFunc(prometheus.CounterOpts{Namespace: "namesrv", Name: "registrations_total",
			Help:        "Broker registrations at this peer: logged in full, touched (a small entry for a new connection), unchanged (no entry), refused.",
			ConstLabels: prometheus.Labels{"result": result}}, func() float64 { return float64(n.Load()) })
	}
	return []prometheus.Collector{
		table("topics", "Topics that have a route.", func(c fsm.Counts) int { return c.Topics }),
		table("queue_entries", "Pairs of topic and broker name.", func(c fsm.Counts) int { return c.QueueEntries }),
		table("broker_groups", "Broker names.", func(c fsm.Counts) int { return c.Brokers }),
		table("broker_addresses", "Registered broker addresses.", func(c fsm.Counts) int { return c.Addresses }),
		registrations("logged", &s.registers.logged),
		registrations("touched", &s.registers.touched),
		registrations("unchanged", &s.registers.unchanged),
		registrations("refused", &s.registers.refused),
		prometheus.NewCounterFunc(prometheus.CounterOpts{Namespace: "namesrv", Name: "unconfirmed_answers_total",
			Help: "Answers given from the last known state because no leader could be reached."}, func() float64 { return float64(s.unconfirmed.Load()) }),
	}
}

// Collectors returns the clock's metrics, for the caller's own registry.
func (c *Clock) Collectors() []prometheus.Collector {
	counter := func(name, help string, n *atomic.Uint64) prometheus.Collector {
		return prometheus.NewCounterFunc(prometheus.CounterOpts{Namespace: "namesrv", Name: name, Help: help}, func() float64 { return float64(n.Load()) })
	}
	return []prometheus.Collector{
		counter("expired_addresses_total", "Broker addresses that this peer, as the leader, removed for silence or a lost connection.", &c.expired),
		counter("expiry_held_total", "Broker addresses that were given one timeout more because too many fell silent together.", &c.held),
	}
}
