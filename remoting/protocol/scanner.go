package protocol

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

// maxDepth bounds the nesting of input, so that a body of opening brackets cannot exhaust the stack. Real bodies nest
// five deep.
const maxDepth = 128

// scanner reads lenient JSON from front to back without building a tree. Its error is sticky: after the first one every
// method returns zero values and every iteration ends, so callers look at err (through end) once.
type scanner struct {
	data   []byte
	shared string // when not empty, a copy of data that strings are cut from
	pos    int
	depth  int
	err    error
}

// token is a scalar's text. at is its offset in data, or -1 when escapes made it a text of its own.
type token struct {
	bytes []byte
	at    int
}

// newScanner returns a scanner of data, whose broken UTF-8 it reads as U+FFFD.
func newScanner(data []byte) scanner {
	if !utf8.Valid(data) {
		data = bytes.ToValidUTF8(data, []byte("\uFFFD"))
	}
	return scanner{data: data}
}

// share makes one copy of the input that all strings taken from it are parts of. It saves an allocation for each, and
// keeps the whole copy alive as long as any of them is: it is for small inputs.
func (s *scanner) share() { s.shared = string(s.data) }

func (s *scanner) fail(what string) {
	if s.err == nil {
		s.err = fmt.Errorf("%w: %s at byte %d", errSyntax, what, s.pos)
	}
}

// end reports the first error, or that something other than blanks follows what was read.
func (s *scanner) end() error {
	if s.err == nil && (s.peek() != 0 || s.pos < len(s.data)) {
		s.fail("unexpected text after the value")
	}
	return s.err
}

// peek skips blanks and returns the next byte without consuming it; 0 at the end and after an error.
func (s *scanner) peek() byte {
	if s.err != nil {
		return 0
	}
	for s.pos < len(s.data) {
		switch c := s.data[s.pos]; c {
		case ' ', '\t', '\n', '\r', '\f', '\b':
			s.pos++
		default:
			return c
		}
	}
	return 0
}

func (s *scanner) open(bracket byte) {
	if s.peek() != bracket {
		s.fail("expected " + string(bracket))
		return
	}
	s.pos++
	if s.depth++; s.depth > maxDepth {
		s.fail("nested too deeply")
	}
}

// follow moves to the next entry of an object or array and reports whether there is one; more says that one was there
// before, which a comma must then separate.
func (s *scanner) follow(closing byte, more bool) bool {
	c := s.peek()
	if c == closing {
		s.pos++
		s.depth--
		return false
	}
	if more {
		if c != ',' {
			s.fail("expected a comma")
			return false
		}
		s.pos++
	}
	return s.err == nil
}

// members walks over the members of an object:
//
//	for m := s.object(); m.next(); { switch string(m.key.bytes) { … default: s.skip() } }
//
// Each round must consume the value that follows the key.
type members struct {
	s    *scanner
	key  token
	more bool
}

func (s *scanner) object() members {
	s.open('{')
	return members{s: s}
}

func (m *members) next() bool {
	s := m.s
	if !s.follow('}', m.more) {
		return false
	}
	m.more = true
	m.key = s.name()
	if s.peek() != ':' {
		s.fail("expected a colon")
		return false
	}
	s.pos++
	return true
}

// elements walks over the elements of an array as members does over an object's.
type elements struct {
	s    *scanner
	more bool
}

func (s *scanner) array() elements {
	s.open('[')
	return elements{s: s}
}

func (e *elements) next() bool {
	ok := e.s.follow(']', e.more)
	e.more = true
	return ok
}

// skip consumes one value of any kind.
func (s *scanner) skip() {
	switch s.peek() {
	case '{':
		for m := s.object(); m.next(); {
			s.skip()
		}
	case '[':
		for e := s.array(); e.next(); {
			s.skip()
		}
	default:
		s.scalar()
	}
}
