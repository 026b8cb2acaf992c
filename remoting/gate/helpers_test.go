package gate

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/binary"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"namesrv/remoting"
	"namesrv/remoting/protocol"
)

// authority signs certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{key: newKey(t)}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	a.cert = sign(t, template, template, &a.key.PublicKey, a.key)
	return a
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func sign(t *testing.T, template, parent *x509.Certificate, public *ecdsa.PublicKey, key *ecdsa.PrivateKey) *x509.Certificate {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, template, parent, public, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return cert
}

// file writes the authority's certificate.
func (a *authority) file(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ca.pem")
	writeFile(t, path, pemCert(a.cert))
	return path
}

// issue returns the PEM texts of a new certificate and its key.
func (a *authority) issue(t *testing.T, name string) (cert, key []byte) {
	t.Helper()
	k := newKey(t)
	signed := sign(t, &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour),
	}, a.cert, &k.PublicKey, a.key)
	der, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	return pemCert(signed), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}

// identity writes a new certificate and its key.
func (a *authority) identity(t *testing.T, name string) Identity {
	t.Helper()
	dir := t.TempDir()
	id := Identity{CertFile: filepath.Join(dir, "cert.pem"), KeyFile: filepath.Join(dir, "key.pem")}
	cert, key := a.issue(t, name)
	writeFile(t, id.CertFile, cert)
	writeFile(t, id.KeyFile, key)
	return id
}

// pair is identity for a client of package tls.
func (a *authority) pair(t *testing.T, name string) []tls.Certificate {
	t.Helper()
	cert, key := a.issue(t, name)
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	return []tls.Certificate{pair}
}

func pemCert(cert *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Raw})
}

func writeFile(t *testing.T, path string, text []byte) {
	t.Helper()
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// server is a real server behind a gate.
type server struct {
	*remoting.Server
	addr     string
	executed atomic.Int32 // requests
	events   atomic.Int32 // of connections
}

const codeEcho protocol.Code = 7001

// startServer runs a server on a port of its own until the test ends. It answers every request with its body, and the
// address that it was sent from as the remark.
func startServer(t *testing.T, cfg Config, idle time.Duration) *server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return startServerOn(t, l, cfg, idle)
}

func startServerOn(t *testing.T, l net.Listener, cfg Config, idle time.Duration) *server {
	t.Helper()
	g, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	s := &server{}
	s.Server = remoting.NewServer(remoting.ServerConfig{
		Default: remoting.Processor{Handle: func(_ context.Context, c *remoting.Conn, req *protocol.Command) *protocol.Command {
			s.executed.Add(1)
			resp := protocol.NewResponse(protocol.Success, c.RemoteAddr())
			resp.Body = req.Body
			return resp
		}},
		IdleTimeout: idle, Wrap: g.Wrap, OnEvent: func(remoting.EventKind, *remoting.Conn) { s.events.Add(1) },
	})
	s.addr = l.Addr().String()
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	t.Cleanup(func() {
		_ = s.Close()
		if err := <-done; !errors.Is(err, remoting.ErrServerClosed) {
			t.Errorf("Serve returned %v", err)
		}
	})
	return s
}

// dial connects, for ten seconds at most.
func (s *server) dial(t *testing.T) net.Conn {
	t.Helper()
	nc, err := net.Dial("tcp", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = nc.Close() })
	_ = nc.SetDeadline(time.Now().Add(10 * time.Second))
	return nc
}

func frame(body []byte) []byte {
	return protocol.AppendFrame(nil, &protocol.Command{Code: codeEcho, Version: protocol.Version, Opaque: 1, Body: body})
}

// ask sends a request and returns its answer.
func ask(nc net.Conn, body []byte) (*protocol.Command, error) {
	if _, err := nc.Write(frame(body)); err != nil {
		return nil, err
	}
	return receive(nc)
}

func receive(nc net.Conn) (*protocol.Command, error) {
	var size [4]byte
	if _, err := io.ReadFull(nc, size[:]); err != nil {
		return nil, err
	}
	answer := make([]byte, binary.BigEndian.Uint32(size[:]))
	if _, err := io.ReadFull(nc, answer); err != nil {
		return nil, err
	}
	return protocol.DecodeFrame(answer)
}

// closed reports whether err says that the other side ended the connection.
func closed(err error) bool {
	var timeout net.Error
	return err != nil && !(errors.As(err, &timeout) && timeout.Timeout())
}

// mustServe fails the test unless a request is answered.
func mustServe(t *testing.T, nc net.Conn) *protocol.Command {
	t.Helper()
	answer, err := ask(nc, []byte("hello"))
	if err != nil {
		t.Fatalf("no answer: %v", err)
	}
	if string(answer.Body) != "hello" {
		t.Fatalf("answer %+v", answer)
	}
	return answer
}

// mustRefuse fails the test unless the server closes the connection instead of answering.
func mustRefuse(t *testing.T, nc net.Conn) {
	t.Helper()
	if answer, err := ask(nc, []byte("hello")); !closed(err) {
		t.Fatalf("answer %+v, error %v: want the connection closed", answer, err)
	}
}

// pipes is a listener in memory, for tests with a time of their own.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), done: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case nc := <-p.conns:
		return nc, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.done) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipes"} }

// dial connects to the one who accepts.
func (p *pipes) dial() net.Conn {
	near, far := net.Pipe()
	p.conns <- far
	return near
}
