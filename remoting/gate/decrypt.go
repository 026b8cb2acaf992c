package gate

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/des"
	"crypto/pbkdf2"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"fmt"
	"hash"
)

// errEncryption is wrapped by errors about how a key is encrypted.
var errEncryption = errors.New("encryption of the key")

// maxIterations keeps a broken file from keeping a core busy for minutes. OpenSSL's default is 2,048, and advice for
// passwords of people is below a million.
const maxIterations = 10_000_000

// encryptedKey is EncryptedPrivateKeyInfo of RFC 5958.
type encryptedKey struct {
	Algorithm pkix.AlgorithmIdentifier
	Data      []byte
}

var (
	oidPBES2    = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 5, 13}
	oidPBKDF2   = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 5, 12}
	oidSHA3DES  = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 12, 1, 3} // pbeWithSHAAnd3-KeyTripleDES-CBC
	oidHMACSHA1 = asn1.ObjectIdentifier{1, 2, 840, 113549, 2, 7}
)

// decryptKey decrypts PKCS#8 in the two ways that Java reads and OpenSSL writes: PBES2 of RFC 8018, and the one with
// SHA-1 and triple DES of RFC 7292. It returns PKCS#8 without encryption.
func decryptKey(der []byte, password string) ([]byte, error) {
	var encrypted encryptedKey
	if rest, err := asn1.Unmarshal(der, &encrypted); err != nil || len(rest) > 0 {
		return nil, fmt.Errorf("%w: not EncryptedPrivateKeyInfo", errEncryption)
	}
	var mode cipher.BlockMode
	var err error
	switch algorithm := encrypted.Algorithm; {
	case algorithm.Algorithm.Equal(oidPBES2):
		mode, err = pbes2(algorithm.Parameters.FullBytes, password)
	case algorithm.Algorithm.Equal(oidSHA3DES):
		mode, err = sha3DES(algorithm.Parameters.FullBytes, password)
	default:
		return nil, fmt.Errorf("%w: algorithm %s is not supported", errEncryption, algorithm.Algorithm)
	}
	if err != nil {
		return nil, err
	}
	return decryptBlocks(mode, encrypted.Data)
}

// decryptBlocks decrypts and takes the padding off. A wrong password shows in the padding, or in what is behind it.
func decryptBlocks(mode cipher.BlockMode, data []byte) ([]byte, error) {
	size := mode.BlockSize()
	if len(data) == 0 || len(data)%size != 0 {
		return nil, fmt.Errorf("%w: %d bytes are not whole blocks", errEncryption, len(data))
	}
	plain := make([]byte, len(data))
	mode.CryptBlocks(plain, data)
	padding := int(plain[len(plain)-1])
	if padding == 0 || padding > size || !bytes.HasSuffix(plain, bytes.Repeat([]byte{byte(padding)}, padding)) {
		return nil, ErrKeyPassword
	}
	plain = plain[:len(plain)-padding]
	if _, err := x509.ParsePKCS8PrivateKey(plain); err != nil {
		return nil, ErrKeyPassword
	}
	return plain, nil
}

// pbes2 derives a key with PBKDF2.
func pbes2(params []byte, password string) (cipher.BlockMode, error) {
	var scheme struct{ Derivation, Encryption pkix.AlgorithmIdentifier }
	if _, err := asn1.Unmarshal(params, &scheme); err != nil {
		return nil, fmt.Errorf("%w: parameters of PBES2: %w", errEncryption, err)
	}
	if !scheme.Derivation.Algorithm.Equal(oidPBKDF2) {
		return nil, fmt.Errorf("%w: key derivation %s is not supported", errEncryption, scheme.Derivation.Algorithm)
	}
	var derivation struct {
		Salt       []byte
		Iterations int
		KeyLength  int                      `asn1:"optional"`
		PRF        pkix.AlgorithmIdentifier `asn1:"optional"`
	}
	if _, err := asn1.Unmarshal(scheme.Derivation.Parameters.FullBytes, &derivation); err != nil {
		return nil, fmt.Errorf("%w: parameters of PBKDF2: %w", errEncryption, err)
	}
	prf := derivation.PRF.Algorithm
	if len(prf) == 0 {
		prf = oidHMACSHA1
	}
	newHash, keySize, newCipher := hashOf(prf), cipherKeySize(scheme.Encryption.Algorithm), aes.NewCipher
	if scheme.Encryption.Algorithm.Equal(oid3DES) {
		newCipher = des.NewTripleDESCipher
	}
	var iv []byte
	if _, err := asn1.Unmarshal(scheme.Encryption.Parameters.FullBytes, &iv); err != nil || newHash == nil || keySize == 0 {
		return nil, fmt.Errorf("%w: cipher %s with %s is not supported", errEncryption, scheme.Encryption.Algorithm, prf)
	}
	if err := checkIterations(derivation.Iterations); err != nil {
		return nil, err
	}
	key, err := pbkdf2.Key(newHash, password, derivation.Salt, derivation.Iterations, keySize)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errEncryption, err)
	}
	return cbc(newCipher, key, iv)
}

var oid3DES = asn1.ObjectIdentifier{1, 2, 840, 113549, 3, 7}

// cipherKeySize returns the bytes of a key for a cipher in CBC mode, 0 when it is not supported.
func cipherKeySize(algorithm asn1.ObjectIdentifier) int {
	switch algorithm.String() {
	case "2.16.840.1.101.3.4.1.2":
		return 16
	case "2.16.840.1.101.3.4.1.22", oid3DES.String():
		return 24
	case "2.16.840.1.101.3.4.1.42":
		return 32
	}
	return 0
}

// hashOf returns the hash of an HMAC, nil when it is not supported.
func hashOf(hmac asn1.ObjectIdentifier) func() hash.Hash {
	switch hmac.String() {
	case oidHMACSHA1.String():
		return sha1.New
	case "1.2.840.113549.2.8":
		return sha256.New224
	case "1.2.840.113549.2.9":
		return sha256.New
	case "1.2.840.113549.2.10":
		return sha512.New384
	case "1.2.840.113549.2.11":
		return sha512.New
	}
	return nil
}

func cbc(newCipher func([]byte) (cipher.Block, error), key, iv []byte) (cipher.BlockMode, error) {
	block, err := newCipher(key)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errEncryption, err)
	}
	if len(iv) != block.BlockSize() {
		return nil, fmt.Errorf("%w: an initialisation vector of %d bytes", errEncryption, len(iv))
	}
	return cipher.NewCBCDecrypter(block, iv), nil
}

func checkIterations(n int) error {
	if n < 1 || n > maxIterations {
		return fmt.Errorf("%w: %d iterations", errEncryption, n)
	}
	return nil
}
