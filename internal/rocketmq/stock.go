package rocketmq

import (
	"context"
	"fmt"

	"namesrv/internal/process"
)

// StockConfig describes a stock name server to start. Dir is needed.
type StockConfig struct {
	Version    Version  // "" = 5.5.0
	Dir        string   // its home, where it keeps its KV; an empty one makes a fresh server
	Heap       string   // size as the JVM takes it, minimum and maximum; "" = 256m
	Properties []string // further lines of its configuration file, KEY=VALUE
}

// Stock is a running stock name server.
type Stock struct {
	Addr string

	proc *process.Process
}

// StartStock starts the Java name server on a free port and returns when it says that it is up.
func StartStock(ctx context.Context, cfg StockConfig) (*Stock, error) {
	port, err := FreePort()
	if err != nil {
		return nil, err
	}
	if cfg.Version == "" {
		cfg.Version = V550
	}
	if cfg.Heap == "" {
		cfg.Heap = "256m"
	}
	p := program{
		version: cfg.Version, name: "namesrv", dir: cfg.Dir, class: "org.apache.rocketmq.namesrv.NamesrvStartup",
		jvm: []string{"-Xms" + cfg.Heap, "-Xmx" + cfg.Heap},
	}
	lines := append([]string{fmt.Sprintf("listenPort=%d", port), "bindAddress=127.0.0.1"}, cfg.Properties...)
	file, err := p.writeProperties(lines...)
	if err != nil {
		return nil, err
	}
	p.args = []string{"-c", file}
	proc, err := p.startService(ctx)
	if err != nil {
		return nil, err
	}
	return &Stock{Addr: fmt.Sprintf("127.0.0.1:%d", port), proc: proc}, nil
}

// Pid is the process id of the JVM.
func (s *Stock) Pid() int { return s.proc.Pid() }

// Stop ends the server politely, which takes it some seconds.
func (s *Stock) Stop() { s.proc.Stop(stopGrace) }

// Kill ends the server at once.
func (s *Stock) Kill() { s.proc.Kill() }

// Output is what the server printed, for the message of a failed test.
func (s *Stock) Output() string { return s.proc.Stdout() + s.proc.Stderr() }
