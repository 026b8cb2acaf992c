package protocol

import (
	"hash/crc32"
	"strconv"
)

// CheckCRC compares a registration body with the header field bodyCrc32: the CRC-32 of the body as sent, without its
// top bit. A field that is absent, 0 or not a 32-bit integer means "not checked", as in RocketMQ's
// DefaultRequestProcessor; an absent body has the checksum 0. The error is ErrCRC itself.
func CheckCRC(body []byte, fields map[string]string) error {
	want, err := strconv.ParseInt(fields["bodyCrc32"], 10, 32)
	if err != nil || want == 0 {
		return nil
	}
	if int64(crc32.ChecksumIEEE(body)&0x7fffffff) != want {
		return ErrCRC
	}
	return nil
}
