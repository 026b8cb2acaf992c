package main

import (
	"crypto/tls"
	"fmt"
	"time"
)

// peerTLS makes the configuration of the peer port, for both directions; nil
// when no files were given. Each side shows a certificate that the CA signed.
func peerTLS(cfg *serverConfig) (*tls.Config, error) {
	if cfg.PeerCA == "" {
		return nil, nil
	}
	pool, err := certPool("--peer-ca", cfg.PeerCA)
	if err != nil {
		return nil, err
	}
	pair, err := tls.LoadX509KeyPair(cfg.PeerCert, cfg.PeerKey)
	if err != nil {
		return nil, fmt.Errorf("--peer-cert and --peer-key: %w", err)
	}
	warnOfEnd(cfg.Logger, "--peer-cert", pair, time.Now())
	return &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{pair},
		RootCAs: pool, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert,
	}, nil
}
