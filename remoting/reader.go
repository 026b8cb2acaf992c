package remoting

import (
	"encoding/binary"
	"fmt"
	"io"
	"slices"

	"namesrv/remoting/protocol"
)

const (
	// minReadBuffer is what an idle connection keeps.
	minReadBuffer = 4 << 10

	// maxReadBuffer bounds the buffer that a connection reuses. A frame that does not fit gets memory of its own.
	maxReadBuffer = 64 << 10
)

// frameReader cuts a stream into frames. It never reserves more than twice the bytes that have arrived.
type frameReader struct {
	src io.Reader
	max int // largest frame, its length field included

	buf  []byte
	r, w int // buf[r:w] has been read and not yet returned

	large []byte // a frame that does not fit into buf, as far as it has arrived
	size  int    // and what it will be, its length field included; 0 when there is none
}

func newFrameReader(src io.Reader, limit int) *frameReader {
	return &frameReader{src: src, max: limit, buf: make([]byte, minReadBuffer)}
}

// next returns the next frame that has arrived completely, without its length field; nil when more must be read first.
// owned says that the frame's memory is the caller's to keep; otherwise it is valid until fill.
func (f *frameReader) next() (frame []byte, owned bool, err error) {
	if f.size > 0 {
		return f.nextLarge(), true, nil
	}
	avail := f.buf[f.r:f.w]
	if len(avail) < 4 {
		return nil, false, nil
	}
	total := int(int32(binary.BigEndian.Uint32(avail)))
	if total < 4 || total > f.max-4 {
		return nil, false, fmt.Errorf("%w: length %d", protocol.ErrFrame, total)
	}
	size := total + 4
	if len(avail) >= size {
		f.r += size
		return avail[4:size:size], false, nil
	}
	if size > maxReadBuffer {
		f.size = size
		f.large = append(make([]byte, 0, min(size, max(2*len(avail), minReadBuffer))), avail...)
		f.r, f.w = 0, 0
	}
	return nil, false, nil
}

func (f *frameReader) nextLarge() []byte {
	if len(f.large) < f.size {
		return nil
	}
	frame := f.large[4:]
	f.large, f.size = nil, 0
	return frame
}

// partial reports whether a frame has begun to arrive, when next had nothing.
func (f *frameReader) partial() bool { return f.size > 0 || f.r < f.w }

// fill reads once. It must be called only when next had nothing. After an error that passes, such as a deadline, it may
// be called again.
func (f *frameReader) fill() (int, error) {
	if f.size > 0 {
		return f.fillLarge()
	}
	f.makeRoom()
	n, err := f.src.Read(f.buf[f.w:])
	f.w += n
	return n, err
}

func (f *frameReader) makeRoom() {
	switch {
	case f.r == f.w:
		f.r, f.w = 0, 0
	case f.w < len(f.buf):
	case f.r > 0:
		f.w = copy(f.buf, f.buf[f.r:f.w])
		f.r = 0
	default:
		f.buf = append(make([]byte, 0, 2*len(f.buf)), f.buf...)[:2*len(f.buf)]
	}
}

func (f *frameReader) fillLarge() (int, error) {
	have := len(f.large)
	if have == cap(f.large) {
		grown := make([]byte, have, min(f.size, 2*have))
		copy(grown, f.large)
		f.large = grown
	}
	n, err := f.src.Read(f.large[have:cap(f.large)])
	f.large = f.large[:have+n]
	return n, err
}

// decode decodes a frame as next returned it into cmd, which then does not alias the reader's buffer.
func decode(cmd *protocol.Command, frame []byte, owned bool) error {
	if err := cmd.Decode(frame); err != nil {
		return err
	}
	if !owned && cmd.Body != nil {
		cmd.Body = slices.Clone(cmd.Body)
	}
	return nil
}
