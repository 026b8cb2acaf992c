package gate

import (
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
)

// v2 is a PROXY header of version 2.
func v2(command, family byte, rest ...byte) string {
	b := append([]byte("\r\n\r\n\x00\r\nQUIT\n"), command, family)
	return string(append(binary.BigEndian.AppendUint16(b, uint16(len(rest))), rest...))
}

func addresses(size int) []byte {
	b := make([]byte, 2*size+4)
	copy(b, net.ParseIP("2001:db8::7")[:size])
	if size == net.IPv4len {
		copy(b, []byte{192, 0, 2, 7})
	}
	binary.BigEndian.PutUint16(b[2*size:], 4711)
	return b
}

var proxyHeaders = []struct {
	name, header string
	want         string // the remote address, "" when the header does not say
	malformed    bool
}{
	{"version 1, TCP4", "PROXY TCP4 192.0.2.7 192.0.2.1 4711 9876\r\n", "192.0.2.7:4711", false},
	{"version 1, TCP6", "PROXY TCP6 2001:db8::7 2001:db8::1 4711 9876\r\n", "[2001:db8::7]:4711", false},
	{"version 1, unknown", "PROXY UNKNOWN\r\n", "", false},
	{"version 1, unknown with addresses", "PROXY UNKNOWN ffff::1 ffff::2 1 2\r\n", "", false},
	{"version 2, TCP4", v2(0x21, 0x11, addresses(4)...), "192.0.2.7:4711", false},
	{"version 2, TCP6", v2(0x21, 0x21, addresses(16)...), "[2001:db8::7]:4711", false},
	{"version 2, with TLVs", v2(0x21, 0x11, append(addresses(4), 0xEA, 0, 3, 'v', 'p', 'c', 0x04, 0, 1, 0)...), "192.0.2.7:4711", false},
	{"version 2, with 3,000 bytes of TLVs", v2(0x21, 0x11, append(addresses(4), append([]byte{0xEA, 0x0B, 0xB8}, make([]byte, 3000)...)...)...), "192.0.2.7:4711", false},
	{"version 2, local", v2(0x20, 0x00), "", false},
	{"version 2, local with an address", v2(0x20, 0x11, addresses(4)...), "", false},
	{"version 2, unspecified", v2(0x21, 0x00), "", false},
	{"version 2, unspecified with TLVs", v2(0x21, 0x00, 0xEA, 0, 1, 'x'), "", false},
	{"version 2, datagrams", v2(0x21, 0x12, addresses(4)...), "", false},
	{"version 2, a Unix socket", v2(0x21, 0x31, make([]byte, 216)...), "", false},

	{"version 1, no addresses", "PROXY TCP4\r\n", "", true},
	{"version 1, no such family", "PROXY TCP5 192.0.2.7 192.0.2.1 1 2\r\n", "", true},
	{"version 1, a family that does not fit", "PROXY TCP4 2001:db8::7 192.0.2.1 1 2\r\n", "", true},
	{"version 1, a port out of range", "PROXY TCP4 192.0.2.7 192.0.2.1 70000 2\r\n", "", true},
	{"version 1, a line feed alone", "PROXY TCP4 192.0.2.7 192.0.2.1 1 2\n", "", true},
	{"version 1, without an end", "PROXY " + strings.Repeat("x", 200), "", true},
	{"version 1, glued", "PROXYTCP4 192.0.2.7 192.0.2.1 1 2\r\n", "", true},
	{"version 2, too short for its family", v2(0x21, 0x11, 1, 2, 3), "", true},
	{"version 2, no such version", v2(0x31, 0x11, addresses(4)...), "", true},
	{"version 2, no such command", v2(0x22, 0x11, addresses(4)...), "", true},
	{"version 2, no such family", v2(0x21, 0x41, addresses(4)...), "", true},
	{"version 2, immense", "\r\n\r\n\x00\r\nQUIT\n\x21\x11\xff\xff", "", true},
}

func TestProxyHeader(t *testing.T) {
	g, err := New(Config{Mode: Disabled})
	if err != nil {
		t.Fatal(err)
	}
	payload := frame([]byte("hello"))
	for _, tc := range proxyHeaders {
		for _, size := range []int{1, 2, 7, 1 << 20} { // of packets
			nc := &scripted{pieces: pieces(append([]byte(tc.header), payload...), size), end: io.EOF}
			wrapped, err := g.Wrap(nc)
			if tc.malformed {
				if !errors.Is(err, ErrProxyHeader) {
					t.Errorf("%s in packets of %d: Wrap = %v", tc.name, size, err)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s in packets of %d: %v", tc.name, size, err)
				continue
			}
			want := tc.want
			if want == "" {
				want = nc.RemoteAddr().String()
			}
			if got := wrapped.RemoteAddr().String(); got != want {
				t.Errorf("%s in packets of %d: remote address %s, want %s", tc.name, size, got, want)
			}
			if got, err := io.ReadAll(wrapped); err != nil || !bytes.Equal(got, payload) {
				t.Errorf("%s in packets of %d: read %q, %v", tc.name, size, got, err)
			}
		}
	}
}

// A header that arrives with nothing behind it is not the end: what follows decides.
func TestProxyHeaderThenNothing(t *testing.T) {
	g, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.Wrap(&scripted{pieces: [][]byte{[]byte("PROXY UNKNOWN\r\n")}, end: io.EOF}); !errors.Is(err, io.EOF) {
		t.Errorf("Wrap = %v, want EOF", err)
	}
}

// errAskedForMore is what a connection gives that has nothing more to say yet: a real one would block.
var errAskedForMore = errors.New("read again")

func TestWrapDoesNotWaitForMoreThanItNeeds(t *testing.T) {
	g, err := New(Config{Mode: Disabled})
	if err != nil {
		t.Fatal(err)
	}
	for _, sent := range []string{"\x00", "\x00\x00\x01", "X", "PX", "PROXX", "\rX", "\r\n\r\n\x00\r\nQUIX", "G"} {
		wrapped, err := g.Wrap(&scripted{pieces: pieces([]byte(sent), 1), end: errAskedForMore})
		if err != nil {
			t.Errorf("%q: %v", sent, err)
			continue
		}
		if got, err := io.ReadAll(wrapped); string(got) != sent || !errors.Is(err, errAskedForMore) {
			t.Errorf("%q: read %q, %v", sent, got, err)
		}
	}
	for _, sent := range []string{"", "P", "PROXY", "PROXY TCP4 192.0.2.1\r", "\r\n", "\r\n\r\n\x00\r\nQUIT\n\x21\x11\x00\x0c1234"} {
		if _, err := g.Wrap(&scripted{pieces: pieces([]byte(sent), 1), end: errAskedForMore}); !errors.Is(err, errAskedForMore) {
			t.Errorf("%q: Wrap = %v, want it to ask for more", sent, err)
		}
	}
}

func TestProxyOverSockets(t *testing.T) {
	s := startServer(t, Config{TLS: ServerTLS{SelfSigned: true}}, 0)
	for name, version := range versions {
		for _, tc := range proxyHeaders {
			t.Run(name+"/"+tc.name, func(t *testing.T) {
				nc := s.dial(t)
				if _, err := nc.Write([]byte(tc.header)); err != nil {
					t.Fatal(err)
				}
				if tc.malformed {
					mustRefuse(t, client(nc, version))
					return
				}
				want := tc.want
				if want == "" {
					want = nc.LocalAddr().String()
				}
				if got := mustServe(t, client(nc, version)).Remark; got != want {
					t.Errorf("the server saw %s, want %s", got, want)
				}
			})
		}
	}
}

// Only one header is taken off.
func TestSecondProxyHeader(t *testing.T) {
	s := startServer(t, Config{TLS: ServerTLS{SelfSigned: true}}, 0)
	nc := s.dial(t)
	if _, err := nc.Write([]byte("PROXY UNKNOWN\r\nPROXY UNKNOWN\r\n")); err != nil {
		t.Fatal(err)
	}
	mustRefuse(t, client(nc, tls.VersionTLS13))
}
