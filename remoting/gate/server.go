package gate

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"time"
)

// ClientAuth says whether clients show a certificate (Netty ClientAuth).
type ClientAuth int

// What clients are asked for.
const (
	NoClientCert       ClientAuth = iota // nothing
	OptionalClientCert                   // a certificate, if they have one
	RequiredClientCert                   // a certificate
)

// ServerTLS is how TLS is ended for clients. It follows RocketMQ TlsHelper.
type ServerTLS struct {
	SelfSigned bool // make a certificate at the start, ask for none and use nothing of the below
	Identity   Identity
	ClientAuth ClientAuth
	// VerifyClient checks the certificates that clients show against TrustFile, or against those that the system trusts
	// when that is empty. Otherwise any certificate will do.
	VerifyClient bool
	TrustFile    string // PEM
}

// files are those that a change of is to be noticed.
func (t ServerTLS) files() []string {
	if t.SelfSigned {
		return nil
	}
	files := t.Identity.files()
	if t.VerifyClient && t.TrustFile != "" {
		files = append(files, t.TrustFile)
	}
	return files
}

// builder returns what makes a configuration from the files.
func (t ServerTLS) builder() (func() (*tls.Config, error), error) {
	if !t.SelfSigned {
		return t.build, nil
	}
	pair, err := selfSigned(time.Now())
	cfg := serverConfig(pair)
	cfg.ClientAuth = tls.RequestClientCert
	return func() (*tls.Config, error) { return cfg, nil }, err
}

func (t ServerTLS) build() (*tls.Config, error) {
	pair, err := t.Identity.Load()
	if err != nil {
		return nil, err
	}
	cfg := serverConfig(pair)
	cfg.ClientAuth = t.clientAuth()
	if t.VerifyClient {
		cfg.ClientCAs, err = LoadTrusted(t.TrustFile)
	}
	return cfg, err
}

// serverConfig has a key of its own for session tickets, which makes sessions end with it: none is resumed with a
// certificate that is no longer trusted.
func serverConfig(pair tls.Certificate) *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}}
}

func (t ServerTLS) clientAuth() tls.ClientAuthType {
	switch {
	case t.ClientAuth == NoClientCert:
		return tls.NoClientCert
	case t.ClientAuth == OptionalClientCert && t.VerifyClient:
		return tls.VerifyClientCertIfGiven
	case t.ClientAuth == OptionalClientCert:
		return tls.RequestClientCert
	case t.VerifyClient:
		return tls.RequireAndVerifyClientCert
	}
	return tls.RequireAnyClientCert
}

// selfSignedLifetime is longer than any server runs.
const selfSignedLifetime = 100 * 365 * 24 * time.Hour

// selfSigned makes a certificate that nobody trusts. It is of use to clients that do not verify, and gives them no more
// than that nobody can listen.
func selfSigned(now time.Time) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("make a key: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()),
		Subject:      pkix.Name{CommonName: "localhost"},
		NotBefore:    now.Add(-24 * time.Hour), // clocks of clients differ
		NotAfter:     now.Add(selfSignedLifetime),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("make a self-signed certificate: %w", err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}
