package rocketmq

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"namesrv/internal/process"
)

// aliONS is the release of the Node client that the tests use.
const aliONS = "ali-ons@3.12.0"

// Exchange is what a client does to show that it works: it sends messages to a topic and consumes them. The topic must
// exist.
type Exchange struct {
	NameServers []string
	Topic       string
	Name        string   // distinguishes its groups and messages from those of others
	Count       int      // messages
	Options     []string // for the JVM, such as -Dtls.enable=true
}

func (e Exchange) args() []string {
	return []string{strings.Join(e.NameServers, ";"), e.Topic, e.Name, strconv.Itoa(e.Count)}
}

// MessagesInJava does the exchange with the Java client 5.5.0 and returns what it printed; it fails when not all messages
// came back.
func MessagesInJava(ctx context.Context, e Exchange) (string, error) {
	dir, err := os.MkdirTemp("", "messages-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	source, err := writeSource(dir, "Messages.java")
	if err != nil {
		return "", err
	}
	return program{
		version: V550, name: "Java client", dir: dir, class: source, args: e.args(), quiet: true,
		jvm: append(e.Options, shortJVM...),
	}.run(ctx)
}

// MessagesInNode does the exchange with the client ali-ons for Node, see [MessagesInJava].
func MessagesInNode(ctx context.Context, e Exchange) (string, error) {
	modules, err := AliONS(ctx)
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "messages-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	source, err := writeSource(dir, "messages.js")
	if err != nil {
		return "", err
	}
	proc, err := process.Start(process.Config{
		Path: "node",
		Args: append([]string{source}, e.args()...),
		Env:  []string{"NODE_PATH=" + filepath.Join(modules, "node_modules"), "HOME=" + dir},
		Dir:  dir,
	})
	if err != nil {
		return "", err
	}
	return await(ctx, proc, "Node client")
}

// AliONS gives the folder with the Node client ali-ons, fetching it with npm when it is not there yet, see [Artifacts].
func AliONS(ctx context.Context) (string, error) {
	return cached(ctx, aliONS, func(ctx context.Context, tmp string) (string, error) {
		dir := filepath.Join(tmp, "node")
		if err := os.Mkdir(dir, 0o755); err != nil {
			return "", err
		}
		cmd := exec.CommandContext(ctx, "npm", "install", "--prefix", dir, "--no-save", "--no-audit", "--no-fund", "--ignore-scripts", aliONS)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("npm: %w: %s", err, tail(string(out), 5))
		}
		return dir, nil
	})
}
