package rocketmq

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// shortJVM are the options for a program that soon ends.
var shortJVM = []string{"-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"}

// MQAdmin runs one mqadmin command of release v, as in MQAdmin(ctx, V550, "clusterList", "-n", addr), and returns what
// it printed. mqadmin exits with 0 also when its command failed, so the caller judges the text. It takes 1–3 seconds.
func MQAdmin(ctx context.Context, v Version, args ...string) (string, error) {
	dir, err := os.MkdirTemp("", "mqadmin-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	return program{
		version: v, name: "mqadmin " + args[0], dir: dir, class: "org.apache.rocketmq.tools.command.MQAdminStartup",
		jvm: shortJVM, args: args, quiet: true,
	}.run(ctx)
}

// AdminCommand is one command of mqadmin.
type AdminCommand struct {
	Args  []string
	Limit time.Duration // it is interrupted after this time; 0 = 30 s
}

const (
	adminLimit = 30 * time.Second
	adminEnd   = "\n\x01\n" // what AdminBatch prints after each command
)

// MQAdminBatch runs commands of mqadmin 5.5.0 one after the other in one JVM, and returns what each of them printed. Files
// they make relative to their home or temporary folder are gone afterwards. The arguments must not have tabs or line ends.
func MQAdminBatch(ctx context.Context, commands []AdminCommand) ([]string, error) {
	dir, err := os.MkdirTemp("", "mqadmin-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	source, err := writeSource(dir, "AdminBatch.java")
	if err != nil {
		return nil, err
	}
	var lines strings.Builder
	for _, c := range commands {
		fmt.Fprintf(&lines, "%d\t%s\n", cmp.Or(c.Limit, adminLimit).Milliseconds(), strings.Join(c.Args, "\t"))
	}
	file := filepath.Join(dir, "commands")
	if err := os.WriteFile(file, []byte(lines.String()), 0o644); err != nil {
		return nil, err
	}
	out, err := program{
		version: V550, name: "mqadmin", dir: dir, class: source, jvm: shortJVM, args: []string{file}, quiet: true,
	}.run(ctx)
	answers := strings.Split(out, adminEnd)
	if err == nil && len(answers) <= len(commands) {
		err = fmt.Errorf("mqadmin ended in command %v", commands[len(answers)-1].Args)
	}
	if err != nil {
		return answers, err
	}
	return answers[:len(commands)], nil
}
