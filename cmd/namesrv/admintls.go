package main

import (
	"crypto/tls"
	"fmt"
	"net"
	"time"

	"github.com/hashicorp/go-hclog"

	"namesrv/remoting/gate"
)

// listenAdmin opens the HTTP port, with TLS when a certificate was given for it.
// Whoever asks shows the token, no certificate.
func listenAdmin(cfg *serverConfig) (net.Listener, error) {
	var conf *tls.Config
	if cfg.AdminCert != "" {
		pair, err := gate.Identity{CertFile: cfg.AdminCert, KeyFile: cfg.AdminKey}.Load()
		if err != nil {
			return nil, fmt.Errorf("--admin-cert and --admin-key: %w", err)
		}
		warnOfEnd(cfg.Logger, "--admin-cert", pair, time.Now())
		conf = &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}, NextProtos: []string{"http/1.1"}}
	}
	l, err := listen("--admin-listen", cfg.AdminListen)
	if err != nil {
		return nil, err
	}
	if conf != nil {
		l = tls.NewListener(l, conf)
	}
	return l, nil
}

// endsSoon is how long before its end a certificate is warned of.
const endsSoon = 30 * 24 * time.Hour

// warnOfEnd writes a line at the start when a certificate that is read only then ends
// soon, or has ended.
func warnOfEnd(log hclog.Logger, flag string, pair tls.Certificate, now time.Time) {
	if end := pair.Leaf.NotAfter; end.Sub(now) < endsSoon {
		log.Warn("a certificate ends soon: replace the file and start this peer again", "flag", flag, "ends", end.Format(time.DateOnly))
	}
}
