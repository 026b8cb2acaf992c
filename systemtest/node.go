package systemtest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"namesrv/internal/process"
	"namesrv/internal/rocketmq"
)

const (
	// startTimeout is for a start on a busy machine; a peer of a new cluster waits for the others in it.
	startTimeout = 30 * time.Second
	// stopGrace is how long a polite stop may take before the process is killed.
	stopGrace = 15 * time.Second
)

// Node is one name server process with its ports and its data directory. It may be started again after it ended.
type Node struct {
	ID     string
	Client string // address for brokers and clients
	Peer   string // address for the other peers
	Admin  string // address of the HTTP port
	Dir    string // holds the data directory and the log of this node

	binary string
	flags  []string // of the group it belongs to, and further ones
	proc   *process.Process
}

// NewNode gives a node its ports and a folder below dir. It starts nothing.
func NewNode(binary, id, dir string, flags ...string) (*Node, error) {
	n := &Node{ID: id, Dir: filepath.Join(dir, id), binary: binary, flags: flags}
	if err := os.MkdirAll(n.Dir, 0o755); err != nil {
		return nil, err
	}
	for _, addr := range []*string{&n.Client, &n.Peer, &n.Admin} {
		var err error
		if *addr, err = rocketmq.FreeAddr(); err != nil {
			return nil, err
		}
	}
	return n, nil
}

// DataDir is where the node keeps its state.
func (n *Node) DataDir() string { return filepath.Join(n.Dir, "data") }

// LogFile has all that the node printed, over all its starts.
func (n *Node) LogFile() string { return filepath.Join(n.Dir, "namesrv.log") }

// Args is the command line the node is started with.
func (n *Node) Args() []string {
	return append([]string{
		"server", "--node-id", n.ID, "--data-dir", n.DataDir(), "--listen", n.Client, "--advertise", n.Client,
		"--peer-listen", n.Peer, "--peer-advertise", n.Peer, "--admin-listen", n.Admin,
	}, n.flags...)
}

// AddFlags adds to the command line of the next start.
func (n *Node) AddFlags(flags ...string) { n.flags = append(n.flags, flags...) }

// Launch starts the process and does not wait for anything.
func (n *Node) Launch() error {
	proc, err := process.Start(process.Config{Path: n.binary, Args: n.Args(), Dir: n.Dir, Log: n.LogFile()})
	if err != nil {
		return err
	}
	n.proc = proc
	return nil
}

// startLine is what scripts around a name server wait for.
func (n *Node) startLine() string {
	return "The Name Server boot success. serializeType=JSON, address " + n.Client
}

// AwaitStart waits for the start line.
func (n *Node) AwaitStart(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if _, err := n.proc.WaitLine(ctx, n.startLine()); err != nil {
		return fmt.Errorf("start of node %s: %w", n.ID, err)
	}
	return nil
}

// Start starts the process and waits for the start line.
func (n *Node) Start(ctx context.Context) error {
	if err := n.Launch(); err != nil {
		return err
	}
	return n.AwaitStart(ctx)
}

// Process is the running or last process of the node; nil before the first start.
func (n *Node) Process() *process.Process { return n.proc }

// Kill ends the process at once, as kill -9 does.
func (n *Node) Kill() {
	if n.proc != nil {
		n.proc.Kill()
	}
}

// Stop ends the process politely. It reports whether that was enough.
func (n *Node) Stop() bool { return n.proc == nil || n.proc.Stop(stopGrace) }
