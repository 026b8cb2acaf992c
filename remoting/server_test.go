package remoting

import (
	"bytes"
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"namesrv/remoting/protocol"
)

const (
	codeInline  protocol.Code = 7002
	codePanic   protocol.Code = 7003
	codePanic2  protocol.Code = 7004
	codeSilent  protocol.Code = 7005
	codeDecline protocol.Code = 7006
)

func testProcessors() map[protocol.Code]Processor {
	return map[protocol.Code]Processor{
		codeEcho:   {Handle: echo},
		codeInline: {Handle: echo, Inline: inlineEcho},
		codePanic:  {Handle: func(context.Context, *Conn, *protocol.Command) *protocol.Command { panic("on purpose") }},
		codePanic2: {Handle: echo, Inline: func(*Conn, *protocol.Command) (*protocol.Command, bool) { panic("on purpose") }},
		codeSilent: {Handle: func(context.Context, *Conn, *protocol.Command) *protocol.Command { return nil }},
		codeDecline: {Handle: echo, Inline: func(*Conn, *protocol.Command) (*protocol.Command, bool) {
			return nil, false
		}},
	}
}

func TestAnswers(t *testing.T) {
	fields := map[string]string{"k": "v"}
	body := []byte("body")
	answer := func(code protocol.Code, remark string) *protocol.Command {
		c := protocol.NewResponse(code, remark)
		c.Opaque = -5
		return c
	}
	echoed := answer(protocol.Success, "")
	echoed.ExtFields, echoed.Body = fields, body
	tests := []struct {
		name string
		code protocol.Code
		want *protocol.Command
	}{
		{"from a pool", codeEcho, echoed},
		{"inline", codeInline, echoed},
		{"not inline after all", codeDecline, echoed},
		{"of a handler that panics", codePanic, answer(protocol.SystemError, "internal error")},
		{"of an inline that panics", codePanic2, answer(protocol.SystemError, "internal error")},
		{"to an unknown code", 999, answer(protocol.RequestCodeNotSupported, " request type 999 not supported")},
	}
	addr := serve(t, NewServer(ServerConfig{Processors: testProcessors()}))
	for _, tt := range tests {
		for _, serialize := range []protocol.SerializeType{protocol.JSON, protocol.RocketMQ} {
			t.Run(tt.name+"/"+serialize.String(), func(t *testing.T) {
				p := dial(t, addr)
				p.send(&protocol.Command{
					Code: tt.code, Language: protocol.Go, Version: 317, Opaque: -5, Flag: 4,
					ExtFields: fields, Body: body, Serialize: serialize,
				})
				if diff := cmp.Diff(tt.want, p.mustReceive()); diff != "" {
					t.Errorf("answer (-want +got):\n%s", diff)
				}
			})
		}
	}
}

func TestBinaryAnswers(t *testing.T) {
	p := dial(t, serve(t, NewServer(ServerConfig{Processors: testProcessors(), Serialize: protocol.RocketMQ})))
	p.send(&protocol.Command{Code: codeEcho, Opaque: 3})
	if got := p.mustReceive(); got.Serialize != protocol.RocketMQ || got.Opaque != 3 {
		t.Errorf("answer %+v", got)
	}
}

// What must not be answered is followed by a request that is: its answer has to be the only one.
func TestSilence(t *testing.T) {
	oneWay := func(code protocol.Code) *protocol.Command {
		return &protocol.Command{Code: code, Flag: protocol.FlagOneWay}
	}
	tests := []struct {
		name string
		cmd  *protocol.Command
	}{
		{"one-way from a pool", oneWay(codeEcho)},
		{"one-way inline", oneWay(codeInline)},
		{"one-way that panics", oneWay(codePanic)},
		{"one-way of an unknown code", oneWay(999)},
		{"a response", &protocol.Command{Code: codeInline, Flag: protocol.FlagResponse}},
		{"a handler without an answer", &protocol.Command{Code: codeSilent}},
	}
	s := NewServer(ServerConfig{Processors: testProcessors()})
	addr := serve(t, s)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := dial(t, addr)
			p.send(tt.cmd, &protocol.Command{Code: codeInline, Opaque: 77})
			if got := p.mustReceive(); got.Opaque != 77 {
				t.Errorf("got %+v", got)
			}
			_ = p.nc.(*net.TCPConn).CloseWrite()
			p.mustEnd()
		})
	}
}

func TestBrokenFramesEndTheConnection(t *testing.T) {
	frame := func(rest ...byte) []byte { return append([]byte{0, 0, 0, byte(len(rest))}, rest...) }
	tests := []struct {
		name  string
		bytes []byte
	}{
		{"length 0", []byte{0, 0, 0, 0}},
		{"length 3", []byte{0, 0, 0, 3, 0, 0, 0}},
		{"length -1", []byte{0xff, 0xff, 0xff, 0xff}},
		{"length beyond the limit", []byte{0x00, 0xff, 0xff, 0xfd}},
		{"HTTP", []byte("GET / HTTP/1.1\r\n\r\n")},
		{"empty header", frame(0, 0, 0, 0)},
		{"header longer than the frame", frame(0, 0, 0, 9, '{', '}')},
		{"unknown header encoding", frame(7, 0, 0, 2, '{', '}')},
		{"null header", frame(0, 0, 0, 4, 'n', 'u', 'l', 'l')},
		{"broken binary header", frame(1, 0, 0, 1, 0)},
	}
	var events recorder
	addr := serve(t, NewServer(ServerConfig{Processors: testProcessors(), OnEvent: events.record}))
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			events.reset()
			p := dial(t, addr)
			// The good request before it is answered, the one behind it is not read.
			good := protocol.AppendFrame(nil, &protocol.Command{Code: codeInline, Opaque: 1})
			p.write(append(append(bytes.Clone(good), tt.bytes...), good...))
			_, _ = p.receive() // lost when the connection is reset
			p.mustEnd()
			events.await(t, "connected", "errored")
		})
	}
}

func TestFrameLimit(t *testing.T) {
	const limit = 1024
	addr := serve(t, NewServer(ServerConfig{Processors: testProcessors(), MaxFrame: limit}))
	cmd := &protocol.Command{Code: codeSilent}
	overhead := len(protocol.AppendFrame(nil, cmd))
	p := dial(t, addr)
	cmd.Body = make([]byte, limit-overhead)
	p.send(cmd, &protocol.Command{Code: codeInline, Opaque: 2})
	if got := p.mustReceive(); got.Opaque != 2 {
		t.Errorf("got %+v", got)
	}
	cmd.Body = make([]byte, limit-overhead+1)
	p.send(cmd)
	p.mustEnd()
}

func TestAnswerTooLarge(t *testing.T) {
	large := protocol.NewResponse(protocol.Success, "")
	large.Body = make([]byte, 2048)
	s := NewServer(ServerConfig{MaxFrame: 1024, Default: Processor{
		Handle: func(context.Context, *Conn, *protocol.Command) *protocol.Command { return large },
	}})
	p := dial(t, serve(t, s))
	p.send(&protocol.Command{Opaque: 9})
	if got := p.mustReceive(); got.Code != protocol.SystemError || got.Opaque != 9 || got.Body != nil {
		t.Errorf("got %+v", got)
	}
}

func TestFramesInPieces(t *testing.T) {
	addr := serve(t, NewServer(ServerConfig{Processors: testProcessors()}))
	t.Run("byte by byte", func(t *testing.T) {
		p := dial(t, addr)
		for _, b := range protocol.AppendFrame(nil, &protocol.Command{Code: codeInline, Opaque: 4}) {
			p.write([]byte{b})
		}
		if got := p.mustReceive(); got.Opaque != 4 {
			t.Errorf("got %+v", got)
		}
	})
	for _, size := range []int{100, minReadBuffer, 3 * minReadBuffer, maxReadBuffer, maxReadBuffer + 1, 1 << 20} {
		t.Run("large", func(t *testing.T) {
			p := dial(t, addr)
			body := bytes.Repeat([]byte("0123456789"), size/10+1)
			req := &protocol.Command{Code: codeEcho, Body: body, Opaque: 1}
			p.send(req, req, &protocol.Command{Code: codeInline, Body: body, Opaque: 2})
			for range 3 {
				if got := p.mustReceive(); !bytes.Equal(body, got.Body) {
					t.Errorf("body of %d bytes came back as %d", len(body), len(got.Body))
				}
			}
		})
	}
}

func TestOverload(t *testing.T) {
	release := make(chan struct{})
	s := NewServer(ServerConfig{Default: Processor{
		Pool: NewPool("small", 1, 1),
		Handle: func(context.Context, *Conn, *protocol.Command) *protocol.Command {
			<-release
			return protocol.NewResponse(protocol.Success, "")
		},
	}})
	p := dial(t, serve(t, s))
	for i := range 3 {
		p.send(&protocol.Command{Opaque: int32(i)})
	}
	got := p.mustReceive()
	if got.Code != protocol.SystemBusy || got.Remark != "[OVERLOAD]system busy, start flow control for a while" || got.Opaque != 2 {
		t.Errorf("got %+v", got)
	}
	close(release)
	for range 2 {
		if got := p.mustReceive(); got.Code != protocol.Success {
			t.Errorf("got %+v", got)
		}
	}
}

func TestOnRequest(t *testing.T) {
	var mu sync.Mutex
	seen := map[protocol.Code]protocol.Code{}
	addr := serve(t, NewServer(ServerConfig{
		Processors: testProcessors(),
		OnRequest: func(code, result protocol.Code, took time.Duration) {
			mu.Lock()
			defer mu.Unlock()
			if took < 0 {
				t.Errorf("took %v", took)
			}
			seen[code] = result
		},
	}))
	p := dial(t, addr)
	want := map[protocol.Code]protocol.Code{
		codeEcho: protocol.Success, codeInline: protocol.Success, codeSilent: protocol.Success,
		codePanic: protocol.SystemError, codePanic2: protocol.SystemError, 999: protocol.RequestCodeNotSupported,
	}
	for code := range want {
		p.send(&protocol.Command{Code: code, Flag: protocol.FlagOneWay})
	}
	eventually(t, "all requests seen", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return cmp.Equal(want, seen)
	})
}

func TestNewServerNeedsHandlers(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	NewServer(ServerConfig{Processors: map[protocol.Code]Processor{1: {Inline: inlineEcho}}})
}

// A peer that does not read makes its own connection pause, inline and through a pool, and gets everything once it
// reads.
func TestPeerThatDoesNotRead(t *testing.T) {
	const requests, size, high = 2000, 32 << 10, 64 << 10
	for _, inline := range []bool{true, false} {
		t.Run(map[bool]string{true: "inline", false: "pool"}[inline], func(t *testing.T) {
			var executed atomic.Int64
			answer := protocol.NewResponse(protocol.Success, "")
			answer.Body = make([]byte, size)
			proc := Processor{Handle: func(context.Context, *Conn, *protocol.Command) *protocol.Command {
				executed.Add(1)
				return answer
			}}
			if inline {
				proc.Inline = func(c *Conn, req *protocol.Command) (*protocol.Command, bool) {
					return proc.Handle(context.Background(), c, req), true
				}
			}
			addr := serve(t, NewServer(ServerConfig{Processors: map[protocol.Code]Processor{codeEcho: proc}, HighWater: high}))
			p := dial(t, addr)
			var writer sync.WaitGroup
			writer.Go(func() {
				for i := range requests {
					p.send(&protocol.Command{Code: codeEcho, Opaque: int32(i)})
				}
			})
			awaitStandstill(t, &executed)
			// What the kernel's buffers take is not the server's.
			if n := executed.Load(); n > requests/2 {
				t.Errorf("%d of %d requests executed for a peer that does not read", n, requests)
			}
			other := dial(t, addr)
			other.send(&protocol.Command{Code: codeEcho})
			other.mustReceive()
			seen := map[int32]bool{}
			for range requests {
				seen[p.mustReceive().Opaque] = true
			}
			if len(seen) != requests {
				t.Errorf("%d different answers, want %d", len(seen), requests)
			}
			writer.Wait()
		})
	}
}

// awaitStandstill polls until n has not changed for a while.
func awaitStandstill(t *testing.T, n *atomic.Int64) {
	t.Helper()
	last, since := n.Load(), time.Now()
	eventually(t, "standstill", func() bool {
		if now := n.Load(); now != last {
			last, since = now, time.Now()
		}
		return last > 0 && time.Since(since) > 200*time.Millisecond
	})
}

func TestSharedAnswerIsNotChanged(t *testing.T) {
	shared := &protocol.Command{Remark: strings.Repeat("r", 10)}
	before := *shared
	s := NewServer(ServerConfig{Default: Processor{
		Handle: echo,
		Inline: func(*Conn, *protocol.Command) (*protocol.Command, bool) { return shared, true },
	}})
	p := dial(t, serve(t, s))
	p.send(&protocol.Command{Opaque: 1}, &protocol.Command{Opaque: 2})
	for i := range int32(2) {
		if got := p.mustReceive(); got.Opaque != i+1 {
			t.Errorf("opaque %d", got.Opaque)
		}
	}
	if diff := cmp.Diff(before, *shared); diff != "" {
		t.Errorf("shared answer (-before +after):\n%s", diff)
	}
}

// handshake is what Wrap may be used for: it takes a byte off the front of the stream.
type wrapped struct {
	net.Conn
	addr net.Addr
}

func (w wrapped) RemoteAddr() net.Addr { return w.addr }

func TestWrap(t *testing.T) {
	remote := make(chan string, 1)
	var events recorder
	addr := serve(t, NewServer(ServerConfig{
		Processors: testProcessors(),
		Wrap: func(nc net.Conn) (net.Conn, error) {
			first := make([]byte, 1)
			if _, err := nc.Read(first); err != nil || first[0] != 'P' {
				return nil, errors.New("wrong greeting")
			}
			return wrapped{nc, &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 5}}, nil
		},
		OnEvent: func(kind EventKind, c *Conn) {
			events.record(kind, c)
			if kind == Connected {
				remote <- c.RemoteAddr()
			}
		},
	}))
	refused := dial(t, addr)
	refused.write([]byte("X"))
	refused.mustEnd()
	p := dial(t, addr)
	p.write([]byte("P"))
	p.send(&protocol.Command{Code: codeInline, Opaque: 6})
	if got := p.mustReceive(); got.Opaque != 6 {
		t.Errorf("got %+v", got)
	}
	if got := <-remote; got != "192.0.2.1:5" {
		t.Errorf("remote address %s", got)
	}
	_ = p.nc.Close()
	events.await(t, "connected", "closed")
}
