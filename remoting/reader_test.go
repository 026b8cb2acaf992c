package remoting

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"namesrv/remoting/protocol"
)

func lengthPrefixed(n int) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(n))
	for i := range n {
		b = append(b, byte(i*7))
	}
	return b
}

func TestFrameReader(t *testing.T) {
	sizes := []int{4, 5, 100, minReadBuffer - 4, minReadBuffer - 3, 9, maxReadBuffer - 4, maxReadBuffer - 3, 4, 300000, 4, 4}
	var stream []byte
	for _, n := range sizes {
		stream = append(stream, lengthPrefixed(n)...)
	}
	readers := map[string]io.Reader{
		"whole":         bytes.NewReader(stream),
		"byte by byte":  iotest.OneByteReader(bytes.NewReader(stream)),
		"halves":        iotest.HalfReader(bytes.NewReader(stream)),
		"data with EOF": iotest.DataErrReader(bytes.NewReader(stream)),
	}
	for name, src := range readers {
		t.Run(name, func(t *testing.T) {
			got, err := readAll(newFrameReader(src, protocol.MaxFrame))
			if !errors.Is(err, io.EOF) {
				t.Fatalf("ended with %v", err)
			}
			if diff := cmp.Diff(sizes, got); diff != "" {
				t.Errorf("sizes (-want +got):\n%s", diff)
			}
		})
	}
}

// readAll returns the sizes of all frames, after a look at what is in them.
func readAll(f *frameReader) (sizes []int, err error) {
	for {
		frame, _, err := f.next()
		if err != nil {
			return sizes, err
		}
		if frame != nil {
			if !bytes.Equal(frame, lengthPrefixed(len(frame))[4:]) {
				return sizes, errors.New("not what was sent")
			}
			sizes = append(sizes, len(frame))
			continue
		}
		if n, err := f.fill(); err != nil && n == 0 {
			return sizes, err
		}
	}
}

// Memory follows the bytes that have come, not the length they claim.
func TestFrameReaderTrustsNoLength(t *testing.T) {
	const limit = protocol.MaxFrame
	claim := binary.BigEndian.AppendUint32(nil, limit-4)
	for _, come := range []int{4, 100, 5000, 100000, 1 << 20} {
		stream := append(bytes.Clone(claim), make([]byte, come-4)...)
		f := newFrameReader(iotest.HalfReader(bytes.NewReader(stream)), limit)
		for {
			if frame, _, err := f.next(); frame != nil || err != nil {
				t.Fatalf("frame of %d bytes, %v", len(frame), err)
			}
			if _, err := f.fill(); err != nil {
				break
			}
			if held := cap(f.buf) + cap(f.large); held > 2*len(f.large)+2*minReadBuffer+maxReadBuffer {
				t.Fatalf("%d bytes held for %d that have come", held, len(f.large))
			}
		}
		if held := cap(f.buf) + cap(f.large); held > 2*come+3*minReadBuffer {
			t.Errorf("%d bytes held for %d that have come", held, come)
		}
	}
}

func TestFrameReaderRefuses(t *testing.T) {
	for _, total := range []int32{0, 3, -1, -1 << 31, 1021, 1<<31 - 1} {
		f := newFrameReader(bytes.NewReader(binary.BigEndian.AppendUint32(nil, uint32(total))), 1024)
		if _, err := f.fill(); err != nil {
			t.Fatal(err)
		}
		if _, _, err := f.next(); !errors.Is(err, protocol.ErrFrame) {
			t.Errorf("length %d: %v", total, err)
		}
	}
}
