package gate

import (
	"bytes"
	"crypto/cipher"
	"crypto/des"
	"crypto/sha1"
	"encoding/asn1"
	"fmt"
	"math/big"
	"unicode/utf16"
)

// What derive makes, RFC 7292 B.3.
const (
	pkcs12ForKey byte = 1
	pkcs12ForIV  byte = 2
)

const (
	sha1Block    = 64 // bytes that SHA-1 takes at a time, v in RFC 7292
	tripleDESKey = 24 // bytes
)

// sha3DES derives a key and an initialisation vector for triple DES, RFC 7292 appendix C.
func sha3DES(params []byte, password string) (cipher.BlockMode, error) {
	var p struct {
		Salt       []byte
		Iterations int
	}
	if _, err := asn1.Unmarshal(params, &p); err != nil {
		return nil, fmt.Errorf("%w: parameters: %w", errEncryption, err)
	}
	if err := checkIterations(p.Iterations); err != nil {
		return nil, err
	}
	secret := pkcs12Secret{password: password, salt: p.Salt, iterations: p.Iterations}
	key := secret.derive(pkcs12ForKey, tripleDESKey)
	iv := secret.derive(pkcs12ForIV, des.BlockSize)
	return cbc(des.NewTripleDESCipher, key, iv)
}

// pkcs12Secret is what keys are derived from.
type pkcs12Secret struct {
	password   string
	salt       []byte
	iterations int
}

// derive makes size bytes, RFC 7292 B.2, with SHA-1. The names are those of the RFC.
func (s pkcs12Secret) derive(id byte, size int) []byte {
	d := bytes.Repeat([]byte{id}, sha1Block)
	i := append(fillBlocks(s.salt), fillBlocks(bmpString(s.password))...)
	var key []byte
	for len(key) < size {
		a := sha1.Sum(append(bytes.Clone(d), i...))
		for range s.iterations - 1 {
			a = sha1.Sum(a[:])
		}
		key = append(key, a[:]...)
		b := new(big.Int).SetBytes(bytes.Repeat(a[:], 4)[:sha1Block])
		b.Add(b, big.NewInt(1))
		for at := 0; at < len(i); at += sha1Block {
			addTo(i[at:at+sha1Block], b)
		}
	}
	return key[:size]
}

// fillBlocks repeats b until it fills whole blocks; nothing stays nothing.
func fillBlocks(b []byte) []byte {
	if len(b) == 0 {
		return nil
	}
	size := (len(b) + sha1Block - 1) / sha1Block * sha1Block
	return bytes.Repeat(b, size/len(b)+1)[:size]
}

// addTo adds n to the number in block and drops what does not fit.
func addTo(block []byte, n *big.Int) {
	sum := new(big.Int).SetBytes(block)
	sum.Add(sum, n)
	sum.SetBit(sum, 8*sha1Block, 0) // the carry
	sum.FillBytes(block)
}

// bmpString encodes text as Java and OpenSSL do for this: UTF-16, with a zero at the end.
func bmpString(text string) []byte {
	var b []byte
	for _, unit := range append(utf16.Encode([]rune(text)), 0) {
		b = append(b, byte(unit>>8), byte(unit))
	}
	return b
}
