package lab

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"namesrv/systemtest"
)

// ErrUnable is returned where the machine or the user cannot make a fault.
var ErrUnable = errors.New("this fault cannot be made here")

// Ports of every peer of a [Network]: each has an address of its own.
const (
	clientPort = "9876"
	peerPort   = "9875"
	adminPort  = "9874"
)

// Network is a number of hosts of our own: network namespaces on one bridge, which is in a namespace too. This machine
// reaches each of them by a further port of the bridge.
type Network struct {
	tag  string // in all names
	net  string // the first three parts of every address
	size int
}

// NewNetwork makes size hosts. Close takes them away; the processes in them should have ended then.
func NewNetwork(size int) (*Network, error) {
	if os.Geteuid() != 0 {
		return nil, fmt.Errorf("%w: network namespaces need root", ErrUnable)
	}
	for _, program := range []string{"ip", "iptables", "nsenter", "tc"} {
		if _, err := exec.LookPath(program); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrUnable, err)
		}
	}
	pid := os.Getpid()
	for try := range 16 {
		n := &Network{tag: fmt.Sprintf("ns%d%c", pid%1000000, 'a'+try), net: fmt.Sprintf("10.%d.%d", 200+(pid+try)%50, (pid/50+try)%250), size: size}
		if run("ip", "netns", "add", n.hub()) != nil {
			continue // a name that is taken
		}
		if err := n.build(); err != nil {
			return nil, errors.Join(fmt.Errorf("%w: %w", ErrUnable, err), n.Close())
		}
		return n, nil
	}
	return nil, fmt.Errorf("%w: no name for a network namespace is free", ErrUnable)
}

// port is the bridge's end of the link to a host.
func (n *Network) port(i int) string    { return "p" + strconv.Itoa(i) }
func (n *Network) hub() string          { return n.tag + "hub" }
func (n *Network) host(i int) string    { return n.tag + strconv.Itoa(i) }
func (n *Network) outside() string      { return n.tag + "x" }
func (n *Network) address(i int) string { return n.net + "." + strconv.Itoa(i+1) }

func (n *Network) build() error {
	steps := [][]string{
		{"ip", "-n", n.hub(), "link", "add", "br0", "type", "bridge"},
		{"ip", "-n", n.hub(), "link", "set", "br0", "up"},
		{"ip", "link", "add", n.outside(), "type", "veth", "peer", "name", "out", "netns", n.hub()},
		{"ip", "-n", n.hub(), "link", "set", "out", "master", "br0", "up"},
		{"ip", "addr", "add", n.net + ".254/24", "dev", n.outside()},
		{"ip", "link", "set", n.outside(), "up"},
	}
	for i := range n.size {
		steps = append(steps,
			[]string{"ip", "netns", "add", n.host(i)},
			[]string{"ip", "-n", n.host(i), "link", "add", "eth0", "type", "veth", "peer", "name", n.port(i), "netns", n.hub()},
			[]string{"ip", "-n", n.hub(), "link", "set", n.port(i), "master", "br0", "up"},
			[]string{"ip", "-n", n.host(i), "addr", "add", n.address(i) + "/24", "dev", "eth0"},
			[]string{"ip", "-n", n.host(i), "link", "set", "eth0", "up"},
			[]string{"ip", "-n", n.host(i), "link", "set", "lo", "up"},
		)
	}
	for _, step := range steps {
		if err := run(step...); err != nil {
			return err
		}
	}
	return nil
}

// Cut drops what one host sends to another, from now on. Connections stay open and fall silent.
func (n *Network) Cut(from, to int) error {
	return run("nsenter", "--net=/run/netns/"+n.host(to), "iptables", "-w", "-A", "INPUT", "-s", n.address(from), "-j", "DROP")
}

// Isolate cuts a host off from all others, both ways. This machine still reaches it.
func (n *Network) Isolate(host int) error {
	var errs []error
	for other := range n.size {
		if other != host {
			errs = append(errs, n.Cut(host, other), n.Cut(other, host))
		}
	}
	return errors.Join(errs...)
}

// Slow limits a host's link to so many Mbit/s each way, until Close. Up to a fifth of a second of traffic waits in a
// queue; what does not fit is dropped, as at a router.
func (n *Network) Slow(host, mbit int) error {
	limit := func(netns, device string) error {
		return run("tc", "-n", netns, "qdisc", "replace", "dev", device, "root", "tbf", "rate", strconv.Itoa(mbit)+"mbit", "burst", "32k", "latency", "200ms")
	}
	return errors.Join(limit(n.host(host), "eth0"), limit(n.hub(), n.port(host)))
}

// Received is how many bytes have come over a host's link, headers included.
func (n *Network) Received(host int) (int64, error) {
	out, err := exec.Command("ip", "-n", n.hub(), "-s", "-j", "link", "show", "dev", n.port(host)).Output()
	if err != nil {
		return 0, err
	}
	var links []struct {
		Stats struct{ Tx struct{ Bytes int64 } } `json:"stats64"`
	}
	if err := json.Unmarshal(out, &links); err != nil || len(links) != 1 {
		return 0, fmt.Errorf("statistics of %s: %w: %s", n.port(host), err, out)
	}
	return links[0].Stats.Tx.Bytes, nil
}

// Heal takes all cuts away.
func (n *Network) Heal() error {
	var errs []error
	for i := range n.size {
		errs = append(errs, run("nsenter", "--net=/run/netns/"+n.host(i), "iptables", "-w", "-F", "INPUT"))
	}
	return errors.Join(errs...)
}

// Close takes the hosts away.
func (n *Network) Close() error {
	_ = run("ip", "link", "del", n.outside()) // goes with the hub, but later
	var errs []error
	for i := range n.size {
		if _, err := os.Stat("/run/netns/" + n.host(i)); err == nil {
			errs = append(errs, run("ip", "netns", "del", n.host(i)))
		}
	}
	return errors.Join(append(errs, run("ip", "netns", "del", n.hub()))...)
}

// NewCluster prepares a group with one peer in each host. It starts nothing.
func (n *Network) NewCluster(binary, dir string, flags ...string) (*systemtest.Cluster, error) {
	token := filepath.Join(dir, "token")
	if err := os.WriteFile(token, []byte("token-of-a-test-network\n"), 0o600); err != nil {
		return nil, err
	}
	c := &systemtest.Cluster{}
	var peers []string
	for i := range n.size {
		peers = append(peers, n.address(i)+":"+peerPort)
	}
	for i := range n.size {
		enter := filepath.Join(dir, "enter-"+strconv.Itoa(i)) // becomes the binary, so that signals reach it
		script := fmt.Sprintf("#!/bin/sh\nexec nsenter --net=/run/netns/%s '%s' \"$@\"\n", n.host(i), binary)
		if err := os.WriteFile(enter, []byte(script), 0o755); err != nil {
			return nil, err
		}
		node, err := systemtest.NewNode(enter, "n"+strconv.Itoa(i+1), dir, flags...)
		if err != nil {
			return nil, err
		}
		node.Client, node.Peer, node.Admin = n.address(i)+":"+clientPort, peers[i], n.address(i)+":"+adminPort
		node.AddFlags("--bootstrap-expect", strconv.Itoa(n.size), "--join", strings.Join(peers, ","), "--admin-token-file", token)
		c.Nodes = append(c.Nodes, node)
	}
	return c, nil
}

func run(words ...string) error {
	if out, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(words, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}
