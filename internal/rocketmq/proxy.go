package rocketmq

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"namesrv/internal/process"
)

// Proxy is a running RocketMQ proxy in cluster mode.
type Proxy struct {
	Addr string // of its remoting port, which clients use in place of a name server

	proc *process.Process
}

// StartProxy starts the proxy of 5.5.0 for a cluster, of which a broker must be registered at the name servers, and
// returns when it says that it is up. dir is its home.
func StartProxy(ctx context.Context, cluster, dir string, nameServers ...string) (*Proxy, error) {
	var ports [2]int // remoting, gRPC
	for i := range ports {
		var err error
		if ports[i], err = FreePort(); err != nil {
			return nil, err
		}
	}
	file := filepath.Join(dir, "proxy.json")
	text, err := json.Marshal(map[string]any{
		"rocketMQClusterName": cluster, "namesrvAddr": strings.Join(nameServers, ";"), "localServeAddr": "127.0.0.1",
		"remotingListenPort": ports[0], "grpcServerPort": ports[1],
	})
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(file, text, 0o644); err != nil {
		return nil, err
	}
	proc, err := program{
		version: V550, name: "proxy", dir: dir, class: "org.apache.rocketmq.proxy.ProxyStartup", further: true, quiet: true,
		jvm: brokerJVM, args: []string{"-pc", file}, ready: "startup successfully",
	}.startService(ctx)
	if err != nil {
		return nil, err
	}
	return &Proxy{Addr: fmt.Sprintf("127.0.0.1:%d", ports[0]), proc: proc}, nil
}

// Kill ends the proxy at once.
func (p *Proxy) Kill() { p.proc.Kill() }
