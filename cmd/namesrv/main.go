package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go watchSignals(signals, patience(os.Args), stop, func() {
		fmt.Fprintln(os.Stderr, "namesrv: interrupted")
		os.Exit(exitFailed)
	})
	os.Exit(run(ctx, os.Args, os.Stdin, os.Stdout, os.Stderr))
}

// lastWords is how long an interrupted command has to say what was under way. It may
// hang in a file or a terminal, which no context ends.
const lastWords = 200 * time.Millisecond

// patience is how long the program may go on after the first signal; 0 is without end,
// for a server, which hands over and answers what is in flight.
func patience(args []string) time.Duration {
	names := args[:min(1, len(args))]
	if at := slices.IndexFunc(args[len(names):], func(arg string) bool { return !strings.HasPrefix(arg, "-") }); at >= 0 {
		names = args[at:] // whatever stands before the command
	}
	if command, _ := find(newApp(nil, nil, nil).Commands, names); command != nil && command.Name == serverName {
		return 0
	}
	return lastWords
}

// watchSignals stops politely at the first signal, and ends it all at the second or
// when the patience is over.
func watchSignals(signals <-chan os.Signal, patience time.Duration, stop, kill func()) {
	<-signals
	stop()
	var over <-chan time.Time
	if patience > 0 {
		over = time.After(patience)
	}
	select {
	case <-signals:
	case <-over:
	}
	kill()
}

// run is the whole program but for the process around it. The first of args is
// the program's name. It returns the exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	app := newApp(stdin, stdout, stderr)
	return report(stderr, app.RunContext(ctx, arrange(app.Commands, args)))
}
