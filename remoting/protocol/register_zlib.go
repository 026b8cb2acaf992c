package protocol

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"sync"
)

// MaxInflated is how many bytes a compressed body may inflate to.
const MaxInflated = 64 << 20

// maxText is how long one text in a compressed body may be. Real ones have some hundred bytes; without a bound of its own
// a single text could make the whole of MaxInflated be held at once, several times over.
const maxText = 1 << 20

// decodeCompressed reads RocketMQ's RegisterBrokerBody.encode: a zlib stream of length-prefixed texts. It is read as it
// inflates, so a body that is wrong or a bomb costs what was read of it.
func (b *RegisterBody) decodeCompressed(body []byte, version int32) error {
	in, err := newInflater(body)
	if err != nil {
		return err
	}
	defer in.release()
	if err := b.sections(in, version); err != nil {
		return err
	}
	// What is left is not looked at, but the checksum at its end must be right.
	if _, err := io.Copy(io.Discard, in.buf); err != nil {
		return err
	}
	return b.check()
}

func (b *RegisterBody) sections(in *inflater, version int32) error {
	text, err := in.chunk()
	if err != nil {
		return err
	}
	if b.DataVersion, err = ParseDataVersion(text); err != nil {
		return err
	}
	if err := b.readTopics(in); err != nil {
		return err
	}
	if text, err = in.chunk(); err != nil {
		return err
	}
	b.Filters = filterList(text)
	// Older senders have no such section: whatever follows is not theirs to be read.
	if version < V5_0_0 {
		return nil
	}
	return b.readMappings(in)
}

func (b *RegisterBody) readTopics(in *inflater) error {
	count, err := in.int32()
	for ; err == nil && count > 0; count-- {
		var text []byte
		if text, err = in.chunk(); err != nil {
			break
		}
		var topic TopicConfig
		if topic, err = parseTopicText(text); err == nil {
			b.Topics = append(b.Topics, topic)
		}
	}
	return err
}

func (b *RegisterBody) readMappings(in *inflater) error {
	count, err := in.int32()
	for ; err == nil && count > 0; count-- {
		var text []byte
		if text, err = in.chunk(); err != nil {
			break
		}
		s := newScanner(text)
		q := s.mapping()
		if err = s.end(); err == nil {
			b.Mappings = append(b.Mappings, q)
		}
	}
	return err
}

// filterList decodes the filter servers; what is no array of strings is an empty list, as for the stock server.
func filterList(text []byte) []string {
	s := newScanner(text)
	list := s.strings()
	if s.end() != nil {
		return nil
	}
	return list
}

// parseTopicText reads "name readQueueNums writeQueueNums perm filterType [attributes]", RocketMQ's TopicConfig.encode.
// Attributes are not used here, and may themselves hold blanks.
func parseTopicText(text []byte) (TopicConfig, error) {
	name, rest, _ := bytes.Cut(bytes.ToValidUTF8(text, []byte("\uFFFD")), []byte{' '})
	t := TopicConfig{Name: string(name)}
	for _, n := range []*int32{&t.ReadQueueNums, &t.WriteQueueNums, &t.Perm} {
		var field []byte
		field, rest, _ = bytes.Cut(rest, []byte{' '})
		v, ok := parseInt(field)
		if !ok || v < math.MinInt32 || v > math.MaxInt32 {
			return t, fmt.Errorf("topic text %.80q: no number in %.20q", text, field)
		}
		*n = int32(v)
	}
	if filter, _, _ := bytes.Cut(rest, []byte{' '}); string(filter) != "SINGLE_TAG" && string(filter) != "MULTI_TAG" {
		return t, fmt.Errorf("topic text %.80q: filter type %.20q", text, filter)
	}
	return t, nil
}

// inflater reads length-prefixed chunks of a zlib stream.
type inflater struct {
	src   bytes.Reader
	zip   io.ReadCloser
	left  int64
	buf   *bufio.Reader
	large bytes.Buffer
}

// inflaters keeps inflaters for reuse: one weighs about 60 kB, and a broker registers with every name server.
var inflaters sync.Pool

func newInflater(body []byte) (*inflater, error) {
	in, _ := inflaters.Get().(*inflater)
	if in == nil {
		in = &inflater{buf: bufio.NewReaderSize(nil, 16<<10)}
	}
	in.src.Reset(body)
	if err := in.start(); err != nil {
		return nil, err
	}
	in.left = MaxInflated
	in.buf.Reset(readerFunc(in.inflate))
	return in, nil
}

// start reads the header of the stream.
func (in *inflater) start() (err error) {
	if in.zip == nil {
		in.zip, err = zlib.NewReader(&in.src)
		return err
	}
	return in.zip.(zlib.Resetter).Reset(&in.src, nil)
}

// release gives the inflater back; it must not keep the body alive.
func (in *inflater) release() {
	in.src.Reset(nil)
	in.large = bytes.Buffer{}
	inflaters.Put(in)
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// inflate reads from the zlib stream up to the limit.
func (in *inflater) inflate(p []byte) (int, error) {
	n, err := in.zip.Read(p)
	if in.left -= int64(n); in.left < 0 {
		return 0, ErrTooLarge
	}
	return n, err
}

func (in *inflater) int32() (int32, error) {
	b, err := in.buf.Peek(4)
	if err != nil {
		return 0, noEOF(err)
	}
	n := int32(binary.BigEndian.Uint32(b))
	_, err = in.buf.Discard(4)
	return n, err
}

// chunk returns the next length-prefixed text, which is valid until the next call. A length is only believed as far as
// bytes come.
func (in *inflater) chunk() ([]byte, error) {
	n, err := in.int32()
	if err != nil {
		return nil, err
	}
	if n < 0 {
		return nil, errors.New("negative length " + strconv.Itoa(int(n)))
	}
	if n > maxText {
		return nil, fmt.Errorf("%w: one text of %d bytes", ErrTooLarge, n)
	}
	if int(n) > in.buf.Size() {
		in.large.Reset()
		_, err := io.CopyN(&in.large, in.buf, int64(n))
		return in.large.Bytes(), noEOF(err)
	}
	return in.peeled(int(n))
}

func (in *inflater) peeled(n int) ([]byte, error) {
	b, err := in.buf.Peek(n)
	if err != nil {
		return nil, noEOF(err)
	}
	_, err = in.buf.Discard(n)
	return b, err
}

// noEOF makes the end of input an error of the body: more was promised.
func noEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
