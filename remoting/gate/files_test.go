package gate

import (
	"bytes"
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"
)

func TestKeys(t *testing.T) {
	const long = "a much longer password, longer than one block"
	tests := []struct {
		file, password string
		want           error // nil: it is the key of its kind
	}{
		{"ec-pkcs8.pem", "", nil},
		{"ec-pkcs8.pem", "not needed", nil},
		{"ec-sec1.pem", "", nil},
		{"rsa-pkcs8.pem", "", nil},
		{"rsa-pkcs1.pem", "", nil},
		{"ec-aes256-sha256.pem", "secret", nil},
		{"ec-aes128-sha1.pem", "secret", nil},
		{"ec-aes192-sha512.pem", "secret", nil},
		{"ec-3des-sha256.pem", "secret", nil},
		{"ec-sha1-3des.pem", "secret", nil},
		{"rsa-sha1-3des.pem", long, nil},
		{"ec-aes256-sha256.pem", "", ErrKeyPassword},
		{"ec-aes256-sha256.pem", "wrong", ErrKeyPassword},
		{"ec-sha1-3des.pem", "", ErrKeyPassword},
		{"ec-sha1-3des.pem", "wrong", ErrKeyPassword},
		{"ec-scrypt.pem", "secret", errEncryption},
		{"make", "", ErrNoKey},
	}
	for _, tc := range tests {
		t.Run(tc.file+" "+tc.password, func(t *testing.T) {
			got, err := parseKey(readKey(t, tc.file), tc.password)
			if tc.want != nil {
				if !errors.Is(err, tc.want) || strings.Contains(err.Error(), "\n") {
					t.Errorf("parseKey = %v, want one line of %v", err, tc.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			kind, _, _ := strings.Cut(tc.file, "-")
			if want := public(t, readKey(t, kind+"-pkcs8.pem")); !bytes.Equal(public(t, got), want) {
				t.Error("not the key that was encrypted")
			}
		})
	}
	if _, err := parseKey(readKey(t, "rsa-pkcs1-encrypted.pem"), "secret"); err == nil || !strings.Contains(err.Error(), "openssl pkcs8") {
		t.Errorf("a key encrypted in the old way: %v", err)
	}
}

func readKey(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "keys", name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// public returns the public key that belongs to a private one.
func public(t *testing.T, text []byte) []byte {
	t.Helper()
	block, _ := pem.Decode(text)
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		if key, err = x509.ParsePKCS1PrivateKey(block.Bytes); err != nil {
			key, err = x509.ParseECPrivateKey(block.Bytes)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(key.(crypto.Signer).Public())
	if err != nil {
		t.Fatal(err)
	}
	return der
}

// A broken file must not end the process that reads it again while it runs.
func TestBrokenKeysDoNotPanic(t *testing.T) {
	for _, name := range []string{"ec-aes256-sha256.pem", "ec-sha1-3des.pem"} {
		block, _ := pem.Decode(readKey(t, name))
		for at := range block.Bytes {
			if _, err := decryptKey(block.Bytes[:at], "secret"); err == nil {
				t.Errorf("%s: the first %d bytes are a key", name, at)
			}
			broken := bytes.Clone(block.Bytes)
			broken[at] ^= 0x81
			_, _ = decryptKey(broken, "secret") // some bits mean nothing
		}
	}
}

// watched is a source with its log.
type watched struct {
	*source
	log bytes.Buffer
}

func watch(t *testing.T, cfg ServerTLS) *watched {
	t.Helper()
	w := &watched{}
	w.source = &source{files: cfg.files(), build: cfg.build,
		log: hclog.New(&hclog.LoggerOptions{Output: &w.log, Level: hclog.Info})}
	if err := w.load(); err != nil {
		t.Fatal(err)
	}
	return w
}

// serves returns the name in the certificate that is in use by then.
func (w *watched) serves(t *testing.T) string {
	t.Helper()
	time.Sleep(lookEvery) // of the test's own time
	return w.config().Certificates[0].Leaf.Subject.CommonName
}

func TestChangedFiles(t *testing.T) {
	a := newAuthority(t)
	id := a.identity(t, "first")
	cert, key := a.issue(t, "second")
	synctest.Test(t, func(t *testing.T) {
		w := watch(t, ServerTLS{Identity: id})
		steps := []struct {
			name string
			do   func()
			want string
		}{
			{"nothing", func() {}, "first"},
			{"half of the certificate", func() { writeFile(t, id.CertFile, cert[:100]) }, "first"},
			{"the certificate without its key", func() { writeFile(t, id.CertFile, cert) }, "first"},
			{"half of the key", func() { writeFile(t, id.KeyFile, key[:50]) }, "first"},
			{"both", func() { writeFile(t, id.KeyFile, key) }, "second"},
			{"the key is gone", func() { _ = os.Remove(id.KeyFile) }, "second"},
			{"nothing more", func() {}, "second"},
			{"the same key again", func() { writeFile(t, id.KeyFile, key) }, "second"},
		}
		for _, step := range steps {
			step.do()
			for range 3 {
				if got := w.serves(t); got != step.want {
					t.Errorf("%s: the certificate is %s, want %s", step.name, got, step.want)
				}
			}
		}
		if warnings := strings.Count(w.log.String(), "[WARN]"); warnings != 4 { // one for each step that breaks something
			t.Errorf("%d warnings, want 4:\n%s", warnings, w.log.String())
		}
		if used := strings.Count(w.log.String(), "[INFO]"); used != 2 {
			t.Errorf("%d changes were taken, want 2:\n%s", used, w.log.String())
		}
	})
}

// A file that was moved into place may have the length and the age of the one before.
func TestMovedFiles(t *testing.T) {
	a := newAuthority(t)
	id, next := a.identity(t, "name1"), a.identity(t, "name2")
	synctest.Test(t, func(t *testing.T) {
		w := watch(t, ServerTLS{Identity: id})
		for from, to := range map[string]string{next.CertFile: id.CertFile, next.KeyFile: id.KeyFile} {
			info, err := os.Stat(to)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(from, info.ModTime(), info.ModTime()); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(from, to); err != nil {
				t.Fatal(err)
			}
		}
		if got := w.serves(t); got != "name2" {
			t.Errorf("the certificate is %s", got)
		}
	})
}

func TestFilesAreLookedAtTwiceASecondAtMost(t *testing.T) {
	a := newAuthority(t)
	id := a.identity(t, "first")
	cert, key := a.issue(t, "second")
	synctest.Test(t, func(t *testing.T) {
		w := watch(t, ServerTLS{Identity: id})
		writeFile(t, id.CertFile, cert)
		writeFile(t, id.KeyFile, key)
		if name := w.config().Certificates[0].Leaf.Subject.CommonName; name != "first" {
			t.Errorf("looked at the files at once: %s", name)
		}
	})
}

func TestFilesThatGetUsableLater(t *testing.T) {
	a := newAuthority(t)
	id := a.identity(t, "server")
	cert, err := os.ReadFile(id.CertFile)
	if err != nil {
		t.Fatal(err)
	}
	_ = os.Remove(id.CertFile)
	synctest.Test(t, func(t *testing.T) {
		g, err := New(Config{TLS: ServerTLS{Identity: id}})
		if err != nil {
			t.Fatal(err)
		}
		if g.files.config() != nil {
			t.Error("a configuration without a certificate")
		}
		writeFile(t, id.CertFile, cert)
		time.Sleep(lookEvery) // of the test's own time
		if g.files.config() == nil {
			t.Error("the certificate was not read")
		}
	})
}

// awaitName connects until the server shows a certificate of that name.
func awaitName(t *testing.T, s *server, want string) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for {
		nc := client(s.dial(t), tls.VersionTLS12).(*tls.Conn)
		mustServe(t, nc)
		got := nc.ConnectionState().PeerCertificates[0].Subject.CommonName
		_ = nc.Close()
		if got == want {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("new connections still show %s, not %s", got, want)
		}
	}
}

func TestChangeUnderLoad(t *testing.T) {
	a := newAuthority(t)
	id := a.identity(t, "name0")
	s := startServer(t, Config{Mode: Enforcing, TLS: ServerTLS{Identity: id}}, 0)
	stop := make(chan struct{})
	var load sync.WaitGroup
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		kept := client(s.dial(t), version)
		load.Go(func() {
			for ; !isClosed(stop); time.Sleep(time.Millisecond) {
				if _, err := ask(kept, []byte("x")); err != nil {
					t.Errorf("a connection from before: %v", err)
					return
				}
				fresh := client(s.dial(t), version)
				if _, err := ask(fresh, []byte("x")); err != nil {
					t.Errorf("a new connection: %v", err)
					return
				}
				_ = fresh.Close()
			}
		})
	}
	for _, name := range []string{"name1", "name2"} {
		cert, key := a.issue(t, name)
		writeFile(t, id.CertFile, cert)
		writeFile(t, id.KeyFile, key)
		awaitName(t, s, name)
	}
	close(stop)
	load.Wait()
}

func isClosed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func TestChangedTrust(t *testing.T) {
	before, after := newAuthority(t), newAuthority(t)
	trust := before.file(t)
	s := startServer(t, Config{TLS: ServerTLS{Identity: before.identity(t, "server"), ClientAuth: RequiredClientCert,
		VerifyClient: true, TrustFile: trust}}, 0)
	kept := client(s.dial(t), tls.VersionTLS13, before.pair(t, "old")...)
	mustServe(t, kept)
	sessions := &tls.Config{InsecureSkipVerify: true, Certificates: before.pair(t, "old"), ClientSessionCache: tls.NewLRUClientSessionCache(1)}
	mustServe(t, tls.Client(s.dial(t), sessions))

	writeFile(t, trust, pemCert(after.cert))
	deadline := time.Now().Add(10 * time.Second)
	certs := after.pair(t, "new")
	for {
		if _, err := ask(client(s.dial(t), tls.VersionTLS13, certs...), nil); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the new authority is not trusted")
		}
	}
	mustRefuse(t, tls.Client(s.dial(t), sessions)) // nor is a session that began before resumed
	mustServe(t, kept)
}
