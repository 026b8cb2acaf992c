package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"namesrv/systemtest"
)

func main() {
	var o options
	var minutes float64
	flag.Float64Var(&minutes, "minutes", 1, "for how long faults are made")
	flag.Uint64Var(&o.seed, "seed", uint64(time.Now().UnixNano()), "of the schedule and of the clients")
	flag.StringVar(&o.binary, "binary", "", "the built name server; built when empty")
	flag.Parse()
	o.lasts = time.Duration(minutes * float64(time.Minute))
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := start(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "chaos:", err)
		os.Exit(1)
	}
}

func start(ctx context.Context, o options) error {
	dir, err := os.MkdirTemp("", "namesrv-chaos-")
	if err != nil {
		return err
	}
	o.dir = dir
	if o.binary == "" {
		if o.binary, err = systemtest.Build(ctx, dir); err != nil {
			return err
		}
	}
	if o.binary, err = filepath.Abs(o.binary); err != nil { // each peer has a working directory of its own
		return err
	}
	v, err := run(ctx, o)
	if err != nil {
		return fmt.Errorf("%w (logs: %s)", err, dir)
	}
	v.print(os.Stdout)
	if len(v.violations) > 0 {
		return fmt.Errorf("%d violations with seed %d (logs: %s)", len(v.violations), o.seed, dir)
	}
	return os.RemoveAll(dir)
}
