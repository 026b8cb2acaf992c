package gate

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"

	"github.com/hashicorp/go-hclog"
)

// Mode says which connections a Gate lets through (RocketMQ TlsMode).
type Mode int

// The modes. Permissive is the default.
const (
	Permissive Mode = iota // plain text and TLS
	Disabled               // plain text only
	Enforcing              // TLS only
)

// ParseMode reads a mode by its stock name. As in the stock server, every other text means permissive; ok is false then.
func ParseMode(name string) (mode Mode, ok bool) {
	for mode := range Enforcing + 1 {
		if mode.String() == name {
			return mode, true
		}
	}
	return Permissive, false
}

// String returns the stock name.
func (m Mode) String() string { return [...]string{"permissive", "disabled", "enforcing"}[m] }

// Why Wrap refuses a connection, besides errors of the network and of the TLS handshake.
var (
	ErrProxyHeader = errors.New("malformed PROXY header")
	ErrPlainText   = errors.New("plain text, and only TLS is served")
	ErrTLSDisabled = errors.New("TLS, and only plain text is served")
	ErrNoTLS       = errors.New("TLS, and there is no usable certificate for it")
)

// Config says how a Gate works.
type Config struct {
	Mode   Mode
	TLS    ServerTLS    // not used when Mode is Disabled
	Logger hclog.Logger // nil: nothing is logged
}

// Gate decides what becomes of accepted connections.
type Gate struct {
	mode  Mode
	files *source // nil when there is no TLS
}

// New reads the certificate files. When they cannot be used it returns an error if TLS is enforced. Otherwise it logs a
// warning, and TLS connections are refused until the files can.
func New(cfg Config) (*Gate, error) {
	if cfg.Logger == nil {
		cfg.Logger = hclog.NewNullLogger()
	}
	g := &Gate{mode: cfg.Mode}
	if cfg.Mode == Disabled {
		return g, nil
	}
	build, err := cfg.TLS.builder()
	if err != nil {
		return nil, err
	}
	g.files = &source{files: cfg.TLS.files(), build: build, log: cfg.Logger}
	if err := g.files.load(); err != nil {
		if cfg.Mode == Enforcing {
			return nil, err
		}
		cfg.Logger.Warn("clients that want TLS are refused: its files cannot be used", "error", err)
	}
	return g, nil
}

// Wrap returns the connection that requests are read from. It blocks until the peer has sent enough to tell, for TLS
// until the handshake is over, or until nc's deadline. It never closes nc. After an error nothing that the peer has
// sent must be used.
func (g *Gate) Wrap(nc net.Conn) (net.Conn, error) {
	o := &opening{nc: nc, buf: make([]byte, 0, openingSize)}
	remote, err := o.takeProxyHeader()
	if err != nil {
		return nil, err
	}
	first, err := o.peek()
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: nc, replay: o.buf, remote: remote}
	switch {
	case first == tlsHandshake:
		return g.secure(c)
	case g.mode == Enforcing:
		return nil, ErrPlainText
	}
	return c, nil
}

// tlsHandshake is the first byte of a TLS connection: the type of a record that holds a handshake message.
const tlsHandshake = 0x16

// secure ends TLS.
func (g *Gate) secure(c *conn) (net.Conn, error) {
	if g.files == nil {
		return nil, ErrTLSDisabled
	}
	cfg := g.files.config()
	if cfg == nil {
		return nil, ErrNoTLS
	}
	secured := tls.Server(c, cfg)
	if err := secured.Handshake(); err != nil { // bounded by the deadline that the connection has
		return nil, fmt.Errorf("TLS handshake: %w", err)
	}
	return secured, nil
}
