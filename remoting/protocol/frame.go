package protocol

import (
	"encoding/binary"
	"fmt"
)

const (
	// MaxFrame is the default limit of a whole frame in bytes, its length field included: RocketMQ's
	// com.rocketmq.remoting.frameMaxLength. Stock peers apply it to what they receive.
	MaxFrame = 16 << 20

	// maxHeader is what the 24-bit header length can say.
	maxHeader = 1<<24 - 1

	// sharedHeader is the size up to which the strings of a header share one copy of it.
	sharedHeader = 4 << 10
)

// AppendFrame appends the whole frame of c, the 4-byte length included. It allocates nothing beyond the growth of dst,
// unless there are more than 16 ExtFields. A header too long for the wire is replaced by one that says so with
// SystemError, so that the peer gets an answer rather than a frame that it cannot read.
func AppendFrame(dst []byte, c *Command) []byte {
	start := len(dst)
	dst = append(dst, 0, 0, 0, 0, byte(c.Serialize), 0, 0, 0)
	if c.Serialize == RocketMQ {
		dst = appendBinaryHeader(dst, c)
	} else {
		dst = appendJSONHeader(dst, c)
	}
	header := len(dst) - start - 8
	if header > maxHeader {
		return AppendFrame(dst[:start], &Command{
			Code: SystemError, Language: c.Language, Version: c.Version, Opaque: c.Opaque, Flag: c.Flag,
			Remark: "the header of the answer is too long", Serialize: c.Serialize,
		})
	}
	dst = append(dst, c.Body...)
	binary.BigEndian.PutUint32(dst[start:], uint32(len(dst)-start-4))
	dst[start+5], dst[start+6], dst[start+7] = byte(header>>16), byte(header>>8), byte(header)
	return dst
}

// DecodeFrame decodes what follows the 4-byte length of a frame, which must be all of it. The command's Body aliases
// frame, its strings do not. Every error is ErrFrame and means that the connection cannot be used any more.
func DecodeFrame(frame []byte) (*Command, error) {
	c := new(Command)
	if err := c.Decode(frame); err != nil {
		return nil, err
	}
	return c, nil
}

// Decode is DecodeFrame into a command that is used again. All of c is overwritten, and the map that it has for its
// ExtFields is cleared and reused; strings taken from it before stay valid. After an error c is of no use but for the
// next Decode.
func (c *Command) Decode(frame []byte) error {
	if len(frame) < 4 {
		return fmt.Errorf("%w: %d bytes have no room for a header length", ErrFrame, len(frame))
	}
	n := int(frame[1])<<16 | int(frame[2])<<8 | int(frame[3])
	if n > len(frame)-4 {
		return fmt.Errorf("%w: header of %d bytes in a frame of %d", ErrFrame, n, len(frame))
	}
	header, body := frame[4:4+n], frame[4+n:]
	fields := c.ExtFields
	*c = Command{Serialize: SerializeType(frame[0])}
	var err error
	switch c.Serialize {
	case JSON:
		if !decodeJavaHeader(header, c, fields) {
			*c = Command{Serialize: JSON}
			err = decodeJSONHeader(header, c, fields)
		}
	case RocketMQ:
		err = decodeBinaryHeader(header, c, fields)
	default:
		err = fmt.Errorf("serialize type %d", c.Serialize)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrFrame, err)
	}
	if len(body) > 0 {
		c.Body = body
	}
	c.Version = min(c.Version, MaxVersion)
	return nil
}
