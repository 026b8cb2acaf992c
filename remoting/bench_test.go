package remoting

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"namesrv/remoting/protocol"
)

// routeRequest is what a Java client sends, routeBody about what it gets for a topic on four brokers.
func routeRequest() []byte {
	return protocol.AppendFrame(nil, &protocol.Command{
		Code: protocol.GetRouteInfoByTopic, Version: 459, Opaque: 12345,
		ExtFields: map[string]string{"topic": "load-topic-00042"},
	})
}

var routeBody = []byte(strings.Repeat("r", 850))

// BenchmarkRoute compares the server, answering inline, with one that does nothing but count frames: what the network
// stack alone costs on the machine.
func BenchmarkRoute(b *testing.B) {
	for _, shape := range []struct{ conns, depth int }{{64, 1}, {16, 16}} {
		for _, s := range []struct {
			name  string
			start func(testing.TB) string
		}{{"server", startRouteServer}, {"bare", startBareServer}} {
			b.Run(fmt.Sprintf("%dx%d/%s", shape.conns, shape.depth, s.name), func(b *testing.B) {
				b.ReportAllocs()
				load(b, s.start(b), shape.conns, shape.depth)
			})
		}
	}
}

func startRouteServer(tb testing.TB) string {
	answer := protocol.NewResponse(protocol.Success, "")
	answer.Body = routeBody
	s := NewServer(ServerConfig{Processors: map[protocol.Code]Processor{
		protocol.GetRouteInfoByTopic: {
			Handle: echo,
			Inline: func(_ *Conn, req *protocol.Command) (*protocol.Command, bool) {
				_, ok := req.Field("topic")
				return answer, ok
			},
		},
	}})
	return serve(tb, s)
}

// startBareServer answers each frame with the same bytes, all that have arrived with one write.
func startBareServer(tb testing.TB) string {
	tb.Helper()
	answer := protocol.NewResponse(protocol.Success, "")
	answer.Body = routeBody
	frame := protocol.AppendFrame(nil, answer)
	l := listen(tb)
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { bareServe(nc, frame) })
		}
	})
	tb.Cleanup(func() {
		_ = l.Close()
		wg.Wait()
	})
	return l.Addr().String()
}

func bareServe(nc net.Conn, answer []byte) {
	defer func() { _ = nc.Close() }()
	var in, out []byte
	buf := make([]byte, 64<<10)
	for {
		n, err := nc.Read(buf)
		if err != nil {
			return
		}
		in, out = append(in, buf[:n]...), out[:0]
		rest := in
		for len(rest) >= 4 && len(rest) >= 4+int(binary.BigEndian.Uint32(rest)) {
			rest = rest[4+binary.BigEndian.Uint32(rest):]
			out = append(out, answer...)
		}
		in = in[:copy(in, rest)]
		if _, err := nc.Write(out); err != nil {
			return
		}
	}
}

// load has b.N requests answered over conns connections, depth under way on each.
func load(b *testing.B, addr string, conns, depth int) {
	b.Helper()
	request := routeRequest()
	clients := make([]net.Conn, conns)
	for i := range clients {
		nc, err := net.Dial("tcp", addr)
		if err != nil {
			b.Fatal(err)
		}
		defer func() { _ = nc.Close() }()
		clients[i] = nc
	}
	b.ResetTimer()
	var wg sync.WaitGroup
	for _, nc := range clients {
		wg.Go(func() {
			if err := exchange(nc, request, depth, b.N/conns+1); err != nil {
				b.Error(err)
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64((b.N/conns+1)*conns)/b.Elapsed().Seconds(), "req/s")
}

// exchange sends n requests, a window of depth at a time: as many again as answers have come with one read.
func exchange(nc net.Conn, request []byte, depth, n int) error {
	window := []byte(strings.Repeat(string(request), depth))
	sent := min(depth, n)
	if _, err := nc.Write(window[:sent*len(request)]); err != nil {
		return err
	}
	buf := make([]byte, 64<<10)
	have, got := 0, 0
	for got < n {
		m, err := nc.Read(buf[have:])
		if err != nil {
			return err
		}
		have += m
		answers, at := 0, 0
		for have-at >= 4 && have-at >= 4+int(binary.BigEndian.Uint32(buf[at:])) {
			at += 4 + int(binary.BigEndian.Uint32(buf[at:]))
			answers++
		}
		have = copy(buf, buf[at:have])
		got += answers
		if more := min(answers, n-sent); more > 0 {
			sent += more
			if _, err := nc.Write(window[:more*len(request)]); err != nil {
				return err
			}
		}
	}
	if got != n {
		return io.ErrUnexpectedEOF
	}
	return nil
}
