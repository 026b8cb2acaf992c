package gate

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"

	"github.com/hashicorp/go-hclog"
)

// ClientTLS is how outgoing connections are made (RocketMQ TlsHelper). The zero value trusts every server and shows it
// no certificate.
type ClientTLS struct {
	Identity Identity // shown to servers that ask; its files may be empty
	// VerifyServer checks the server's certificate against TrustFile, or against those that the system trusts when that
	// is empty.
	VerifyServer bool
	TrustFile    string // PEM
}

// Dialer makes connections over TLS.
type Dialer struct{ files *source }

// NewDialer reads the files of cfg, and returns an error when they cannot be used. They are read again when they change.
// logger may be nil.
func NewDialer(cfg ClientTLS, logger hclog.Logger) (*Dialer, error) {
	if logger == nil {
		logger = hclog.NewNullLogger()
	}
	d := &Dialer{files: &source{files: cfg.files(), build: cfg.build, log: logger}}
	return d, d.files.load()
}

// Dial connects and ends the handshake before ctx does.
func (d *Dialer) Dial(ctx context.Context, addr string) (net.Conn, error) {
	dialer := tls.Dialer{Config: d.files.config()}
	return dialer.DialContext(ctx, "tcp", addr)
}

func (t ClientTLS) files() []string {
	files := t.Identity.files()
	if t.VerifyServer && t.TrustFile != "" {
		files = append(files, t.TrustFile)
	}
	return files
}

func (t ClientTLS) build() (*tls.Config, error) {
	cfg := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: true} // what it skips, host names too, verify does
	if !t.Identity.empty() {
		pair, err := t.Identity.Load()
		if err != nil {
			return nil, err
		}
		cfg.Certificates = []tls.Certificate{pair}
	}
	if t.VerifyServer {
		trusted, err := LoadTrusted(t.TrustFile)
		if err != nil {
			return nil, err
		}
		cfg.VerifyConnection = func(state tls.ConnectionState) error { return verify(state.PeerCertificates, trusted) }
	}
	return cfg, nil
}

// verify checks a server's chain, and not its name: brokers are known by address.
func verify(chain []*x509.Certificate, trusted *x509.CertPool) error {
	if err := VerifyServer(chain, trusted); err != nil {
		return fmt.Errorf("certificate of the server: %w", err)
	}
	return nil
}

// VerifyServer says why a chain, the certificate itself first, is not one that a server may show; host names are not
// looked at. A nil pool stands for what the system trusts.
func VerifyServer(chain []*x509.Certificate, trusted *x509.CertPool) error {
	between := x509.NewCertPool()
	for _, certificate := range chain[1:] {
		between.AddCert(certificate)
	}
	_, err := chain[0].Verify(x509.VerifyOptions{Roots: trusted, Intermediates: between, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
	return err
}
