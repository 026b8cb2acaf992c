package main

import (
	"bytes"
	"crypto/tls"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
)

// makeCerts runs "namesrv tls" in a folder of its own, which it returns.
func makeCerts(t *testing.T, commands ...string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for _, command := range commands {
		args := append([]string{"tls"}, strings.Fields(strings.ReplaceAll(command, "DIR", dir))...)
		if got := runProgram(t, args...); got.code != exitDone {
			t.Fatalf("%s: %+v", command, got)
		}
	}
	return dir
}

// peerConfig is the configuration of a server with a certificate for the peer port.
func peerConfig(t *testing.T, ca, cert string, args ...string) *serverConfig {
	t.Helper()
	key := strings.TrimSuffix(cert, ".pem") + "-key.pem"
	return mustLoadConfig(t, append(args, "--peer-ca", ca, "--peer-cert", cert, "--peer-key", key)...)
}

func mustPeerTLS(t *testing.T, ca, cert string) *tls.Config {
	t.Helper()
	conf, err := peerTLS(peerConfig(t, ca, cert))
	if err != nil {
		t.Fatal(err)
	}
	return conf
}

func TestWhoPassesForAPeer(t *testing.T) {
	dir := makeCerts(t, "ca --dir DIR", "cert n1 --dir DIR --host 127.0.0.1", "cert n2 --dir DIR --host 127.0.0.1", "cert client --client --dir DIR --host 127.0.0.1",
		"ca --dir DIR/other", "cert n3 --dir DIR/other --host 127.0.0.1")
	ca := filepath.Join(dir, "ca.pem")
	tests := []struct {
		name, cert string
		passes     bool
	}{
		{"a peer", "n2.pem", true},
		{"a client of the same CA", "client.pem", false},
		{"a peer of another CA", "other/n3.pem", false},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			listening := mustPeerTLS(t, ca, filepath.Join(dir, "n1.pem"))
			calling := mustPeerTLS(t, ca, filepath.Join(dir, tc.cert))
			if err := shakeHands(t, listening, calling); (err == nil) != tc.passes {
				t.Errorf("calling: %v", err)
			}
			if err := shakeHands(t, calling, listening); (err == nil) != tc.passes {
				t.Errorf("called: %v", err)
			}
		})
	}
}

// shakeHands returns what either side says against the other one.
func shakeHands(t *testing.T, listening, calling *tls.Config) error {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	called := make(chan error, 1)
	go func() {
		conn, err := l.Accept()
		if err == nil {
			err = tls.Server(conn, listening).HandshakeContext(t.Context())
			conn.Close()
		}
		called <- err
	}()
	conn, err := net.DialTimeout("tcp", l.Addr().String(), 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	calling = calling.Clone()
	calling.ServerName = "127.0.0.1"
	if err := tls.Client(conn, calling).HandshakeContext(t.Context()); err != nil {
		conn.Close()
		<-called
		return err
	}
	return <-called
}

func TestSharedCAIsWarnedOf(t *testing.T) {
	dir := makeCerts(t, "ca --dir DIR/peers", "cert n1 --dir DIR/peers", "ca --dir DIR/clients")
	peers, clients := filepath.Join(dir, "peers", "ca.pem"), filepath.Join(dir, "clients", "ca.pem")
	both := writeFile(t, readText(t, clients)+readText(t, peers))
	tests := []struct {
		name   string
		args   []string
		warned bool
	}{
		{"one CA", []string{"-D", "tls.server.trustCertPath=" + peers}, true},
		{"in a file of both", []string{"-D", "tls.server.trustCertPath=" + both}, true},
		{"named in the file of TLS", []string{"-D", "tls.config.file=" + writeFile(t, "tls.server.trustCertPath="+peers)}, true},
		{"one each", []string{"-D", "tls.server.trustCertPath=" + clients}, false},
		{"clients are not checked", nil, false},
		{"a missing file", []string{"-D", "tls.server.trustCertPath=/nonexistent"}, false},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			cfg := peerConfig(t, peers, filepath.Join(dir, "peers", "n1.pem"), tc.args...)
			var log bytes.Buffer
			cfg.Logger = hclog.New(&hclog.LoggerOptions{Output: &log})
			if _, err := peerTLS(cfg); err != nil {
				t.Fatal(err)
			}
			if warned := strings.Contains(log.String(), "[WARN]  one CA signs for peers and for clients"); warned != tc.warned || strings.Count(log.String(), "\n") > 1 {
				t.Errorf("warned %v: %s", warned, &log)
			}
		})
	}
}

func readText(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
