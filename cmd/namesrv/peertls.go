package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"slices"
	"time"

	"namesrv/internal/settings"
	"namesrv/remoting/gate"
)

// peerTLS makes the configuration of the peer port, for both directions; nil
// when no files were given. Each side shows a certificate that the CA signed.
func peerTLS(cfg *serverConfig) (*tls.Config, error) {
	if cfg.PeerCA == "" {
		return nil, nil
	}
	pool, err := gate.LoadTrusted(cfg.PeerCA)
	if err != nil {
		return nil, fmt.Errorf("--peer-ca: %w", err)
	}
	pair, err := gate.Identity{CertFile: cfg.PeerCert, KeyFile: cfg.PeerKey}.Load()
	if err != nil {
		return nil, fmt.Errorf("--peer-cert and --peer-key: %w", err)
	}
	warnOfEnd(cfg.Logger, "--peer-cert", pair, time.Now())
	warnOfSharedCA(cfg)
	return &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{pair},
		RootCAs: pool, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert,
		VerifyConnection: func(state tls.ConnectionState) error { return checkPeer(state.PeerCertificates, pool) },
	}, nil
}

// checkPeer refuses the certificate of a mere client. Peers call and are called, and
// of one who calls the library asks only that it may.
func checkPeer(shown []*x509.Certificate, pool *x509.CertPool) error {
	if err := gate.VerifyServer(shown, pool); err != nil {
		return fmt.Errorf("no certificate of a peer, which is good for servers too: %w", err)
	}
	return nil
}

// warnOfSharedCA writes a line at the start when whoever may have a certificate for
// the client port may have one for the peer port too.
func warnOfSharedCA(cfg *serverConfig) {
	values, err := loadTLSValues(cfg)
	if err != nil {
		return // the client port says so
	}
	trust := values.text(settings.TLSServerTrust)
	for _, ca := range certificatesIn(trust) {
		if slices.ContainsFunc(certificatesIn(cfg.PeerCA), func(peerCA []byte) bool { return bytes.Equal(ca, peerCA) }) {
			cfg.Logger.Warn("one CA signs for peers and for clients, so that a client's certificate may pass for a peer's: make another CA for the peers",
				"--peer-ca", cfg.PeerCA, settings.TLSServerTrust, trust)
			return
		}
	}
}

// certificatesIn returns what a PEM file holds, in DER; nothing where it cannot be
// read.
func certificatesIn(file string) (certs [][]byte) {
	text, err := readFile(file, maxPEM)
	if err != nil {
		return nil
	}
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type == "CERTIFICATE" {
			certs = append(certs, block.Bytes)
		}
	}
	return certs
}
