package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
)

// peerTLS makes the configuration of the peer port, for both directions; nil
// when no files were given. Each side shows a certificate that the CA signed.
func peerTLS(cfg *serverConfig) (*tls.Config, error) {
	if cfg.PeerCA == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(cfg.PeerCA)
	if err != nil {
		return nil, fmt.Errorf("--peer-ca: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("--peer-ca: %s holds no certificate", cfg.PeerCA)
	}
	pair, err := tls.LoadX509KeyPair(cfg.PeerCert, cfg.PeerKey)
	if err != nil {
		return nil, fmt.Errorf("--peer-cert and --peer-key: %w", err)
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{pair},
		RootCAs: pool, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert,
	}, nil
}
