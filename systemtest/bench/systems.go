package main

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"namesrv/internal/process"
	"namesrv/internal/rocketmq"
	"namesrv/systemtest"
)

// The systems that are measured, by the names they have in the table.
const (
	stock = "stock 5.5.0"
	ours  = "ours"
	three = "ours, 3 peers"
	echo  = "bare echo"
)

// stockHeap is what the stock start script gives the server, halved to fit a small machine.
const stockHeap = "2g"

// system is something that is measured.
type system struct {
	name  string
	addrs []string // connections are spread over them
	pids  []int
	stop  func()
}

// start starts a system in an empty folder below dir.
func start(ctx context.Context, o options, dir, name string) (*system, error) {
	dir, err := os.MkdirTemp(dir, "run-")
	if err != nil {
		return nil, err
	}
	switch name {
	case stock:
		return startStock(ctx, dir)
	case ours:
		return startOurs(ctx, o, dir)
	case three:
		return startThree(ctx, o, dir)
	default:
		return startEcho(ctx, dir)
	}
}

func startStock(ctx context.Context, dir string) (*system, error) {
	s, err := rocketmq.StartStock(ctx, rocketmq.StockConfig{Dir: dir, Heap: stockHeap})
	if err != nil {
		return nil, err
	}
	return &system{name: stock, addrs: []string{s.Addr}, pids: []int{s.Pid()}, stop: s.Stop}, nil
}

func startOurs(ctx context.Context, o options, dir string) (*system, error) {
	n, err := systemtest.NewNode(o.binary, "n1", dir)
	if err != nil {
		return nil, err
	}
	if err := n.Start(ctx); err != nil {
		n.Kill()
		return nil, err
	}
	return &system{name: ours, addrs: []string{n.Client}, pids: []int{n.Process().Pid()}, stop: func() { n.Stop() }}, nil
}

func startThree(ctx context.Context, o options, dir string) (*system, error) {
	c, err := systemtest.NewCluster(o.binary, dir, 3)
	if err != nil {
		return nil, err
	}
	if err := c.Start(ctx); err != nil {
		c.Kill()
		return nil, err
	}
	s := &system{name: three, addrs: c.Clients(), stop: c.Stop}
	for _, n := range c.Nodes {
		s.pids = append(s.pids, n.Process().Pid())
	}
	return s, nil
}

func startEcho(ctx context.Context, dir string) (*system, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	addr, err := rocketmq.FreeAddr()
	if err != nil {
		return nil, err
	}
	p, err := process.Start(process.Config{Path: self, Args: []string{"-echo", addr}, Log: filepath.Join(dir, "log")})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if _, err := p.WaitLine(ctx, "listening"); err != nil {
		p.Kill()
		return nil, err
	}
	return &system{name: echo, addrs: []string{addr}, pids: []int{p.Pid()}, stop: p.Kill}, nil
}

// resident is the memory of the system's largest process, in bytes.
func (s *system) resident() (int, error) {
	most := 0
	for _, pid := range s.pids {
		n, err := systemtest.ResidentBytes(pid)
		if err != nil {
			return 0, err
		}
		most = max(most, n)
	}
	return most, nil
}

// cpu is the processor time that the system's processes have used.
func (s *system) cpu() (sum time.Duration, err error) {
	for _, pid := range s.pids {
		used, err := systemtest.CPUTime(pid)
		if err != nil {
			return 0, err
		}
		sum += used
	}
	return sum, nil
}
