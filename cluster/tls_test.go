package cluster

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"net"
	"testing"
	"time"

	"namesrv/cluster/clusterpb"
)

// authority signs certificates for 127.0.0.1.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pool *x509.CertPool
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{key: newKey(t), pool: x509.NewCertPool()}
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "ca"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	raw, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, a.key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	if a.cert, err = x509.ParseCertificate(raw); err != nil {
		t.Fatal(err)
	}
	a.pool.AddCert(a.cert)
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

func (a *authority) config(t *testing.T) *tls.Config {
	t.Helper()
	key := newKey(t)
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "peer"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
	raw, err := x509.CreateCertificate(rand.Reader, tmpl, a.cert, key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{{Certificate: [][]byte{raw}, PrivateKey: key}}, RootCAs: a.pool, ClientCAs: a.pool, ClientAuth: tls.RequireAndVerifyClientCert}
}

func TestPeersOverTLS(t *testing.T) {
	ca := newAuthority(t)
	var cfgs []Config
	var nodes []*testNode
	var join []string
	for i := range 3 {
		cfg, tn := testConfig(t, fmt.Sprintf("n%d", i+1), listen(t))
		cfg.TLS = ca.config(t)
		cfgs, nodes, join = append(cfgs, cfg), append(nodes, tn), append(join, cfg.Advertise)
	}
	for i := range cfgs {
		cfgs[i].Expect, cfgs[i].Join = 3, join
		open(t, cfgs[i], nodes[i])
	}
	waitFormed(t, nodes...)
	propose(t, nodes[2], "over tls")

	t.Run("plain is not answered", func(t *testing.T) {
		if reply, _, err := greetWith(t, nodes[0], connCommands, &clusterpb.Hello{Version: peerProtocol}); err == nil {
			t.Errorf("answered %v", reply)
		}
	})
	t.Run("a certificate of another authority is refused", func(t *testing.T) {
		conf := newAuthority(t).config(t)
		conf.RootCAs = ca.pool // it trusts the peers; they do not trust it
		c, err := tls.Dial("tcp", nodes[0].cfg.Advertise, conf)
		if err != nil {
			return
		}
		defer c.Close()
		c.SetDeadline(time.Now().Add(5 * time.Second))
		var reply clusterpb.HelloReply
		if err := writeMessage(c, []byte{connCommands}, &clusterpb.Hello{Version: peerProtocol}); err == nil {
			err = readMessage(c, &reply)
			if err == nil {
				t.Errorf("answered %v", &reply)
			}
		}
	})
}
