package rocketmq

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"namesrv/internal/process"
)

// Container is a running broker container: one process with several brokers, which share its connections to the name
// servers.
type Container struct {
	Addr    string    // where it takes brokers in and out
	Brokers []*Broker // in the order of their configurations; stopping one of them stops the whole process

	proc  *process.Process
	cfgs  []BrokerConfig
	files []string
}

// StartContainer starts a container of 5.5.0 with these brokers, whose Dir and NameServers it sets, and returns when it
// says that it is up; see [StartBroker]. dir is its home.
func StartContainer(ctx context.Context, dir string, nameServers []string, brokers ...BrokerConfig) (*Container, error) {
	port, err := freePorts(-2, 0)
	if err != nil {
		return nil, err
	}
	c := &Container{Addr: fmt.Sprintf("127.0.0.1:%d", port), cfgs: brokers}
	for i := range c.cfgs {
		c.cfgs[i].Dir, c.cfgs[i].NameServers = filepath.Join(dir, c.cfgs[i].Name), nameServers
		if err := c.configure(c.cfgs[i]); err != nil {
			return nil, err
		}
	}
	p := program{
		version: V550, name: "container", dir: dir, class: "org.apache.rocketmq.container.BrokerContainerStartup",
		jvm: brokerJVM, further: true, quiet: true, ready: "The broker container boot success",
	}
	file, err := p.writeProperties(
		fmt.Sprintf("listenPort=%d", port), "namesrvAddr="+strings.Join(nameServers, ";"), "brokerContainerIP=127.0.0.1",
		"brokerConfigPaths="+strings.Join(c.files, ":"))
	if err != nil {
		return nil, err
	}
	p.args = []string{"-c", file}
	if c.proc, err = p.startService(ctx); err != nil {
		return nil, err
	}
	for _, b := range c.Brokers {
		b.proc = c.proc
	}
	return c, nil
}

// configure gives a broker its ports and writes its configuration.
func (c *Container) configure(cfg BrokerConfig) error {
	port, err := brokerPort()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(cfg.Dir, 0o755); err != nil {
		return err
	}
	file := filepath.Join(cfg.Dir, "broker.properties")
	c.files = append(c.files, file)
	c.Brokers = append(c.Brokers, &Broker{Name: cfg.Name, Addr: fmt.Sprintf("127.0.0.1:%d", port)})
	return os.WriteFile(file, []byte(strings.Join(brokerProperties(cfg, port), "\n")+"\n"), 0o644)
}

// Remove takes the broker of that place in Brokers out of the container, as mqadmin removeBroker does.
func (c *Container) Remove(ctx context.Context, broker int) error {
	cfg := c.cfgs[broker]
	return c.ask(ctx, CodeRemoveBroker, map[string]string{
		"brokerClusterName": cfg.Cluster, "brokerName": cfg.Name, "brokerId": strconv.Itoa(cfg.ID),
	})
}

// Add puts a broker back that was removed, as mqadmin addBroker does.
func (c *Container) Add(ctx context.Context, broker int) error {
	return c.ask(ctx, CodeAddBroker, map[string]string{"configPath": c.files[broker]})
}

func (c *Container) ask(ctx context.Context, code int, fields map[string]string) error {
	answer, err := Ask(ctx, c.Addr, &Frame{Code: code, Version: v550Ordinal, Fields: fields})
	if err != nil {
		return fmt.Errorf("ask the container: %w", err)
	}
	if answer.Code != Success {
		return fmt.Errorf("ask the container: code %d: %s", answer.Code, answer.Remark)
	}
	return nil
}

// Kill ends the process at once.
func (c *Container) Kill() { c.proc.Kill() }

// Output is what the container printed, for the message of a failed test.
func (c *Container) Output() string { return c.proc.Stdout() + c.proc.Stderr() }
