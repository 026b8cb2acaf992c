package rocketmq

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"namesrv/internal/process"
)

// BrokerConfig describes a broker to start. Name and Dir are needed, and NameServers unless the properties name an address
// server.
type BrokerConfig struct {
	Version     Version  // "" = 5.5.0
	Name        string   // broker name
	Cluster     string   // "" = DefaultCluster
	ID          int      // 0 = master
	NameServers []string // addresses of the name servers it registers at
	Dir         string   // home of the broker: stores, configuration, logs
	Properties  []string // further lines of its configuration file, KEY=VALUE
}

// Broker is a running broker.
type Broker struct {
	Name string
	Addr string // the address it registers with

	port int
	cfg  BrokerConfig
	proc *process.Process
}

// registerPoll is how often a name server is asked whether a broker is there.
const registerPoll = 50 * time.Millisecond

// brokerJVM are options that keep a broker small.
var brokerJVM = append([]string{"-Xms256m", "-Xmx512m", "-XX:MaxDirectMemorySize=256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"}, opens...)

// StartBroker starts a broker with small stores and a small heap, and returns when it says that it is up. A 5.x broker
// is registered nowhere by then, as a rule: it sends its first registration only to name servers it has a connection
// to, and the next comes 10 s later; see [Broker.AwaitRegistered].
func StartBroker(ctx context.Context, cfg BrokerConfig) (*Broker, error) {
	port, err := brokerPort()
	if err != nil {
		return nil, err
	}
	return startBroker(ctx, cfg, port)
}

// Restart starts a broker that has ended once more, at its address and with its stores.
func (b *Broker) Restart(ctx context.Context) (*Broker, error) {
	return startBroker(ctx, b.cfg, b.port)
}

func startBroker(ctx context.Context, cfg BrokerConfig, port int) (*Broker, error) {
	if cfg.Version == "" {
		cfg.Version = V550
	}
	if cfg.Cluster == "" {
		cfg.Cluster = "DefaultCluster"
	}
	p := program{
		version: cfg.Version, name: "broker", dir: cfg.Dir, class: "org.apache.rocketmq.broker.BrokerStartup",
		jvm: brokerJVM,
	}
	file, err := p.writeProperties(brokerProperties(cfg, port)...)
	if err != nil {
		return nil, err
	}
	p.args = []string{"-c", file}
	proc, err := p.startService(ctx)
	if err != nil {
		return nil, err
	}
	return &Broker{Name: cfg.Name, Addr: fmt.Sprintf("127.0.0.1:%d", port), port: port, cfg: cfg, proc: proc}, nil
}

// brokerPort is a free one for a broker, which also listens two ports below (its fast port) and one above (replication).
func brokerPort() (int, error) { return freePorts(-2, 0, 1) }

func brokerProperties(cfg BrokerConfig, port int) []string {
	store := filepath.Join(cfg.Dir, "store")
	if len(cfg.NameServers) > 0 {
		cfg.Properties = append([]string{"namesrvAddr=" + strings.Join(cfg.NameServers, ";")}, cfg.Properties...)
	}
	return slices.Concat([]string{
		"brokerClusterName=" + cfg.Cluster,
		"brokerName=" + cfg.Name,
		fmt.Sprintf("brokerId=%d", cfg.ID),
		"brokerIP1=127.0.0.1",
		"brokerIP2=127.0.0.1",
		fmt.Sprintf("listenPort=%d", port),
		"storePathRootDir=" + store,
		"storePathCommitLog=" + filepath.Join(store, "commitlog"),
		"mappedFileSizeCommitLog=67108864",
		"mappedFileSizeConsumeQueue=300000",
		"mappedFileSizeTimerLog=1048576",
		"timerWheelEnable=false",
		"autoCreateTopicEnable=true",
		"diskMaxUsedSpaceRatio=98",
		"waitTimeMillsInSendQueue=10000", // on a busy machine it would refuse messages, which says nothing about name servers
		"osPageCacheBusyTimeOutMills=10000",
	}, cfg.Properties)
}

// AwaitRegistered waits until every one of the given name servers knows the broker.
func (b *Broker) AwaitRegistered(ctx context.Context, nameServers ...string) error {
	tick := time.NewTicker(registerPoll)
	defer tick.Stop()
	for _, addr := range nameServers {
		for !b.knownAt(ctx, addr) {
			select {
			case <-tick.C:
			case <-b.proc.Done():
				return fmt.Errorf("broker %s: %w", b.Name, process.ErrExited)
			case <-ctx.Done():
				return fmt.Errorf("broker %s is not registered at %s: %w", b.Name, addr, ctx.Err())
			}
		}
	}
	return nil
}

func (b *Broker) knownAt(ctx context.Context, nameServer string) bool {
	answer, err := Ask(ctx, nameServer, &Frame{Code: CodeClusterInfo})
	return err == nil && bytes.Contains(answer.Body, []byte(`"`+b.Addr+`"`))
}

// Stop ends the broker politely, which unregisters it, and kills it when that takes too long.
func (b *Broker) Stop() { b.proc.Stop(stopGrace) }

// Kill ends the broker at once.
func (b *Broker) Kill() { b.proc.Kill() }

// Output is what the broker printed, for the message of a failed test.
func (b *Broker) Output() string { return b.proc.Stdout() + b.proc.Stderr() }
