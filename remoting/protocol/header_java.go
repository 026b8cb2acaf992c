package protocol

import (
	"bytes"
	"unicode/utf8"
)

// decodeJavaHeader decodes a header that has exactly the members, order and spelling of what RocketMQ's Java side writes
// for a request without a remark: nearly all headers that a name server gets. It reports false for any other, and what
// it has put into c and room by then is of no use. It does nothing that decodeJSONHeader would not do, in a fifth of the
// time.
func decodeJavaHeader(header []byte, c *Command, room map[string]string) bool {
	r := javaHeader{rest: header}
	r.literal(`{"code":`)
	c.Code = Code(r.int32())
	if bytes.HasPrefix(r.rest, []byte(`,"extFields":{`)) {
		r.literal(`,"extFields":{`)
		c.ExtFields = r.fields(room)
	}
	r.literal(`,"flag":`)
	c.Flag = r.int32()
	r.literal(`,"language":"JAVA","opaque":`)
	c.Language = Java
	c.Opaque = r.int32()
	r.literal(`,"serializeTypeCurrentRPC":"JSON","version":`)
	c.Version = r.int32()
	r.literal(`}`)
	return !r.odd && len(r.rest) == 0
}

// javaHeader is what is left to read, and whether something else than expected was met. Nothing is left then.
type javaHeader struct {
	rest []byte
	odd  bool
}

func (r *javaHeader) literal(text string) {
	if len(r.rest) < len(text) || string(r.rest[:len(text)]) != text {
		*r = javaHeader{odd: true}
		return
	}
	r.rest = r.rest[len(text):]
}

// int32 reads at most nine digits, which no overflow can come of.
func (r *javaHeader) int32() int32 {
	sign, n, i := int32(1), int32(0), 0
	if len(r.rest) > 0 && r.rest[0] == '-' {
		sign, i = -1, 1
	}
	first := i
	for i < len(r.rest) && r.rest[i]-'0' <= 9 && i-first < 9 {
		n = n*10 + int32(r.rest[i]-'0')
		i++
	}
	r.odd = r.odd || i == first
	r.rest = r.rest[i:]
	return sign * n
}

// fields reads strings without escapes up to the end of the object. They share one copy of its text.
func (r *javaHeader) fields(room map[string]string) map[string]string {
	if room == nil {
		room = map[string]string{}
	}
	clear(room)
	end := bytes.IndexByte(r.rest, '}')
	if end < 0 || !utf8.Valid(r.rest[:end]) {
		*r = javaHeader{odd: true}
		return room
	}
	text := string(r.rest[:end])
	r.rest = r.rest[end+1:]
	for n := 0; text != ""; n++ {
		key, value, rest, ok := cutField(text, n > 0)
		if !ok {
			r.odd = true
			break
		}
		room[key], text = value, rest
	}
	return room
}

// cutField cuts a name and its value off the front of text, and the comma before them.
func cutField(text string, comma bool) (key, value, rest string, ok bool) {
	if comma {
		if text[0] != ',' {
			return "", "", text, false
		}
		text = text[1:]
	}
	key, rest, ok = cutQuoted(text)
	if !ok || rest == "" || rest[0] != ':' {
		return "", "", text, false
	}
	value, rest, ok = cutQuoted(rest[1:])
	return key, value, rest, ok
}

// cutQuoted cuts a quoted string without escapes off the front of text.
func cutQuoted(text string) (quoted, rest string, ok bool) {
	if text == "" || text[0] != '"' {
		return "", text, false
	}
	for i := 1; i < len(text) && text[i] != '\\'; i++ {
		if text[i] == '"' {
			return text[1:i], text[i+1:], true
		}
	}
	return "", text, false
}
