package protocol

import "errors"

var (
	// ErrFrame says that a frame breaks the framing or header rules. The stock server closes the connection without
	// an answer, since nothing after such a frame can be trusted.
	ErrFrame = errors.New("malformed frame")

	// ErrBody says that a body could not be decoded. It is answered with SystemError and changes nothing.
	ErrBody = errors.New("malformed body")

	// ErrTooLarge says that a compressed body inflates to more than MaxInflated bytes.
	ErrTooLarge = errors.New("inflated body is too large")

	// ErrCRC says that a registration body does not have the checksum its header names. Its text is the remark that
	// the stock server answers with.
	ErrCRC = errors.New("crc32 not match")

	// errSyntax is what the scanner reports; callers see it wrapped in ErrFrame or ErrBody.
	errSyntax = errors.New("invalid JSON")
)
