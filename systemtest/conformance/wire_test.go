package conformance

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"strings"
	"testing"
	"time"
)

const (
	answerLimit = 10 * time.Second // an answer that takes longer counts as none
	closeLimit  = 5 * time.Second  // for a server to close a connection
	maxFrame    = 16 << 20
	raceLimit   = 20 // times that a question is asked again, see [answer.raced]
)

// Bits of the flag of a frame.
const (
	flagAnswer = 1
	flagOneWay = 2
)

// request is one frame to send.
type request struct {
	code    int
	fields  map[string]string // nil: none
	body    []byte
	version int
	binary  bool // header in the ROCKETMQ form
	flag    int
	opaque  int32
}

// as returns the request in another header form and version.
func (q request) as(version int, binary bool) request {
	q.version, q.binary = version, binary
	return q
}

// with returns the request with one more field.
func (q request) with(name, value string) request {
	q.fields = maps.Clone(q.fields)
	if q.fields == nil {
		q.fields = map[string]string{}
	}
	q.fields[name] = value
	return q
}

// without returns the request with one field less.
func (q request) without(name string) request {
	q.fields = maps.Clone(q.fields)
	delete(q.fields, name)
	return q
}

func (q request) encode() []byte {
	if q.binary {
		return frame(1, q.binaryHeader(), q.body)
	}
	header := map[string]any{"code": q.code, "language": "JAVA", "version": q.version, "opaque": q.opaque, "flag": q.flag}
	if q.fields != nil {
		header["extFields"] = q.fields
	}
	return frame(0, mustJSON(header), q.body)
}

func (q request) binaryHeader() []byte {
	h := binary.BigEndian.AppendUint16(nil, uint16(q.code))
	h = append(h, 0) // JAVA
	h = binary.BigEndian.AppendUint16(h, uint16(q.version))
	h = binary.BigEndian.AppendUint32(h, uint32(q.opaque))
	h = binary.BigEndian.AppendUint32(h, uint32(q.flag))
	h = binary.BigEndian.AppendUint32(h, 0) // no remark
	var fields []byte
	for _, name := range slices.Sorted(maps.Keys(q.fields)) {
		fields = append(binary.BigEndian.AppendUint16(fields, uint16(len(name))), name...)
		fields = append(binary.BigEndian.AppendUint32(fields, uint32(len(q.fields[name]))), q.fields[name]...)
	}
	return append(binary.BigEndian.AppendUint32(h, uint32(len(fields))), fields...)
}

// frame puts the lengths and the form of the header in front.
func frame(form byte, header, body []byte) []byte {
	out := binary.BigEndian.AppendUint32(nil, uint32(4+len(header)+len(body)))
	out = binary.BigEndian.AppendUint32(out, uint32(form)<<24|uint32(len(header)))
	return append(append(out, header...), body...)
}

// answer is one frame that came back, or why none did.
type answer struct {
	end string // "" when there is an answer

	form   byte
	header []byte
	body   []byte

	Code      int               `json:"code"`
	Fields    map[string]string `json:"extFields"` // nil: none; empty: {}
	Flag      int               `json:"flag"`
	Language  string            `json:"language"`
	Opaque    int32             `json:"opaque"`
	Remark    *string           `json:"remark"`
	Serialize string            `json:"serializeTypeCurrentRPC"`
	Version   int               `json:"version"`
}

// conn is one connection. It is used by one goroutine, which reads answers itself.
type conn struct {
	nc     net.Conn
	opaque int32
}

func dial(addr string) (*conn, error) {
	nc, err := net.DialTimeout("tcp", addr, answerLimit)
	if err != nil {
		return nil, err
	}
	return &conn{nc: nc}, nil
}

func (c *conn) close() { c.nc.Close() }

// send writes a request and gives it a number.
func (c *conn) send(q request) (int32, error) {
	c.opaque++
	q.opaque = c.opaque
	return q.opaque, c.write(q.encode())
}

func (c *conn) write(raw []byte) error {
	_ = c.nc.SetWriteDeadline(time.Now().Add(answerLimit))
	_, err := c.nc.Write(raw)
	return err
}

// call sends a request and reads its answer. It asks again where the stock server met itself, see [answer.raced].
func (c *conn) call(q request) answer {
	a := c.callOnce(q)
	for again := 0; again < raceLimit && a.raced(); again++ {
		a = c.callOnce(q)
	}
	return a
}

// raced tells whether the stock server failed since another scenario changed its tables meanwhile: it writes the answer to
// 106 from its live maps, after it has let go of their lock (RouteInfoManager.getAllClusterInfo).
func (a answer) raced() bool {
	return a.Code == systemError && a.Remark != nil && strings.HasPrefix(*a.Remark, "java.util.ConcurrentModificationException")
}

func (c *conn) callOnce(q request) answer {
	opaque, err := c.send(q)
	if err != nil {
		return answer{end: "closed"}
	}
	a := c.read(answerLimit)
	if a.end == "" && a.Opaque != opaque {
		a.end = fmt.Sprintf("answer to %d instead of %d", a.Opaque, opaque)
	}
	return a
}

// read reads the next frame.
func (c *conn) read(limit time.Duration) answer {
	_ = c.nc.SetReadDeadline(time.Now().Add(limit))
	a, err := readAnswer(c.nc)
	var timeout net.Error
	switch {
	case err == nil:
		return a
	case errors.As(err, &timeout) && timeout.Timeout():
		return answer{end: "silent"}
	case errors.Is(err, errNoFrame):
		return answer{end: err.Error()}
	}
	return answer{end: "closed"} // whether politely or by a reset
}

var errNoFrame = errors.New("not a frame")

func readAnswer(r io.Reader) (answer, error) {
	var head [8]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return answer{}, err
	}
	total, length := binary.BigEndian.Uint32(head[:]), binary.BigEndian.Uint32(head[4:])&0xffffff
	if total > maxFrame-4 || total < 4+length {
		return answer{}, fmt.Errorf("%w: % x", errNoFrame, head)
	}
	rest := make([]byte, total-4)
	if _, err := io.ReadFull(r, rest); err != nil {
		return answer{}, err
	}
	a := answer{form: head[4], header: rest[:length], body: rest[length:]}
	if a.form != 0 {
		return answer{}, fmt.Errorf("%w: header form %d", errNoFrame, a.form)
	}
	d := json.NewDecoder(bytes.NewReader(a.header))
	d.DisallowUnknownFields()
	if err := d.Decode(&a); err != nil {
		return answer{}, fmt.Errorf("%w: header %q: %w", errNoFrame, a.header, err)
	}
	return a, nil
}

func mustJSON(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(fmt.Sprintf("encode %T: %v", v, err)) // strings, numbers and maps of them only
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// TestRacedAnswersAreAskedAgain promises that the stock server's failures under several scenarios are not taken for its
// answer, and that any other failure is.
func TestRacedAnswersAreAskedAgain(t *testing.T) {
	race := "java.util.ConcurrentModificationException, java.base/java.util.HashMap$HashIterator.nextNode(HashMap.java:1597)"
	other := "java.lang.NullPointerException, x"
	for _, tt := range []struct {
		name    string
		remarks []string // of the answers that fail, in turn
		want    int      // questions that are seen
	}{
		{"no failure", nil, 1},
		{"raced", []string{race, race}, 3},
		{"another failure", []string{other}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			near, far := net.Pipe()
			defer near.Close()
			asked := make(chan int)
			go func() { asked <- failing(far, tt.remarks) }()
			c := &conn{nc: near}
			c.call(ask(clusterInfo))
			c.close()
			if n := <-asked; n != tt.want {
				t.Errorf("asked %d times, want %d", n, tt.want)
			}
		})
	}
}

// failing answers each request until the connection ends, the first ones with the given remarks, and counts them.
func failing(nc net.Conn, remarks []string) (asked int) {
	defer nc.Close()
	for ; ; asked++ {
		q, err := readAnswer(nc) // a request has the same form
		if err != nil {
			return asked
		}
		header := map[string]any{"code": success, "opaque": q.Opaque, "flag": flagAnswer}
		if asked < len(remarks) {
			header["code"], header["remark"] = systemError, remarks[asked]
		}
		if _, err := nc.Write(frame(0, mustJSON(header), nil)); err != nil {
			return asked
		}
	}
}
