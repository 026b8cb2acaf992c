package protocol

import (
	"encoding/binary"
	"errors"
	"math"
	"strings"
)

// appendBinaryHeader appends the header as RocketMQ's RocketMQSerializable writes it, with the fields sorted. The code
// has 16 bits there. Fields without a key or a value, and keys too long for their length, are left out.
func appendBinaryHeader(dst []byte, c *Command) []byte {
	dst = binary.BigEndian.AppendUint16(dst, uint16(c.Code))
	dst = append(dst, byte(c.Language))
	dst = binary.BigEndian.AppendUint16(dst, uint16(c.Version))
	dst = binary.BigEndian.AppendUint32(dst, uint32(c.Opaque))
	dst = binary.BigEndian.AppendUint32(dst, uint32(c.Flag))
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(c.Remark)))
	dst = append(dst, c.Remark...)
	length := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	var room [16]string
	for _, key := range sortedKeys(room[:0], c.ExtFields) {
		value := c.ExtFields[key]
		if key == "" || value == "" || len(key) > math.MaxInt16 {
			continue
		}
		dst = binary.BigEndian.AppendUint16(dst, uint16(len(key)))
		dst = append(dst, key...)
		dst = binary.BigEndian.AppendUint32(dst, uint32(len(value)))
		dst = append(dst, value...)
	}
	binary.BigEndian.PutUint32(dst[length:], uint32(len(dst)-length-4))
	return dst
}

var errBinaryHeader = errors.New("binary header shorter than its fields")

// binaryReader takes fields off the front of a header. After a field that does not fit, bad is set and all others are
// zero.
type binaryReader struct {
	rest []byte
	bad  bool
}

func (r *binaryReader) take(n int) []byte {
	if n < 0 || n > len(r.rest) {
		r.bad, r.rest = true, nil
		return nil
	}
	field := r.rest[:n]
	r.rest = r.rest[n:]
	return field
}

func (r *binaryReader) uint8() byte {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *binaryReader) int16() int16 {
	if b := r.take(2); b != nil {
		return int16(binary.BigEndian.Uint16(b))
	}
	return 0
}

func (r *binaryReader) int32() int32 {
	if b := r.take(4); b != nil {
		return int32(binary.BigEndian.Uint32(b))
	}
	return 0
}

func (r *binaryReader) text(n int) string {
	return strings.ToValidUTF8(string(r.take(n)), "\uFFFD")
}

// decodeBinaryHeader ignores bytes behind the last field, as the stock server does. A string of length 0 is null, so
// such a field is absent.
func decodeBinaryHeader(header []byte, c *Command, room map[string]string) error {
	r := binaryReader{rest: header}
	c.Code = Code(r.int16())
	c.Language = Language(r.uint8())
	c.Version = int32(r.int16())
	c.Opaque = r.int32()
	c.Flag = r.int32()
	c.Remark = r.text(int(r.int32()))
	clear(room)
	fields := binaryReader{rest: r.take(max(0, int(r.int32())))}
	for len(fields.rest) > 0 {
		key := fields.text(int(fields.int16()))
		value := fields.text(int(fields.int32()))
		if key == "" || value == "" {
			continue
		}
		if room == nil {
			room = map[string]string{}
		}
		room[key] = value
		c.ExtFields = room
	}
	if r.bad || fields.bad {
		return errBinaryHeader
	}
	return nil
}
