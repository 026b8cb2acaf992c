package protocol

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/bits"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// str returns the token's text as a string that does not alias the input.
func (s *scanner) str(t token) string {
	if s.shared != "" && t.at >= 0 {
		return s.shared[t.at : t.at+len(t.bytes)]
	}
	return string(t.bytes)
}

// name consumes a member's name: quoted, or bare as fastjson writes integer keys.
func (s *scanner) name() token {
	if c := s.peek(); c == '"' || c == '\'' {
		return s.quoted(c)
	}
	return s.bare("expected a member name")
}

// scalar consumes a string, a number, true, false or null and returns its text. An object or array is consumed too, and
// its text returned as it stands: that is what the stock server makes of one where it wants a string.
func (s *scanner) scalar() token {
	switch c := s.peek(); c {
	case '"', '\'':
		return s.quoted(c)
	case '{', '[':
		start := s.pos
		s.skip()
		if s.err != nil {
			return token{at: -1}
		}
		return token{bytes: s.data[start:s.pos], at: start}
	}
	tok := s.bare("expected a value")
	if s.err == nil && !isLiteral(tok.bytes) {
		s.fail("expected a value")
	}
	return tok
}

// bare consumes everything up to the next delimiter.
func (s *scanner) bare(expected string) token {
	s.peek()
	start := s.pos
	for s.pos < len(s.data) && !delimiter[s.data[s.pos]] {
		s.pos++
	}
	if s.pos == start {
		s.fail(expected)
	}
	return token{bytes: s.data[start:s.pos], at: start}
}

var delimiter = func() (t [256]bool) {
	for c := range 0x21 {
		t[c] = true
	}
	for _, c := range []byte(`:,{}[]"'`) {
		t[c] = true
	}
	return t
}()

// isLiteral reports whether a bare word is true, false, null or made of what numbers are made of.
func isLiteral(word []byte) bool {
	if word[0] != '-' && (word[0] < '0' || word[0] > '9') {
		return string(word) == "true" || string(word) == "false" || string(word) == "null"
	}
	for _, c := range word[1:] {
		if (c < '0' || c > '9') && c != '.' && c != 'e' && c != 'E' && c != '+' && c != '-' {
			return false
		}
	}
	return true
}

func (s *scanner) quoted(quote byte) token {
	s.pos++
	start := s.pos
	end := start + indexEnd(s.data[start:], quote)
	if end >= len(s.data) {
		s.fail("string without an end")
		return token{at: -1}
	}
	if s.data[end] == '\\' {
		return token{bytes: s.unescape(quote), at: -1}
	}
	s.pos = end + 1
	return token{bytes: s.data[start:end], at: start}
}

// indexEnd returns where the first quote or backslash is; len(b) when there is neither. It looks at eight bytes at a
// time: most strings are short, and a call of bytes.IndexByte for each of the two costs more.
func indexEnd(b []byte, quote byte) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	i := 0
	for ; i+8 <= len(b); i += 8 {
		word := binary.LittleEndian.Uint64(b[i:])
		q, e := word^ones*uint64(quote), word^ones*'\\'
		// The lowest bit of each is where the first byte of q or e is 0.
		if hit := ((q-ones)&^q | (e-ones)&^e) & highs; hit != 0 {
			return i + bits.TrailingZeros64(hit)/8
		}
	}
	for i < len(b) && b[i] != quote && b[i] != '\\' {
		i++
	}
	return i
}

// unescape consumes the rest of a string that holds escapes, and its closing quote.
func (s *scanner) unescape(quote byte) []byte {
	var text []byte
	for s.err == nil {
		rest := s.data[s.pos:]
		n := bytes.IndexAny(rest, `"'\`)
		if n < 0 {
			break
		}
		text = append(text, rest[:n]...)
		s.pos += n + 1
		switch rest[n] {
		case quote:
			return text
		case '\\':
			text = s.escape(text)
		default:
			text = append(text, rest[n])
		}
	}
	s.fail("string without an end")
	return nil
}

// escape consumes what follows a backslash and appends what it stands for.
func (s *scanner) escape(text []byte) []byte {
	if s.pos >= len(s.data) {
		return text
	}
	c := s.data[s.pos]
	s.pos++
	switch c {
	case '"', '\'', '\\', '/':
		return append(text, c)
	case 'b':
		return append(text, '\b')
	case 't':
		return append(text, '\t')
	case 'n':
		return append(text, '\n')
	case 'v':
		return append(text, '\v')
	case 'f':
		return append(text, '\f')
	case 'r':
		return append(text, '\r')
	case 'x':
		return utf8.AppendRune(text, s.hex(2))
	case 'u':
		return utf8.AppendRune(text, s.unicode())
	}
	s.fail("unknown escape")
	return text
}

// unicode consumes the digits of \uXXXX, and a second escape when the two are a surrogate pair. Half a pair is U+FFFD.
func (s *scanner) unicode() rune {
	r := s.hex(4)
	if !utf16.IsSurrogate(r) || !bytes.HasPrefix(s.data[s.pos:], []byte(`\u`)) {
		return r
	}
	mark := s.pos
	s.pos += 2
	if pair := utf16.DecodeRune(r, s.hex(4)); pair != utf8.RuneError {
		return pair
	}
	s.pos = mark
	return utf8.RuneError
}

func (s *scanner) hex(digits int) rune {
	if s.pos+digits > len(s.data) {
		s.fail("short escape")
		return utf8.RuneError
	}
	n, err := strconv.ParseUint(string(s.data[s.pos:s.pos+digits]), 16, 32)
	if err != nil {
		s.fail("escape that is not hexadecimal")
		return utf8.RuneError
	}
	s.pos += digits
	return rune(n)
}

// null consumes a null and reports whether there was one.
func (s *scanner) null() bool {
	if s.peek() != 'n' {
		return false
	}
	if tok := s.bare("expected a value"); string(tok.bytes) != "null" {
		s.fail("expected a value")
		return false
	}
	return true
}

// string consumes a scalar as text; null is "".
func (s *scanner) string() string {
	if s.null() {
		return ""
	}
	return s.str(s.scalar())
}

// bool consumes a boolean; only "true" in any case, and numbers other than 0, are true.
func (s *scanner) bool() bool {
	tok := s.scalar()
	if n, ok := parseInt(tok.bytes); ok {
		return n != 0
	}
	return bytes.EqualFold(tok.bytes, []byte("true"))
}

// int64 consumes an integer, which may be quoted; null and an empty string leave the default.
func (s *scanner) int64(def int64) int64 {
	tok := s.scalar()
	if n, ok := parseInt(tok.bytes); ok {
		return n
	}
	return s.oddInt(tok, def)
}

// oddInt is int64 for texts that are no plain integer.
func (s *scanner) oddInt(tok token, def int64) int64 {
	text := string(bytes.TrimSpace(tok.bytes))
	if text == "" || text == "null" {
		return def
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(f) || f < math.MinInt64 || f >= math.MaxInt64 {
		s.fail("expected an integer")
		return 0
	}
	return int64(f)
}

// int32 is int64 for members of 32 bits: a greater value is an error.
func (s *scanner) int32(def int32) int32 {
	n := s.int64(int64(def))
	if n != int64(int32(n)) {
		s.fail("integer out of range")
		return 0
	}
	return int32(n)
}

// parseInt reads a decimal integer of at most 18 digits, which is what nearly all are; the rest is for strconv.
func parseInt(text []byte) (int64, bool) {
	digits := text
	if len(digits) > 0 && digits[0] == '-' {
		digits = digits[1:]
	}
	if len(digits) == 0 {
		return 0, false
	}
	if len(digits) > 18 {
		n, err := strconv.ParseInt(string(text), 10, 64)
		return n, err == nil
	}
	var n int64
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	if len(digits) < len(text) {
		n = -n
	}
	return n, true
}
