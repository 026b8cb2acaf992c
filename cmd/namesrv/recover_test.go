package main

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"namesrv/cluster"
	"namesrv/nameserver"
)

type noRenewer struct{}

func (noRenewer) Renew(string, []string) []string { return nil }

// openMember opens a cluster of one in a directory.
func openMember(t *testing.T, dir string) *cluster.Node {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	node, err := cluster.Open(cluster.Config{
		NodeID: "n1", DataDir: dir, Listener: listener, Advertise: listener.Addr().String(), Single: true,
		Init: initCommand, Machine: nameserver.NewTables(), Renewer: noRenewer{},
		Lead:   func(ctx context.Context, _ cluster.Leadership) { <-ctx.Done() },
		Serve:  func(string, []byte) ([]byte, error) { return nil, nil },
		Fatal:  func(error) {},
		Logger: hclog.New(&hclog.LoggerOptions{Output: io.Discard}),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := node.Formed(ctx); err != nil {
		t.Fatal(err)
	}
	return node
}

func TestRecoverCommand(t *testing.T) {
	dir := t.TempDir()
	node := openMember(t, dir)
	runProgram(t, "recover", "--data-dir", dir, "--yes").oneLine(t, exitFailed, "in use", "stop the peer first", "nothing was changed")
	old := node.Status().UUID
	if err := node.Close(); err != nil {
		t.Fatal(err)
	}
	look := runProgram(t, "recover", "--data-dir", dir)
	if look.code != exitDone || !strings.Contains(look.stdout, "last term") || !strings.Contains(look.stdout, "namesrv recover --data-dir "+dir+" --yes") {
		t.Errorf("without --yes: %+v", look)
	}
	var done surveyed
	got := runProgram(t, "recover", "--data-dir", dir, "--yes", "-o", "json")
	if err := json.Unmarshal([]byte(got.stdout), &done); err != nil || got.code != exitDone || done.Cluster != old || done.NewCluster == "" || done.NewCluster == old {
		t.Fatalf("%+v, %v", got, err)
	}
	node = openMember(t, dir)
	if uuid := node.Status().UUID; uuid != done.NewCluster {
		t.Errorf("cluster %s, want %s", uuid, done.NewCluster)
	}
	node.Close()
	if got := runProgram(t, "recover", "--data-dir", dir, "--yes", "--peer-advertise", "ns1:9875"); got.code != exitDone || !strings.Contains(got.stdout, "namesrv cluster join ID PEER_ADDR") {
		t.Errorf("the next step: %+v", got)
	}
}

func TestRecoverCommandFails(t *testing.T) {
	runProgram(t, "recover").oneLine(t, exitUsage, "--data-dir is missing")
	runProgram(t, "recover", "--data-dir", t.TempDir(), "--yes").oneLine(t, exitFailed, "nothing to recover")
	runProgram(t, "recover", "--data-dir", t.TempDir(), "--peer-advertise", "0.0.0.0:1").oneLine(t, exitUsage, "--peer-advertise")
}
