package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"namesrv/remoting/gate"
)

// clockSkew is how far back certificates begin: clocks of machines differ.
const clockSkew = 5 * time.Minute

const caName = "ca"

// keyPair is a certificate with its key, and the files that hold them.
type keyPair struct {
	certFile, keyFile string
	cert              *x509.Certificate
	key               *ecdsa.PrivateKey
}

func pairFiles(dir, name string) keyPair {
	return keyPair{certFile: filepath.Join(dir, name+".pem"), keyFile: filepath.Join(dir, name+"-key.pem")}
}

// newCA makes a certificate that signs others, and writes both files, into a folder
// that need not be there. The certificate is for everybody to read.
func newCA(dir, name string, from time.Time, days int) (keyPair, error) {
	ca := pairFiles(dir, caName)
	template, err := newTemplate(name, from, days)
	if err != nil {
		return ca, err
	}
	template.IsCA, template.BasicConstraintsValid, template.MaxPathLenZero = true, true, true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageCRLSign
	if ca.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return ca, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return ca, err
	}
	return ca, ca.signAndWrite(template, template, ca.key, 0o644)
}

// Which ends of a connection a certificate is good for.
var (
	peerUse   = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	clientUse = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
)

// certificateRequest is a certificate to be made.
type certificateRequest struct {
	name  string   // in it, and of its files
	hosts []string // names and IP addresses that it is for
	use   []x509.ExtKeyUsage
	from  time.Time
	days  int
}

// newCertificate makes a certificate that the CA of the folder signs, and writes both
// files.
func newCertificate(dir string, r certificateRequest) (keyPair, error) {
	pair := pairFiles(dir, r.name)
	ca, err := loadCA(dir)
	if err != nil {
		return pair, err
	}
	template, err := newTemplate(r.name, r.from, r.days)
	if err != nil {
		return pair, err
	}
	if end := ca.cert.NotAfter; template.NotAfter.After(end) {
		return pair, fmt.Errorf("%s ends on %s, before the %d days of --days: take fewer", ca.certFile, end.Format(time.DateOnly), r.days)
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = r.use
	for _, host := range r.hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
			continue
		}
		template.DNSNames = append(template.DNSNames, host)
	}
	if pair.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return pair, err
	}
	return pair, pair.signAndWrite(template, ca.cert, ca.key, 0o600)
}

func newTemplate(name string, from time.Time, days int) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	return &x509.Certificate{SerialNumber: serial, Subject: pkix.Name{CommonName: name},
		NotBefore: from.Add(-clockSkew), NotAfter: from.AddDate(0, 0, days)}, nil
}

// loadCA reads what newCA wrote.
func loadCA(dir string) (keyPair, error) {
	ca := pairFiles(dir, caName)
	loaded, err := gate.Identity{CertFile: ca.certFile, KeyFile: ca.keyFile}.Load()
	if errors.Is(err, fs.ErrNotExist) {
		return ca, fmt.Errorf("%w: make a CA first: namesrv tls ca --dir %s", err, dir)
	}
	if err != nil {
		return ca, fmt.Errorf("%s and %s: %w", ca.certFile, ca.keyFile, err)
	}
	var signs bool
	ca.cert = loaded.Leaf
	if ca.key, signs = loaded.PrivateKey.(*ecdsa.PrivateKey); !signs || !ca.cert.IsCA {
		return ca, fmt.Errorf("%s is no CA that namesrv tls ca made", ca.certFile)
	}
	return ca, nil
}

// signAndWrite signs the certificate and writes it and its key, which is for its owner
// only. A file that exists is never replaced: others may have copies that depend on
// it.
func (p *keyPair) signAndWrite(template, parent *x509.Certificate, signer *ecdsa.PrivateKey, mode fs.FileMode) error {
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &p.key.PublicKey, signer)
	if err != nil {
		return fmt.Errorf("sign: %w", err)
	}
	if p.cert, err = x509.ParseCertificate(der); err != nil {
		return err
	}
	key, err := x509.MarshalPKCS8PrivateKey(p.key)
	if err != nil {
		return err
	}
	if _, err := os.Lstat(p.certFile); err == nil {
		return existsError(p.certFile)
	}
	if err := writeNew(p.keyFile, "PRIVATE KEY", key, 0o600); err != nil {
		return err
	}
	if err := writeNew(p.certFile, "CERTIFICATE", der, mode); err != nil {
		return errors.Join(err, os.Remove(p.keyFile))
	}
	return nil
}

func existsError(path string) error {
	return fmt.Errorf("%s exists and is not replaced: move it away, or choose another --dir", path)
}

func writeNew(path, kind string, der []byte, mode fs.FileMode) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if errors.Is(err, fs.ErrExist) {
		return existsError(path)
	}
	if err != nil {
		return err
	}
	err = errors.Join(pem.Encode(f, &pem.Block{Type: kind, Bytes: der}), f.Close())
	if err != nil {
		err = errors.Join(err, os.Remove(path))
	}
	return err
}
