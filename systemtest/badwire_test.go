package systemtest_test

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"namesrv/internal/rocketmq"
	"namesrv/systemtest"
)

const mib = 1 << 20

// TestBadInputOnTheWire promises that bad input hurts the connection it comes from and nothing else. One server takes it all.
func TestBadInputOnTheWire(t *testing.T) {
	n := startNode(t, "n1")
	good := dial(t, n.Client) // must live through everything
	t.Run("broken frames", func(t *testing.T) { brokenFrames(t, n) })
	t.Run("bad content is answered", func(t *testing.T) { badContent(t, n) })
	t.Run("probes leave no descriptor", func(t *testing.T) { probes(t, n) })
	t.Run("claimed sizes take no memory", func(t *testing.T) { claims(t, n) })
	t.Run("zip bomb", func(t *testing.T) { zipBomb(t, n) })
	answer, err := good.Call(within(t, 5*time.Second), &rocketmq.Frame{Code: rocketmq.CodeClusterInfo})
	if err != nil || answer.Code != rocketmq.Success {
		t.Errorf("the connection that did nothing wrong: %+v, %v", answer, err)
	}
}

// frame puts a total length and a word of header length and type before content.
func frame(total, header uint32, content string) []byte {
	b := binary.BigEndian.AppendUint32(nil, total)
	return append(binary.BigEndian.AppendUint32(b, header), content...)
}

func brokenFrames(t *testing.T, n *systemtest.Node) {
	tests := map[string][]byte{
		"negative total":           frame(0xffffffff, 0, ""),
		"total above the limit":    frame(16*mib-3, 2, "{}"),
		"total below 4":            frame(3, 0, "xxx"),
		"header beyond the frame":  frame(6, 3, "{}"),
		"unknown header type":      frame(6, 5<<24|2, "{}"),
		"header is not JSON":       frame(9, 5, "hello"),
		"header is an array":       frame(6, 2, "[]"),
		"text after the header":    frame(8, 4, "{} x"),
		"short binary header":      frame(8, 1<<24|4, "abcd"),
		"HTTP":                     []byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
		"deep nesting in a header": frame(4+2*100000, 2*100000, strings.Repeat(`[`, 100000)+strings.Repeat(`]`, 100000)),
	}
	for name, raw := range tests {
		t.Run(name, func(t *testing.T) {
			nc := rawConn(t, n.Client)
			if _, err := nc.Write(raw); err != nil {
				t.Fatal(err)
			}
			_ = nc.SetReadDeadline(time.Now().Add(5 * time.Second))
			got, err := io.ReadAll(nc)
			if len(got) > 0 {
				t.Errorf("an answer: %q", got)
			}
			if err != nil && !strings.Contains(err.Error(), "reset") { // closing with unread bytes resets
				t.Errorf("not closed: %v", err)
			}
		})
	}
}

func badContent(t *testing.T, n *systemtest.Node) {
	register := rocketmq.Registration{Cluster: "bad", Broker: "bad", Addr: "10.4.4.4:10911", Topics: []string{"bad1", "bad2"}}
	changed := func(change func(f *rocketmq.Frame)) *rocketmq.Frame {
		f := register.Frame()
		change(f)
		return f
	}
	withBody := func(f *rocketmq.Frame, body []byte) {
		f.Body, f.Fields["bodyCrc32"] = body, strconv.Itoa(int(crc32.ChecksumIEEE(body)&0x7fffffff))
	}
	tests := []struct {
		name    string
		request *rocketmq.Frame
		code    int
		remark  string
	}{
		{"unknown code", &rocketmq.Frame{Code: 31999}, rocketmq.NotSupported, " request type 31999 not supported"},
		{"wrong checksum", changed(func(f *rocketmq.Frame) { f.Fields["bodyCrc32"] = "12345" }), rocketmq.SystemError, "crc32 not match"},
		{"body cut short", changed(func(f *rocketmq.Frame) { withBody(f, f.Body[:len(f.Body)/2]) }), rocketmq.SystemError, ""},
		{"not compressed as claimed", changed(func(f *rocketmq.Frame) { f.Fields["compressed"] = "true" }), rocketmq.SystemError, ""},
		{"a length beyond the compressed body", changed(func(f *rocketmq.Frame) {
			f.Fields["compressed"] = "true"
			withBody(f, deflate([]byte{0x7f, 0xff, 0xff, 0xff, '{', '}'}))
		}), rocketmq.SystemError, ""},
		{"no broker id", changed(func(f *rocketmq.Frame) { delete(f.Fields, "brokerId") }), rocketmq.SystemError, ""},
		{"no fields", &rocketmq.Frame{Code: rocketmq.CodeRegisterBroker}, rocketmq.SystemError, ""},
		{"no topic", &rocketmq.Frame{Code: rocketmq.CodeRoute}, rocketmq.TopicNotExist, "topic: null"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			answer := ask(t, n.Client, tt.request)
			if answer.Code != tt.code || !strings.Contains(answer.Remark, tt.remark) {
				t.Errorf("code %d %q, want %d %q", answer.Code, answer.Remark, tt.code, tt.remark)
			}
		})
	}
	if err := lacks(ask(t, n.Client, &rocketmq.Frame{Code: rocketmq.CodeClusterInfo}).Body, register.Addr); err != nil {
		t.Errorf("a refused registration left a trace: %v", err)
	}
}

// probes are what load balancers and scanners do: connect, perhaps send something, and go.
func probes(t *testing.T, n *systemtest.Node) {
	before := descriptors(t, n)
	for i := range 300 {
		nc, err := net.Dial("tcp", n.Client)
		if err != nil {
			t.Fatal(err)
		}
		if i%3 > 0 {
			_, _ = nc.Write([]byte{0, 0, 0}[:i%3])
		}
		nc.Close()
	}
	eventually(t, 10*time.Second, "descriptors back", func() error {
		if now := descriptors(t, n); now > before {
			return fmt.Errorf("%d descriptors, %d before the probes", now, before)
		}
		return nil
	})
}

// claims opens connections that announce the largest frame and send a little of it.
func claims(t *testing.T, n *systemtest.Node) {
	const conns, allowed = 200, 100 * mib // what is claimed is 32 times as much
	before := residentBytes(t, n)
	for range conns {
		nc := rawConn(t, n.Client)
		if _, err := nc.Write(frame(16*mib-4, 1*mib, strings.Repeat(" ", 1000))); err != nil {
			t.Fatal(err)
		}
	}
	ask(t, n.Client, &rocketmq.Frame{Code: rocketmq.CodeClusterInfo}) // it has looked at the others by now
	if grown := residentBytes(t, n) - before; grown > allowed {
		t.Errorf("%d MiB for %d connections that sent 1 kB each", grown/mib, conns)
	}
}

// zipBomb sends, a few times over, a registration that is larger than anything allowed once it is inflated.
func zipBomb(t *testing.T, n *systemtest.Node) {
	const inflated = 80 * mib
	bomb := deflate(append(binary.BigEndian.AppendUint32(nil, inflated), make([]byte, inflated)...))
	before := residentBytes(t, n)
	f := rocketmq.Registration{Cluster: "bad", Broker: "bomb", Addr: "10.4.4.5:10911", Compressed: true}.Frame()
	f.Body, f.Fields["bodyCrc32"] = bomb, "0"
	for range 4 {
		if answer := ask(t, n.Client, f); answer.Code != rocketmq.SystemError {
			t.Fatalf("code %d %q, want 1", answer.Code, answer.Remark)
		}
	}
	if grown := residentBytes(t, n) - before; grown > 300*mib {
		t.Errorf("%d MiB for a body of %d kB", grown/mib, len(bomb)/1024)
	}
}

func rawConn(t *testing.T, addr string) net.Conn {
	t.Helper()
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nc.Close() })
	return nc
}

func deflate(b []byte) []byte {
	var out bytes.Buffer
	w, _ := zlib.NewWriterLevel(&out, zlib.BestSpeed) // the level is a valid one
	_, _ = w.Write(b)                                 // a bytes.Buffer takes everything
	_ = w.Close()
	return out.Bytes()
}

// descriptors counts the open files of the server.
func descriptors(t *testing.T, n *systemtest.Node) int {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join("/proc", strconv.Itoa(n.Process().Pid()), "fd"))
	if err != nil {
		t.Fatal("it ended, or there is no /proc: ", err)
	}
	return len(entries)
}

// residentBytes is the memory of the server that is really in use.
func residentBytes(t *testing.T, n *systemtest.Node) int {
	t.Helper()
	b, err := systemtest.ResidentBytes(n.Process().Pid())
	if err != nil {
		t.Fatal("it ended, or there is no /proc: ", err)
	}
	return b
}
