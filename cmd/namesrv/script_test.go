package main

import (
	"context"
	"errors"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"namesrv/internal/rocketmq"
)

// scriptLimit is for a server in a script to be ready, on a busy machine.
const scriptLimit = 30 * time.Second

// TestScripts runs the program as people do. Beside testscript's own commands there are
//
//	ports NAME...                    puts a free loopback address into each variable
//	ready                            waits until the server of $NAMESRV_ADMIN is ready
//	leaderless                       waits until that server knows no leader
//	exits CODE PROGRAM ARG...        is exec for a program that must fail with that code
//	broker ADDR NAME TOPIC TOPIC...  registers a broker, which stays until the script ends
//	saysonce WORD...                 demands one line of the program on standard error, with all the words
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"ports": scriptPorts, "ready": scriptReady, "leaderless": scriptLeaderless, "exits": scriptExits, "broker": scriptBroker, "saysonce": scriptSaysOnce,
		},
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
	})
}

func scriptPorts(ts *testscript.TestScript, _ bool, names []string) {
	for _, name := range names {
		addr, err := rocketmq.FreeAddr()
		ts.Check(err)
		ts.Setenv(name, addr)
	}
}

func scriptReady(ts *testscript.TestScript, _ bool, _ []string) {
	end := time.Now().Add(scriptLimit)
	err := ts.Exec("namesrv", "healthcheck")
	for err != nil && time.Now().Before(end) {
		err = ts.Exec("namesrv", "healthcheck") // each try takes the time of a process
	}
	ts.Check(err)
}

func scriptLeaderless(ts *testscript.TestScript, _ bool, _ []string) {
	end := time.Now().Add(scriptLimit)
	for {
		ts.Check(ts.Exec("namesrv", "cluster", "status")) // each try takes the time of a process
		if strings.Contains(ts.ReadFile("stdout"), "leader         none") {
			return
		}
		if time.Now().After(end) {
			ts.Fatalf("it still knows a leader")
		}
	}
}

func scriptExits(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	var exit *exec.ExitError
	err = ts.Exec(args[1], args[2:]...)
	switch {
	case err == nil:
		ts.Fatalf("exit code 0, want %d", want)
	case !errors.As(err, &exit):
		ts.Check(err)
	case exit.ExitCode() != want:
		ts.Fatalf("exit code %d, want %d", exit.ExitCode(), want)
	}
}

func scriptBroker(ts *testscript.TestScript, _ bool, args []string) {
	ctx, cancel := context.WithTimeout(context.Background(), scriptLimit)
	defer cancel()
	conn, err := rocketmq.Dial(ctx, args[0])
	ts.Check(err)
	ts.Defer(conn.Close)
	answer, err := conn.Call(ctx, rocketmq.Registration{Cluster: "DefaultCluster", Broker: args[1], Addr: "10.1.1.1:10911", Topics: args[2:]}.Frame())
	ts.Check(err)
	if answer.Code != rocketmq.Success {
		ts.Fatalf("the registration was answered with %d %s", answer.Code, answer.Remark)
	}
}

func scriptSaysOnce(ts *testscript.TestScript, _ bool, words []string) {
	result{code: exitFailed, stderr: ts.ReadFile("stderr")}.oneLine(scriptT{ts}, exitFailed, words...)
}

// scriptT lets a script fail where a test would.
type scriptT struct{ ts *testscript.TestScript }

func (s scriptT) Helper()                           {}
func (s scriptT) Errorf(format string, args ...any) { s.ts.Fatalf(format, args...) }
