package rocketmq

import (
	"context"
	"fmt"
	"os"
)

// MQAdmin runs one mqadmin command of release v, as in MQAdmin(ctx, V550, "clusterList", "-n", addr), and returns what
// it printed. mqadmin exits with 0 also when its command failed, so the caller judges the text. It takes 1–3 seconds.
func MQAdmin(ctx context.Context, v Version, args ...string) (string, error) {
	dir, err := os.MkdirTemp("", "mqadmin-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	p := program{
		version: v, name: "mqadmin", dir: dir, class: "org.apache.rocketmq.tools.command.MQAdminStartup",
		jvm:  []string{"-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"},
		args: args,
	}
	proc, err := p.start(ctx)
	if err != nil {
		return "", err
	}
	defer proc.Kill()
	code, err := proc.ExitCode(ctx)
	out := proc.Stdout() + proc.Stderr()
	if err != nil {
		return out, fmt.Errorf("mqadmin %s: %w", args[0], err)
	}
	if code != 0 {
		return out, fmt.Errorf("mqadmin %s ended with %d: %s", args[0], code, tail(out, 3))
	}
	return out, nil
}
