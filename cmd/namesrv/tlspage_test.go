package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"namesrv/internal/process"
	"namesrv/internal/rocketmq"
	"namesrv/remoting/gate"
)

// fenced is one block of a page between fences, with the word behind the first.
type fenced struct{ language, text string }

func blocksOf(page string) []fenced {
	var blocks []fenced
	parts := strings.Split(page, "\n```")
	for i := 1; i < len(parts); i += 2 { // every other part is outside
		language, text, _ := strings.Cut(parts[i], "\n")
		blocks = append(blocks, fenced{language, text})
	}
	return blocks
}

// commandsOf joins lines that end in a backslash.
func commandsOf(block string) []string {
	return strings.Split(strings.ReplaceAll(block, "\\\n", " "), "\n")
}

// tlsHost is a peer of the page on this machine: a loopback address of its own, and
// free ports in place of the usual ones.
type tlsHost struct {
	name, ip            string
	client, peer, admin string // HOST:PORT
}

func newTLSHost(t *testing.T, i int) tlsHost {
	t.Helper()
	h := tlsHost{name: fmt.Sprintf("ns%d", i), ip: fmt.Sprintf("127.77.1.%d", i)}
	for _, addr := range []*string{&h.client, &h.peer, &h.admin} {
		port, err := rocketmq.FreePort()
		if err != nil {
			t.Fatal(err)
		}
		*addr = fmt.Sprintf("%s:%d", h.ip, port)
	}
	return h
}

// here writes the page for this machine.
func here(page string, hosts []tlsHost) string {
	var pairs []string
	for _, h := range hosts {
		pairs = append(pairs, h.name+":9876", h.client, h.name+":9875", h.peer, h.name+":9874", h.admin)
	}
	for _, h := range hosts {
		pairs = append(pairs, h.name, h.ip)
	}
	return strings.NewReplacer(pairs...).Replace(page)
}

// TestTLSPage does what docs/tls.md says, with three peers on this machine.
func TestTLSPage(t *testing.T) {
	if _, err := exec.LookPath("openssl"); err != nil {
		if os.Getenv(mustNotSkip) == "1" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	page, err := os.ReadFile("../../docs/tls.md")
	if err != nil {
		t.Fatal(err)
	}
	hosts := []tlsHost{newTLSHost(t, 1), newTLSHost(t, 2), newTLSHost(t, 3)}
	dir := t.TempDir()
	for _, block := range blocksOf(here(string(page), hosts)) {
		switch {
		case block.language == "properties":
			if err := os.WriteFile(filepath.Join(dir, "tls.properties"), []byte(block.text), 0o600); err != nil {
				t.Fatal(err)
			}
		case block.language != "sh":
		case strings.HasPrefix(block.text, "namesrv server"):
			startServers(t, dir, commandsOf(block.text), hosts)
		default:
			runBlock(t, dir, block.text)
		}
	}
	checkClientPort(t, dir, hosts[2].client)
	checkPeerPort(t, dir, hosts[1].peer)
}

// startServers runs each command in the background and waits until all have started.
func startServers(t *testing.T, dir string, commands []string, hosts []tlsHost) {
	t.Helper()
	if len(commands) != len(hosts) {
		t.Fatalf("%d commands for %d hosts", len(commands), len(hosts))
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var started []*process.Process
	for i, command := range commands {
		script := fmt.Sprintf("export NAMESRV_LISTEN=%s NAMESRV_PEER_LISTEN=%s NAMESRV_ADMIN_LISTEN=%s; exec %s", hosts[i].client, hosts[i].peer, hosts[i].admin, command)
		proc, err := process.Start(process.Config{Path: "/bin/bash", Args: []string{"-c", script}, Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(proc.Kill)
		started = append(started, proc)
	}
	for _, proc := range started {
		if _, err := proc.WaitLine(ctx, "The Name Server boot success"); err != nil {
			t.Fatalf("%v\n%s%s", err, proc.Stdout(), proc.Stderr())
		}
		if strings.Contains(proc.Stderr(), "one CA signs") {
			t.Errorf("clients' certificates are good for peers:\n%s", proc.Stderr())
		}
	}
}

func runBlock(t *testing.T, dir, block string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", block)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s\n%s", err, block, out)
	}
}

// pageClient is what the client of the page has.
func pageClient(t *testing.T, dir string) *tls.Config {
	t.Helper()
	pool, err := gate.LoadTrusted(filepath.Join(dir, "certs", "peers", "ca.pem"))
	if err != nil {
		t.Fatal(err)
	}
	clients := filepath.Join(dir, "certs", "clients")
	pair, err := tls.LoadX509KeyPair(filepath.Join(clients, "client.pem"), filepath.Join(clients, "client-key.pem"))
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{pair}}
}

// checkPeerPort promises that the client of the page does not pass for a peer.
func checkPeerPort(t *testing.T, dir, addr string) {
	t.Helper()
	conf := pageClient(t, dir)
	conf.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { // whatever CA is asked for
		return &conf.Certificates[0], nil
	}
	dialer := tls.Dialer{NetDialer: &net.Dialer{Timeout: 10 * time.Second}, Config: conf}
	conn, err := dialer.DialContext(t.Context(), "tcp", addr)
	if err == nil { // the other side has not answered to the certificate yet
		defer conn.Close()
		_ = conn.SetReadDeadline(time.Now().Add(10 * time.Second))
		_, err = conn.Read(make([]byte, 1))
	}
	var refused *net.OpError
	if !errors.As(err, &refused) || refused.Op != "remote error" {
		t.Errorf("a client on the peer port: %v", err)
	}
}

// checkClientPort promises that the port answers who shows a certificate of the CA,
// and nobody else.
func checkClientPort(t *testing.T, dir, addr string) {
	t.Helper()
	conf := pageClient(t, dir)
	if err := askClientPort(addr, conf.Clone()); err != nil {
		t.Errorf("with a certificate: %v", err)
	}
	if err := askClientPort(addr, &tls.Config{RootCAs: conf.RootCAs}); err == nil {
		t.Error("answered somebody without a certificate")
	}
	if err := askClientPort(addr, nil); err == nil {
		t.Error("answered in plain text")
	}
}

// askClientPort fetches the value that the page stored; nil is plain text.
func askClientPort(addr string, conf *tls.Config) error {
	conn, err := net.DialTimeout("tcp", addr, 10*time.Second)
	if err != nil {
		return err
	}
	defer conn.Close()
	if conf != nil {
		conf.ServerName, _, _ = net.SplitHostPort(addr)
		conn = tls.Client(conn, conf)
	}
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := conn.Write(rocketmq.GetKV("demo", "greeting").Encode()); err != nil {
		return err
	}
	answer, err := rocketmq.ReadFrame(conn)
	if err != nil {
		return err
	}
	if value := answer.Fields["value"]; answer.Code != rocketmq.Success || value != "hello" {
		return fmt.Errorf("answered %d %s %q", answer.Code, answer.Remark, value)
	}
	return nil
}

func TestCertificatesAreAsDescribed(t *testing.T) {
	t.Chdir(t.TempDir())
	before := syscall.Umask(0o022)
	t.Cleanup(func() { syscall.Umask(before) })
	for _, args := range []string{"tls ca --dir certs --name Ours", "tls cert n1 --dir certs --host ns1,10.0.0.1 --host ::1 --days 3"} {
		if got := runProgram(t, strings.Fields(args)...); got.code != exitDone {
			t.Fatalf("%s: %+v", args, got)
		}
	}
	for file, mode := range map[string]fs.FileMode{"certs": 0o700, "certs/ca.pem": 0o644, "certs/ca-key.pem": 0o600, "certs/n1.pem": 0o600, "certs/n1-key.pem": 0o600} {
		info, err := os.Stat(file)
		if err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v, want %v", file, info, err, mode)
		}
	}
	t.Chdir("certs")
	key, err := os.ReadFile("n1-key.pem")
	if err != nil || !bytes.HasPrefix(key, []byte("-----BEGIN PRIVATE KEY-----")) {
		t.Errorf("the key is no PKCS#8: %v", err)
	}
	pair, err := tls.LoadX509KeyPair("n1.pem", "n1-key.pem")
	if err != nil {
		t.Fatal(err)
	}
	leaf := pair.Leaf
	if leaf.Issuer.CommonName != "Ours" || leaf.Subject.CommonName != "n1" || leaf.IsCA || fmt.Sprint(leaf.DNSNames, leaf.IPAddresses) != "[ns1] [10.0.0.1 ::1]" {
		t.Errorf("issuer %s, subject %s, CA %v, hosts %v %v", leaf.Issuer, leaf.Subject, leaf.IsCA, leaf.DNSNames, leaf.IPAddresses)
	}
	if left := time.Until(leaf.NotAfter); left > 3*24*time.Hour || left < 3*24*time.Hour-time.Hour {
		t.Errorf("valid for %v, want three days", left)
	}
	for left, warns := range map[time.Duration]bool{31 * 24 * time.Hour: false, 29 * 24 * time.Hour: true, -time.Hour: true} {
		var log bytes.Buffer
		warnOfEnd(hclog.New(&hclog.LoggerOptions{Output: &log}), "--peer-cert", pair, leaf.NotAfter.Add(-left))
		if warned := strings.Contains(log.String(), "[WARN]  a certificate ends soon"); warned != warns {
			t.Errorf("%v before its end: warned %v: %s", left, warned, &log)
		}
	}
	pool, err := gate.LoadTrusted("ca.pem")
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{"ns1", "10.0.0.1", "::1"} {
		if err := verify(leaf, pool, host); err != nil {
			t.Errorf("%s: %v", host, err)
		}
	}
	if verify(leaf, pool, "ns2") == nil {
		t.Error("good for a host that was not named")
	}
}

// verify checks a certificate for both ends of a connection.
func verify(leaf *x509.Certificate, pool *x509.CertPool, host string) error {
	for _, use := range []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth} {
		if _, err := leaf.Verify(x509.VerifyOptions{DNSName: host, Roots: pool, KeyUsages: []x509.ExtKeyUsage{use}}); err != nil {
			return err
		}
	}
	return nil
}
