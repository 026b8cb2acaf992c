package systemtest_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"namesrv/internal/rocketmq"
	"namesrv/systemtest"
)

// needOpenSSL skips the test without the program, or fails it where skipping is not allowed.
func needOpenSSL(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("openssl"); err != nil {
		if os.Getenv("NAMESRV_SYSTEMTEST") == "1" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
}

// certificate is a self-signed one, with its key.
type certificate struct{ cert, key string }

func newCertificate(t *testing.T, name string) certificate {
	t.Helper()
	dir := t.TempDir()
	c := certificate{filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")}
	out, err := exec.CommandContext(t.Context(), "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1",
		"-subj", "/CN="+name, "-keyout", c.key, "-out", c.cert).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return c
}

// copyTo puts the text of a file into another one that exists, as editors and configuration tools do.
func copyTo(t *testing.T, to, from string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// tlsRegistration is what the tests ask for.
var tlsRegistration = rocketmq.Registration{Cluster: "tls", Broker: "tls-a", Addr: "10.4.4.1:10911", Topics: []string{"tls-topic", "tls-other"}}

// askTLS sends a request over a connection of its own and returns the name in the certificate that was shown, too.
func askTLS(ctx context.Context, addr string, f *rocketmq.Frame) (answer *rocketmq.Frame, name string, err error) {
	nc, err := (&tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, "", err
	}
	defer nc.Close()
	answer, err = exchange(nc, f)
	return answer, nc.(*tls.Conn).ConnectionState().PeerCertificates[0].Subject.CommonName, err
}

func exchange(nc net.Conn, f *rocketmq.Frame) (*rocketmq.Frame, error) {
	_ = nc.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := nc.Write(f.Encode()); err != nil {
		return nil, err
	}
	return rocketmq.ReadFrame(nc)
}

// register registers tlsRegistration over a TLS connection that stays until the test ends: the broker would go with it.
func register(t *testing.T, n *systemtest.Node, shown ...tls.Certificate) {
	t.Helper()
	nc, err := tls.Dial("tcp", n.Client, &tls.Config{InsecureSkipVerify: true, Certificates: shown})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nc.Close() })
	if a, err := exchange(nc, tlsRegistration.Frame()); err != nil || a.Code != rocketmq.Success {
		t.Fatalf("registration over TLS: %+v, %v", a, err)
	}
}

// TestPlainAndTLSOnOnePort promises that a server without any setting answers both the same.
func TestPlainAndTLSOnOnePort(t *testing.T) {
	needOpenSSL(t)
	n := startNode(t, "n1")
	register(t, n)
	plain := ask(t, n.Client, rocketmq.RouteOf("tls-topic", 513))
	if err := has(plain.Body, tlsRegistration.Addr); err != nil {
		t.Fatal(err)
	}
	for option, version := range map[string]string{"-tls1_2": "TLSv1.2", "-tls1_3": "TLSv1.3"} {
		t.Run(option, func(t *testing.T) {
			answer, log := viaOpenSSL(t, n.Client, option, rocketmq.RouteOf("tls-topic", 513))
			if !bytes.Equal(answer.Body, plain.Body) {
				t.Errorf("over TLS:\n%s\nplain:\n%s", answer.Body, plain.Body)
			}
			if !strings.Contains(log, "Protocol version: "+version) {
				t.Errorf("openssl says:\n%s", log)
			}
		})
	}
}

// viaOpenSSL sends a request through openssl s_client and returns the answer and what the program said.
func viaOpenSSL(t *testing.T, addr, option string, f *rocketmq.Frame) (*rocketmq.Frame, string) {
	t.Helper()
	cmd := exec.CommandContext(within(t, 10*time.Second), "openssl", "s_client", "-connect", addr, option, "-brief", "-ign_eof")
	var log bytes.Buffer
	cmd.Stderr, cmd.Stdin = &log, bytes.NewReader(f.Encode())
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	answer, err := rocketmq.ReadFrame(out)
	_ = cmd.Process.Kill()
	_ = cmd.Wait() // it was killed
	if err != nil {
		t.Fatalf("no answer: %v\n%s", err, log.String())
	}
	return answer, log.String()
}

// TestPlainTextHasNoEffectWhereTLSIsEnforced sends what the stock server is said to execute.
func TestPlainTextHasNoEffectWhereTLSIsEnforced(t *testing.T) {
	n := startNode(t, "n1", "-D", "tls.server.mode=enforcing")
	register(t, n)
	put := rocketmq.PutKV("tls", "key", "value")
	unregister := tlsRegistration.Unregister()
	for _, f := range []*rocketmq.Frame{put, unregister} {
		f.Flag = 2 // one-way
		nc, err := net.Dial("tcp", n.Client)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = nc.Write(f.Encode())
		_ = nc.SetReadDeadline(time.Now().Add(10 * time.Second))
		if k, err := nc.Read(make([]byte, 1)); k > 0 || err == nil || os.IsTimeout(err) {
			t.Errorf("read %d bytes, %v: want the connection closed", k, err)
		}
		_ = nc.Close()
	}
	if a, _, err := askTLS(within(t, 10*time.Second), n.Client, rocketmq.GetKV("tls", "key")); err != nil || a.Code != rocketmq.QueryNotFound {
		t.Errorf("the key: %+v, %v", a, err)
	}
	a, _, err := askTLS(within(t, 10*time.Second), n.Client, rocketmq.RouteOf("tls-topic", 513))
	if err != nil || has(a.Body, tlsRegistration.Addr) != nil {
		t.Errorf("the route: %+v, %v", a, err)
	}
}

// tlsLoad asks for a route all the time, over two kept connections and over new ones.
type tlsLoad struct {
	stop             context.CancelFunc
	wg               sync.WaitGroup
	answered, failed atomic.Int64
	firstFailure     atomic.Value
}

func startTLSLoad(t *testing.T, addr string) *tlsLoad {
	t.Helper()
	l := &tlsLoad{}
	var ctx context.Context
	ctx, l.stop = context.WithCancel(t.Context())
	for range 2 {
		kept, err := tls.Dial("tcp", addr, &tls.Config{InsecureSkipVerify: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { kept.Close() })
		l.run(ctx, func() (*rocketmq.Frame, error) { return exchange(kept, rocketmq.RouteOf("tls-topic", 513)) })
		l.run(ctx, func() (*rocketmq.Frame, error) {
			answer, _, err := askTLS(context.Background(), addr, rocketmq.RouteOf("tls-topic", 513))
			return answer, err
		})
	}
	return l
}

func (l *tlsLoad) run(ctx context.Context, try func() (*rocketmq.Frame, error)) {
	l.wg.Go(func() {
		for ctx.Err() == nil {
			answer, err := try()
			if err == nil {
				err = has(answer.Body, tlsRegistration.Addr)
			}
			if err != nil {
				l.failed.Add(1)
				l.firstFailure.CompareAndSwap(nil, err.Error())
				return
			}
			l.answered.Add(1)
		}
	})
}

// TestCertificateReplacedUnderLoad promises that no request fails meanwhile, also while the new certificate does not fit
// the old key, and that new connections show the new one soon.
func TestCertificateReplacedUnderLoad(t *testing.T) {
	needOpenSSL(t)
	used, second := newCertificate(t, "first"), newCertificate(t, "second")
	n := startNode(t, "n1", "-D", "tls.server.mode=enforcing", "-D", "tls.test.mode.enable=false",
		"-D", "tls.server.certPath="+used.cert, "-D", "tls.server.keyPath="+used.key)
	register(t, n)
	load := startTLSLoad(t, n.Client)
	shown := func(want string) error {
		_, name, err := askTLS(t.Context(), n.Client, rocketmq.RouteOf("tls-topic", 513))
		if err == nil && name != want {
			err = fmt.Errorf("the certificate of %s", name)
		}
		return err
	}
	eventually(t, 5*time.Second, "the first certificate", func() error { return shown("first") })
	copyTo(t, used.cert, second.cert)
	eventually(t, 5*time.Second, "a warning", func() error {
		log, err := os.ReadFile(n.LogFile())
		if err != nil {
			return err
		}
		return has(log, "private key does not match public key")
	})
	if err := shown("first"); err != nil {
		t.Error(err)
	}
	copyTo(t, used.key, second.key)
	replaced := time.Now()
	eventually(t, 5*time.Second, "the second certificate", func() error { return shown("second") })
	took := time.Since(replaced)
	load.stop()
	load.wg.Wait()
	if load.failed.Load() > 0 || load.answered.Load() == 0 {
		t.Errorf("%d requests failed, the first with %v", load.failed.Load(), load.firstFailure.Load())
	}
	t.Logf("%d requests answered, 0 failed; the new certificate was shown after %v", load.answered.Load(), took.Round(time.Millisecond))
}

// TestMQAdminOverTLS promises that a real Java client lists topics over TLS, as it comes and with certificates on both
// sides.
func TestMQAdminOverTLS(t *testing.T) {
	needOpenSSL(t)
	needJava(t, rocketmq.V550)
	server, client := newCertificate(t, "server"), newCertificate(t, "client")
	pair, err := tls.LoadX509KeyPair(client.cert, client.key)
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name  string
		flags []string
		file  string // of the client's tls.config.file
	}{
		{"as it comes", nil, ""},
		{
			"with certificates on both sides",
			[]string{"-D", "tls.test.mode.enable=false", "-D", "tls.server.certPath=" + server.cert, "-D", "tls.server.keyPath=" + server.key,
				"-D", "tls.server.need.client.auth=require", "-D", "tls.server.authClient=true", "-D", "tls.server.trustCertPath=" + client.cert},
			"tls.test.mode.enable=false\ntls.client.authServer=true\ntls.client.trustCertPath=" + server.cert +
				"\ntls.client.certPath=" + client.cert + "\ntls.client.keyPath=" + client.key + "\n",
		},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			n := startNode(t, "n1", append(tc.flags, "-D", "tls.server.mode=enforcing")...)
			register(t, n, pair)
			file := filepath.Join(t.TempDir(), "tls.properties")
			if err := os.WriteFile(file, []byte(tc.file), 0o600); err != nil {
				t.Fatal(err)
			}
			t.Setenv("JAVA_TOOL_OPTIONS", "-Dtls.enable=true -Dtls.config.file="+file)
			eventually(t, 30*time.Second, "the topics", func() error {
				return has([]byte(mqadmin(t, rocketmq.V550, "topicList", "-n", n.Client)), "tls-topic")
			})
			t.Setenv("JAVA_TOOL_OPTIONS", "-Dtls.config.file="+file)
			if out := mqadmin(t, rocketmq.V550, "topicList", "-n", n.Client); strings.Contains(out, "tls-topic") {
				t.Errorf("plain text was answered:\n%s", out)
			}
		})
	}
}
