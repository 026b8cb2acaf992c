package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go watchSignals(signals, stop, func() { os.Exit(exitFailed) })
	os.Exit(run(ctx, os.Args, os.Stdin, os.Stdout, os.Stderr))
}

// watchSignals stops politely at the first signal and at once at the second.
func watchSignals(signals <-chan os.Signal, stop, kill func()) {
	<-signals
	stop()
	<-signals
	kill()
}

// run is the whole program but for the process around it. The first of args is
// the program's name. It returns the exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	app := newApp(stdin, stdout, stderr)
	return report(stderr, app.RunContext(ctx, arrange(app.Commands, args)))
}
