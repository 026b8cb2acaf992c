package rocketmq

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// Request codes of the name server and the broker that the tests use (RocketMQ RequestCode).
const (
	CodeUpdateTopic     = 17  // at a broker
	CodeMaxOffset       = 30  // at a broker
	CodeTopicConfig     = 351 // at a broker
	CodeAddBroker       = 902 // at a container
	CodeRemoveBroker    = 903 // at a container
	CodePutKV           = 100
	CodeGetKV           = 101
	CodeDeleteKV        = 102
	CodeRegisterBroker  = 103
	CodeUnregister      = 104
	CodeRoute           = 105
	CodeClusterInfo     = 106
	CodeAllTopics       = 206
	CodeKVList          = 219
	CodeUpdateConfig    = 318
	CodeQueryVersion    = 322
	CodeMemberGroup     = 901
	CodeBrokerHeartbeat = 904
)

// Response codes (RocketMQ ResponseCode).
const (
	Success       = 0
	SystemError   = 1
	NotSupported  = 3
	TopicNotExist = 17
	QueryNotFound = 22
)

// maxFrame is the largest frame a RocketMQ peer accepts.
const maxFrame = 16 << 20

// ErrBroken is returned for a call on a connection that ended.
var ErrBroken = errors.New("connection ended")

// Frame is one command of the remoting protocol with a JSON header.
type Frame struct {
	Code     int               `json:"code"`
	Language string            `json:"language"`
	Version  int               `json:"version"`
	Opaque   int32             `json:"opaque"`
	Flag     int               `json:"flag"`
	Remark   string            `json:"remark,omitempty"`
	Fields   map[string]string `json:"extFields,omitempty"`
	Body     []byte            `json:"-"`
}

// Encode gives the whole frame as it goes over the wire, with the length in front.
func (f *Frame) Encode() []byte {
	header, err := json.Marshal(f)
	if err != nil {
		panic(fmt.Sprintf("encode a frame: %v", err)) // strings and numbers only
	}
	out := make([]byte, 8, 8+len(header)+len(f.Body))
	binary.BigEndian.PutUint32(out, uint32(4+len(header)+len(f.Body)))
	binary.BigEndian.PutUint32(out[4:], uint32(len(header)))
	return append(append(out, header...), f.Body...)
}

// ReadFrame reads one frame with a JSON header from r.
func ReadFrame(r io.Reader) (*Frame, error) {
	var head [8]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	total, header := binary.BigEndian.Uint32(head[:]), binary.BigEndian.Uint32(head[4:])
	if header>>24 != 0 || total > maxFrame || total < 4+header {
		return nil, fmt.Errorf("not a frame with a JSON header: % x", head)
	}
	rest := make([]byte, total-4)
	if _, err := io.ReadFull(r, rest); err != nil {
		return nil, err
	}
	f := &Frame{}
	if err := json.Unmarshal(rest[:header], f); err != nil {
		return nil, fmt.Errorf("header %q: %w", rest[:header], err)
	}
	f.Body = rest[header:]
	return f, nil
}

// Conn is one connection to a server. Several calls may be in flight at once.
type Conn struct {
	nc net.Conn

	mu      sync.Mutex // guards the fields below and the order of writes
	opaque  int32
	pending map[int32]chan *Frame // closed without a value when the connection ends
	ended   bool

	done chan struct{} // closed when the reader has ended
}

// Dial opens a connection.
func Dial(ctx context.Context, addr string) (*Conn, error) {
	var d net.Dialer
	nc, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	c := &Conn{nc: nc, pending: map[int32]chan *Frame{}, done: make(chan struct{})}
	go c.read()
	return c, nil
}

func (c *Conn) read() {
	defer close(c.done)
	r := bufio.NewReader(c.nc)
	for {
		f, err := ReadFrame(r)
		c.mu.Lock()
		if err != nil {
			c.ended = true
			for _, ch := range c.pending {
				close(ch)
			}
			clear(c.pending)
			c.mu.Unlock()
			return
		}
		if ch := c.pending[f.Opaque]; ch != nil && f.Flag&1 == 1 {
			delete(c.pending, f.Opaque)
			ch <- f
		}
		c.mu.Unlock()
	}
}

// Call sends f, whose Opaque it sets, and waits for the answer until ctx ends.
func (c *Conn) Call(ctx context.Context, f *Frame) (*Frame, error) {
	ch, err := c.send(f)
	if err != nil {
		return nil, err
	}
	select {
	case answer, ok := <-ch:
		if !ok {
			return nil, fmt.Errorf("call %d at %s: %w", f.Code, c.nc.RemoteAddr(), ErrBroken)
		}
		return answer, nil
	case <-ctx.Done():
		c.mu.Lock()
		delete(c.pending, f.Opaque)
		c.mu.Unlock()
		return nil, fmt.Errorf("call %d at %s: %w", f.Code, c.nc.RemoteAddr(), ctx.Err())
	}
}

func (c *Conn) send(f *Frame) (chan *Frame, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return nil, fmt.Errorf("call %d at %s: %w", f.Code, c.nc.RemoteAddr(), ErrBroken)
	}
	c.opaque++
	f.Opaque = c.opaque
	if f.Language == "" {
		f.Language = "JAVA"
	}
	ch := make(chan *Frame, 1)
	c.pending[f.Opaque] = ch
	_ = c.nc.SetWriteDeadline(time.Now().Add(10 * time.Second))
	if _, err := c.nc.Write(f.Encode()); err != nil {
		delete(c.pending, f.Opaque)
		return nil, fmt.Errorf("call %d at %s: %w: %w", f.Code, c.nc.RemoteAddr(), ErrBroken, err)
	}
	return ch, nil
}

// Done is closed when the connection has ended.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Close ends the connection and waits for its reader.
func (c *Conn) Close() {
	c.nc.Close()
	<-c.done
}

// Ask is a single call on a connection of its own.
func Ask(ctx context.Context, addr string, f *Frame) (*Frame, error) {
	c, err := Dial(ctx, addr)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return c.Call(ctx, f)
}
