package protocol

import "unicode/utf8"

// Dialect is one of the two ways in which the stock server writes JSON. They differ in integer keys and escapes only.
type Dialect int

const (
	// Legacy is fastjson's own: integer keys are bare, "/" and non-ASCII text are raw. Headers and every body except
	// a route for a new client are written in it.
	Legacy Dialect = iota

	// Standard quotes integer keys and writes "/" as "\/" and non-ASCII text as \uXXXX.
	Standard
)

// DialectFor returns the dialect of a route's body for a client: Standard from RocketMQ 4.9.4 on, or when an older one
// asks for it with acceptStandardJsonOnly.
func DialectFor(version int32, acceptStandardOnly bool) Dialect {
	if version >= V4_9_4 || acceptStandardOnly {
		return Standard
	}
	return Legacy
}

// plain[d][c] says that dialect d writes byte c of a string as it is and that c is a character of its own.
var plain = func() (t [2][256]bool) {
	for c := byte(0x20); c < 0x7f; c++ {
		t[Legacy][c] = c != '"' && c != '\\'
		t[Standard][c] = t[Legacy][c] && c != '/'
	}
	return t
}()

const upperHex = "0123456789ABCDEF"

// appendString appends s as a quoted JSON string.
func appendString(dst []byte, s string, d Dialect) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		if plain[d][s[i]] {
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if d == Legacy && rawInLegacy(r, size) {
			i += size
			continue
		}
		dst = append(dst, s[start:i]...)
		dst = appendEscape(dst, r, d)
		i += size
		start = i
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

// rawInLegacy reports whether the Legacy dialect writes r, which is not plain, without an escape. A broken byte is not
// written as it is.
func rawInLegacy(r rune, size int) bool {
	return r > 0x9f && r != 0x2028 && r != 0x2029 && (r != utf8.RuneError || size > 1)
}

func appendEscape(dst []byte, r rune, d Dialect) []byte {
	switch r {
	case '"', '\\', '/':
		return append(dst, '\\', byte(r))
	case '\b':
		return append(dst, '\\', 'b')
	case '\t':
		return append(dst, '\\', 't')
	case '\n':
		return append(dst, '\\', 'n')
	case '\f':
		return append(dst, '\\', 'f')
	case '\r':
		return append(dst, '\\', 'r')
	case utf8.RuneError:
		if d == Legacy {
			return utf8.AppendRune(dst, r)
		}
	}
	if r > 0xffff {
		r -= 0x10000
		dst = appendUnit(dst, 0xd800+r>>10)
		return appendUnit(dst, 0xdc00+r&0x3ff)
	}
	return appendUnit(dst, r)
}

// appendUnit appends one UTF-16 code unit as \uXXXX.
func appendUnit(dst []byte, u rune) []byte {
	return append(dst, '\\', 'u', upperHex[u>>12&15], upperHex[u>>8&15], upperHex[u>>4&15], upperHex[u&15])
}
