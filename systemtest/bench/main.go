package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// options are what the command line chooses.
type options struct {
	binary string        // the built name server
	rounds int           // how often each system has its turn
	each   time.Duration // of one measurement
	warm   time.Duration // of load before the first measurement, which is what the JVM needs
	large  tableSize     // for the memory figures
	routes bool          // only the route queries, in more and shorter turns
}

// tableSize is a number of brokers that all have the same topics.
type tableSize struct{ brokers, topics int }

func main() {
	var o options
	quick := flag.Bool("quick", false, "a short check that all of it works; its figures mean little")
	echo := flag.String("echo", "", "be the server that sends back what it gets, at `ADDR`")
	flag.StringVar(&o.binary, "binary", "", "the built name server; needed")
	flag.BoolVar(&o.routes, "routes", false, "only the route queries, in more and shorter turns")
	flag.Parse()
	if *echo != "" {
		fail(serveEcho(*echo))
		return
	}
	o.rounds, o.each, o.warm, o.large = 5, 2*time.Second, 12*time.Second, tableSize{100, 10000}
	if *quick {
		o.rounds, o.each, o.warm, o.large = 1, time.Second, 2*time.Second, tableSize{20, 1000}
	}
	parts := []part{measureStart, measureLoad, measureMemory}
	if o.routes {
		o.rounds, o.each, parts = 15, time.Second, []part{measureLoad}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	fail(run(ctx, o, parts))
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// part measures some rows of the table.
type part func(ctx context.Context, o options, dir string, r *results) error

func run(ctx context.Context, o options, parts []part) error {
	dir, err := os.MkdirTemp("", "namesrv-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var r results
	for _, measure := range parts {
		if err := measure(ctx, o, dir, &r); err != nil {
			return err
		}
	}
	r.print(os.Stdout)
	return nil
}
