package gate

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"namesrv/remoting/protocol"
)

// versions are the ways to speak to a server: 0 is plain text.
var versions = map[string]uint16{"plain": 0, "TLS 1.2": tls.VersionTLS12, "TLS 1.3": tls.VersionTLS13}

// client returns the connection of a client that speaks the version and shows certs.
func client(nc net.Conn, version uint16, certs ...tls.Certificate) net.Conn {
	if version == 0 {
		return nc
	}
	return tls.Client(nc, &tls.Config{InsecureSkipVerify: true, MinVersion: version, MaxVersion: version, Certificates: certs})
}

func TestModes(t *testing.T) {
	selfSigned := ServerTLS{SelfSigned: true}
	fromFiles := ServerTLS{Identity: newAuthority(t).identity(t, "server")}
	tests := []struct {
		mode       Mode
		plain, tls bool // what is served
	}{{Disabled, true, false}, {Permissive, true, true}, {Enforcing, false, true}}
	for _, tc := range tests {
		for kind, cfg := range map[string]ServerTLS{"self-signed": selfSigned, "files": fromFiles} {
			s := startServer(t, Config{Mode: tc.mode, TLS: cfg}, 0)
			for name, version := range versions {
				t.Run(fmt.Sprint(tc.mode, " ", kind, " ", name), func(t *testing.T) {
					nc := client(s.dial(t), version)
					if served := version == 0 && tc.plain || version != 0 && tc.tls; served {
						mustServe(t, nc)
					} else {
						mustRefuse(t, nc)
					}
				})
			}
		}
	}
}

func TestTLSBelow12IsRefused(t *testing.T) {
	s := startServer(t, Config{TLS: ServerTLS{SelfSigned: true}}, 0)
	mustRefuse(t, client(s.dial(t), tls.VersionTLS11))
}

// TestJava8Suites holds that clients limited to what Java 8 negotiates find something in common.
func TestJava8Suites(t *testing.T) {
	s := startServer(t, Config{TLS: ServerTLS{SelfSigned: true}}, 0)
	for _, suite := range []uint16{
		tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA,
	} {
		t.Run(tls.CipherSuiteName(suite), func(t *testing.T) {
			mustServe(t, tls.Client(s.dial(t), &tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS12,
				CipherSuites: []uint16{suite}, CurvePreferences: []tls.CurveID{tls.CurveP256}}))
		})
	}
}

func TestClientCertificates(t *testing.T) {
	known := newAuthority(t)
	shown := map[string][]tls.Certificate{"no": nil, "trusted": known.pair(t, "client"), "untrusted": newAuthority(t).pair(t, "stranger")}
	tests := []struct {
		name   string
		auth   ClientAuth
		verify bool
		served []string // with which certificates
	}{
		{"none", NoClientCert, false, []string{"no", "trusted", "untrusted"}},
		{"none, verified", NoClientCert, true, []string{"no", "trusted", "untrusted"}},
		{"optional", OptionalClientCert, false, []string{"no", "trusted", "untrusted"}},
		{"optional, verified", OptionalClientCert, true, []string{"no", "trusted"}},
		{"required", RequiredClientCert, false, []string{"trusted", "untrusted"}},
		{"required, verified", RequiredClientCert, true, []string{"trusted"}},
	}
	for _, tc := range tests {
		s := startServer(t, Config{TLS: ServerTLS{
			Identity: known.identity(t, "server"), ClientAuth: tc.auth, VerifyClient: tc.verify, TrustFile: known.file(t),
		}}, 0)
		for version, number := range versions {
			for certificate, certs := range shown {
				t.Run(fmt.Sprintf("%s/%s/%s certificate", tc.name, version, certificate), func(t *testing.T) {
					nc := client(s.dial(t), number, certs...)
					served := number == 0
					for _, name := range tc.served {
						served = served || name == certificate
					}
					if served {
						mustServe(t, nc)
					} else {
						mustRefuse(t, nc)
					}
				})
			}
		}
	}
}

// A server that asks for certificates by the system's trust accepts none of ours.
func TestClientCertificateAgainstTheSystem(t *testing.T) {
	a := newAuthority(t)
	s := startServer(t, Config{TLS: ServerTLS{Identity: a.identity(t, "server"), ClientAuth: RequiredClientCert, VerifyClient: true}}, 0)
	mustRefuse(t, client(s.dial(t), tls.VersionTLS13, a.pair(t, "client")...))
}

func TestEnforcedTLSExecutesNoPlainText(t *testing.T) {
	s := startServer(t, Config{Mode: Enforcing, TLS: ServerTLS{SelfSigned: true}}, 0)
	oneway := protocol.AppendFrame(nil, &protocol.Command{Code: codeEcho, Version: protocol.Version, Flag: protocol.FlagOneWay})
	for name, sent := range map[string][]byte{
		"one-way":             oneway,
		"several":             bytes.Repeat(oneway, 10),
		"after a header":      append([]byte("PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n"), oneway...),
		"before a handshake":  append(bytes.Clone(oneway), tlsHandshake, 3, 1, 0, 5),
		"after its beginning": append([]byte{tlsHandshake, 3, 1, 0, 5}, oneway...),
	} {
		t.Run(name, func(t *testing.T) {
			nc := s.dial(t)
			if _, err := nc.Write(sent); err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, nc) // until the server closes it
		})
	}
	mustServe(t, client(s.dial(t), tls.VersionTLS13)) // by now the others are over
	if n := s.executed.Load(); n != 1 {
		t.Errorf("%d requests were executed, want 1", n)
	}
	if n := s.events.Load(); n != 1 {
		t.Errorf("%d events of connections, want 1", n)
	}
}

// slowStart sends its first byte alone, and the rest a second later.
type slowStart struct {
	net.Conn
	started bool
}

func (s *slowStart) Write(b []byte) (int, error) {
	if s.started {
		return s.Conn.Write(b)
	}
	s.started = true
	if n, err := s.Conn.Write(b[:1]); err != nil {
		return n, err
	}
	time.Sleep(time.Second)
	n, err := s.Conn.Write(b[1:])
	return n + 1, err
}

func TestFirstByteAlone(t *testing.T) {
	for name, version := range versions {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g, err := New(Config{TLS: ServerTLS{SelfSigned: true}})
				if err != nil {
					t.Fatal(err)
				}
				near, far := net.Pipe()
				defer func() { _ = near.Close() }()
				go func() {
					nc := client(&slowStart{Conn: far}, version)
					_, _ = nc.Write([]byte("hello"))
					_ = nc.Close()
				}()
				wrapped, err := g.Wrap(near)
				if err != nil {
					t.Fatal(err)
				}
				if got, err := io.ReadAll(wrapped); err != nil || string(got) != "hello" {
					t.Errorf("read %q, %v", got, err)
				}
			})
		})
	}
}

func TestSilentConnectionsEnd(t *testing.T) {
	s := startServer(t, Config{TLS: ServerTLS{SelfSigned: true}}, 100*time.Millisecond)
	for name, sent := range map[string]string{
		"nothing": "", "a PROXY header": "PROXY TCP4 192.0.2.1", "8 bytes of version 2": "\r\n\r\n\x00\r\nQ", "TLS": "\x16\x03\x01",
	} {
		t.Run(name, func(t *testing.T) {
			nc := s.dial(t)
			if _, err := nc.Write([]byte(sent)); err != nil {
				t.Fatal(err)
			}
			if n, err := nc.Read(make([]byte, 1)); !closed(err) {
				t.Errorf("read %d bytes, %v: want the connection closed", n, err)
			}
		})
	}
}

func TestIdleTLSConnectionEnds(t *testing.T) {
	const idle = time.Minute
	synctest.Test(t, func(t *testing.T) {
		l := newPipes()
		s := startServerOn(t, l, Config{TLS: ServerTLS{SelfSigned: true}}, idle)
		defer func() { _ = s.Close() }()
		nc := client(l.dial(), tls.VersionTLS13)
		for range 5 { // beyond several deadlines of the first read
			mustServe(t, nc)
			time.Sleep(idle * 3 / 4) // of the test's own time
		}
		last := time.Now()
		if _, err := nc.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Errorf("an idle connection ended with %v, want EOF", err)
		}
		if waited := time.Since(last); waited < idle/8 || waited > idle {
			t.Errorf("it ended %v after it was used", idle*3/4+waited)
		}
		_ = nc.Close()
	})
}

func TestLargeRequestsOverTLS(t *testing.T) {
	s := startServer(t, Config{TLS: ServerTLS{SelfSigned: true}}, 0)
	body := []byte(strings.Repeat("0123456789abcdef", 1<<17))
	for name, version := range versions {
		t.Run(name, func(t *testing.T) {
			nc := client(s.dial(t), version)
			sent := make(chan error, 1)
			go func() { _, err := nc.Write(frame(body)); sent <- err }()
			answer, err := receive(nc)
			if err != nil || !bytes.Equal(answer.Body, body) {
				t.Fatalf("%d bytes came back, %v", len(answer.Body), err)
			}
			if err := <-sent; err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestShutdownEndsTLSPolitely(t *testing.T) {
	s := startServer(t, Config{TLS: ServerTLS{SelfSigned: true}}, 0)
	half := s.dial(t) // in the middle of its beginning
	if _, err := half.Write([]byte{tlsHandshake}); err != nil {
		t.Fatal(err)
	}
	nc := client(s.dial(t), tls.VersionTLS13)
	mustServe(t, nc)
	done := make(chan error, 1)
	go func() { done <- s.Shutdown(t.Context()) }()
	if _, err := nc.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("read ended with %v, want EOF", err)
	}
	_ = nc.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestNewWithFilesThatCannotBeUsed(t *testing.T) {
	a := newAuthority(t)
	good, other := a.identity(t, "server"), a.identity(t, "other")
	text := t.TempDir() + "/text"
	writeFile(t, text, []byte("no PEM"))
	long := t.TempDir() + "/long"
	writeFile(t, long, []byte("no PEM"))
	if err := os.Truncate(long, maxFile+1); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		cfg  ServerTLS
		want string // part of the message
	}{
		{"no files", ServerTLS{}, "both needed"},
		{"no key", ServerTLS{Identity: Identity{CertFile: good.CertFile}}, "both needed"},
		{"missing", ServerTLS{Identity: Identity{CertFile: "/nowhere/cert.pem", KeyFile: good.KeyFile}}, "/nowhere/cert.pem"},
		{"the key of another", ServerTLS{Identity: Identity{CertFile: good.CertFile, KeyFile: other.KeyFile}}, "private key does not match public key"},
		{"no key in the file", ServerTLS{Identity: Identity{CertFile: good.CertFile, KeyFile: text}}, text + ": no private key"},
		{"no certificate in the file", ServerTLS{Identity: Identity{CertFile: text, KeyFile: good.KeyFile}}, text},
		{"nobody to trust", ServerTLS{Identity: good, VerifyClient: true, TrustFile: text}, text + ": no certificate"},
		{"more than is read of a certificate", ServerTLS{Identity: Identity{CertFile: long, KeyFile: good.KeyFile}}, long + ": more than"},
		{"more than is read of a key", ServerTLS{Identity: Identity{CertFile: good.CertFile, KeyFile: long}}, long + ": more than"},
		{"more than is read of a trust file", ServerTLS{Identity: good, VerifyClient: true, TrustFile: long}, long + ": more than"},
		{"a missing trust file", ServerTLS{Identity: good, VerifyClient: true, TrustFile: "/nowhere/ca.pem"}, "/nowhere/ca.pem"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			_, err := New(Config{Mode: Enforcing, TLS: tc.cfg})
			if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("New = %v, want one line with %q", err, tc.want)
			}
			s := startServer(t, Config{Mode: Permissive, TLS: tc.cfg}, 0)
			mustServe(t, s.dial(t))
			mustRefuse(t, client(s.dial(t), tls.VersionTLS13))
			if _, err := New(Config{Mode: Disabled, TLS: tc.cfg}); err != nil {
				t.Errorf("New without TLS = %v", err)
			}
		})
	}
}

func TestParseMode(t *testing.T) {
	got := map[string]Mode{}
	for _, name := range []string{"disabled", "permissive", "enforcing", "Enforcing", ""} {
		mode, ok := ParseMode(name)
		if known := name == mode.String(); ok != known {
			t.Errorf("ParseMode(%q) = %v, %v", name, mode, ok)
		}
		got[name] = mode
	}
	want := map[string]Mode{"disabled": Disabled, "permissive": Permissive, "enforcing": Enforcing, "Enforcing": Permissive, "": Permissive}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("modes (-want +got):\n%s", diff)
	}
}

// scripted is a connection that gives its bytes in pieces and then an error.
type scripted struct {
	net.Conn
	pieces [][]byte
	end    error
}

func (s *scripted) Read(b []byte) (int, error) {
	if len(s.pieces) == 0 {
		return 0, s.end
	}
	n := copy(b, s.pieces[0])
	if s.pieces[0] = s.pieces[0][n:]; len(s.pieces[0]) == 0 {
		s.pieces = s.pieces[1:]
	}
	return n, nil
}

func (s *scripted) Write(b []byte) (int, error)      { return len(b), nil }
func (s *scripted) Close() error                     { return nil }
func (s *scripted) RemoteAddr() net.Addr             { return &net.UnixAddr{Name: "peer"} }
func (s *scripted) SetDeadline(time.Time) error      { return os.ErrNoDeadline }
func (s *scripted) SetWriteDeadline(time.Time) error { return os.ErrNoDeadline }
func pieces(b []byte, size int) (cut [][]byte) {
	for ; len(b) > size; b = b[size:] {
		cut = append(cut, b[:size])
	}
	if len(b) > 0 {
		cut = append(cut, b)
	}
	return cut
}

// FuzzWrap holds that no beginning of a connection makes the gate panic or wait for ever, and that plain text comes out
// as it went in, but for a header.
func FuzzWrap(f *testing.F) {
	for _, seed := range []string{"", "\x00\x00\x00\x10", "PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n\x00", "PROXYX", "P", "\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00",
		"\r\n\r\n\x00\r\nQUIT\n\x21\x11\x00\x0c12345678abcd\x00\x00", "\r\n\r\n\x00\r\nQUIT\n\x20\x00\x00\x00x", "\r\n\r\n\x00\r\nQUIT\n\x21\x13\x00\x0c12345678abcd"} {
		f.Add([]byte(seed), 3)
	}
	g, err := New(Config{TLS: ServerTLS{SelfSigned: true}})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, sent []byte, size int) {
		wrapped, err := g.Wrap(&scripted{pieces: pieces(sent, max(size, 1)), end: io.EOF})
		if err != nil {
			return
		}
		if _, plain := wrapped.(*conn); !plain {
			return
		}
		_ = wrapped.RemoteAddr().String()
		got, err := io.ReadAll(wrapped)
		if err != nil || len(got) == 0 || !bytes.HasSuffix(sent, got) {
			t.Errorf("%q came out as %q, %v", sent, got, err)
		}
		if len(got) != len(sent) && sent[0] != 'P' && sent[0] != '\r' {
			t.Errorf("%d bytes were taken off %q", len(sent)-len(got), sent)
		}
	})
}

// BenchmarkRead shows what the gate adds to each read of a plain connection.
func BenchmarkRead(b *testing.B) {
	endless := bytes.Repeat([]byte{0}, 64)
	for _, gated := range []bool{false, true} {
		b.Run(fmt.Sprint("gated=", gated), func(b *testing.B) {
			var nc net.Conn = &repeating{b: endless}
			if gated {
				g, err := New(Config{TLS: ServerTLS{SelfSigned: true}})
				if err != nil {
					b.Fatal(err)
				}
				if nc, err = g.Wrap(nc); err != nil {
					b.Fatal(err)
				}
			}
			buf := make([]byte, 64)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := nc.Read(buf); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// repeating is a connection that never runs out of the same bytes.
type repeating struct {
	net.Conn
	b []byte
}

func (r *repeating) Read(b []byte) (int, error) { return copy(b, r.b), nil }
