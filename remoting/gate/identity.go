package gate

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"os"
)

// maxFile bounds what is read of a file, in bytes: a device or a pipe may have no end. The certificates that a system
// trusts take a quarter of a MiB.
const maxFile = 8 << 20

// Errors of the files.
var (
	ErrNoFile      = errors.New("a certificate file and a key file are both needed")
	ErrNoKey       = errors.New("no private key in PEM form")
	ErrKeyPassword = errors.New("the key does not decrypt: the password is wrong or missing")
)

// Identity is a certificate with its key.
type Identity struct {
	CertFile    string // PEM, the chain after the certificate
	KeyFile     string // PEM: PKCS#8, also encrypted, PKCS#1 or SEC 1
	KeyPassword string // of an encrypted key
}

func (id Identity) empty() bool { return id.CertFile == "" && id.KeyFile == "" }

func (id Identity) files() []string {
	if id.empty() {
		return nil
	}
	return []string{id.CertFile, id.KeyFile}
}

// Load reads both files. A key that does not belong to the certificate is an error.
func (id Identity) Load() (tls.Certificate, error) {
	if id.CertFile == "" || id.KeyFile == "" {
		return tls.Certificate{}, ErrNoFile
	}
	chain, err := readFile(id.CertFile)
	if err != nil {
		return tls.Certificate{}, err
	}
	text, err := readFile(id.KeyFile)
	if err != nil {
		return tls.Certificate{}, err
	}
	key, err := parseKey(text, id.KeyPassword)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("%s: %w", id.KeyFile, err)
	}
	pair, err := tls.X509KeyPair(chain, key)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("%s with the key in %s: %w", id.CertFile, id.KeyFile, err)
	}
	return pair, nil
}

// readFile reads a file that may have no end.
func readFile(name string) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err == nil && len(text) > maxFile {
		err = fmt.Errorf("%s: more than %d bytes: give a file with certificates or a key in PEM form", name, maxFile)
	}
	return text, err
}

// LoadTrusted reads certificates to verify others by; nil, which stands for those that the system trusts, without a file.
func LoadTrusted(file string) (*x509.CertPool, error) {
	if file == "" {
		return nil, nil
	}
	text, err := readFile(file)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s: no certificate in PEM form", file)
	}
	return pool, nil
}

// parseKey finds the first private key in a PEM file and returns it as a PEM file without encryption.
func parseKey(text []byte, password string) ([]byte, error) {
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		switch block.Type {
		case "PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY":
			if block.Headers["DEK-Info"] != "" {
				return nil, errors.New(`a key encrypted in the old way of OpenSSL: convert it with "openssl pkcs8 -topk8"`)
			}
			return pem.EncodeToMemory(block), nil
		case "ENCRYPTED PRIVATE KEY":
			der, err := decryptKey(block.Bytes, password)
			return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), err
		}
	}
	return nil, ErrNoKey
}
