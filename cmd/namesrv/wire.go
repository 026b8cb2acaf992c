package main

import (
	"fmt"
	"net"

	"namesrv/admin"
	"namesrv/cluster"
	"namesrv/nameserver"
	"namesrv/remoting"
	"namesrv/remoting/protocol"
)

// goroutinesPerThread turns the stock server's numbers of threads into ours: a
// goroutine that waits for the group holds no core, a thread there did not wait.
const goroutinesPerThread = 64

func (p *runningPeer) clusterConfig(peerListener, adminListener net.Listener) (cluster.Config, error) {
	cfg := p.cfg
	tlsConfig, err := peerTLS(cfg)
	if err != nil {
		return cluster.Config{}, err
	}
	facts, err := loadFacts(cfg)
	if err != nil {
		return cluster.Config{}, err
	}
	conf := cluster.Config{
		NodeID: cfg.NodeID, DataDir: cfg.DataDir, Listener: peerListener, TLS: tlsConfig,
		Advertise:  withPort(cfg.PeerAdvertise, peerListener).String(),
		ClientAddr: cfg.Advertise.String(),
		AdminAddr:  withPort(cfg.AdminAdvertise, adminListener).String(),
		Version:    programVersion(),
		Facts:      facts,
		Init:       initCommand,
		Machine:    p.tables, Renewer: p.clock, Lead: p.clock.Lead, Serve: p.clock.Serve,
		Removed: func() { close(p.removed) },
		Fatal:   func(err error) { p.fatal <- fmt.Errorf("%w: %w", errFatal, err) },
		Logger:  cfg.Logger.Named("cluster"),
	}
	if cfg.RaftProfile == "wan" {
		conf.Profile = cluster.WAN
	}
	if !cfg.NodeIDGiven {
		if remembered := cluster.NodeIDOf(cfg.DataDir); remembered != "" {
			conf.NodeID = remembered
		}
	}
	if cfg.BootstrapExpect == formAlone {
		conf.Single = true
		return conf, nil
	}
	conf.Expect = cfg.BootstrapExpect
	for _, addr := range cfg.Join {
		conf.Join = append(conf.Join, addr.String())
	}
	return conf, nil
}

// withPort fills in the port that the system chose.
func withPort(addr hostPort, l net.Listener) hostPort {
	if tcp, ok := l.Addr().(*net.TCPAddr); ok && addr.port == 0 {
		addr.port = tcp.Port
	}
	return addr
}

func (p *runningPeer) serviceConfig() nameserver.Config {
	return nameserver.Config{
		LocalReads:          p.cfg.ReadConsistency == "local",
		RefuseWithoutLeader: p.cfg.OnNoLeader == "refuse",
		Settings:            p.cfg.Settings,
		SaveSettings:        p.cfg.saveSettings(),
		Overruled:           p.cfg.overruled,
		Logger:              p.cfg.Logger,
	}
}

func (p *runningPeer) remotingServer() *remoting.Server {
	s := p.cfg.Settings
	routeWorkers, routeQueue := s.ClientRequestPool()
	workers, queue := s.DefaultPool()
	pools := nameserver.Pools{
		Routes:  remoting.NewPool("routes", routeWorkers*goroutinesPerThread, routeQueue),
		Default: remoting.NewPool("default", workers*goroutinesPerThread, queue),
	}
	serialize := protocol.JSON
	if p.cfg.Serialize == protocol.RocketMQ.String() {
		serialize = protocol.RocketMQ
	}
	server := remoting.NewServer(remoting.ServerConfig{
		Processors: p.service.Processors(pools), Default: p.service.Default(pools), Serialize: serialize,
		Idle: p.service.IdleTimeout, HighWater: s.HighWaterMark(),
		Wrap: p.gate.Wrap, OnAccept: p.service.OnAccept, OnRequest: p.metrics.request,
		OnEvent: func(kind remoting.EventKind, c *remoting.Conn) {
			p.metrics.event(kind)
			p.service.OnEvent(kind, c)
		},
		Logger: p.cfg.Logger.Named("remoting"),
	})
	p.metrics.watch(server, pools.Routes, pools.Default)
	return server
}

func (p *runningPeer) adminServer() *admin.Server {
	log := p.cfg.Logger.Named("admin")
	return admin.NewServer(admin.NewHandler(admin.Config{
		Cluster: &clusterView{node: p.node, service: p.service, wire: p.wire, started: p.metrics.started}, Tables: &tablesView{service: p.service},
		Reading:  nameserver.WithUnconfirmed,
		Gatherer: p.metrics.registry, Token: p.cfg.AdminToken, Logger: log,
	}), log)
}
