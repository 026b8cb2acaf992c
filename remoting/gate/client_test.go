package gate

import (
	"context"
	"net"
	"testing"
	"time"
)

func TestDialer(t *testing.T) {
	known, stranger := newAuthority(t), newAuthority(t)
	trusting := ServerTLS{Identity: known.identity(t, "server"), ClientAuth: RequiredClientCert, VerifyClient: true, TrustFile: known.file(t)}
	open := ServerTLS{Identity: known.identity(t, "server")}
	tests := []struct {
		name   string
		server ServerTLS
		client ClientTLS
		served bool
	}{
		{"trusts everyone", open, ClientTLS{}, true},
		{"trusts the authority", open, ClientTLS{VerifyServer: true, TrustFile: known.file(t)}, true},
		{"trusts another", open, ClientTLS{VerifyServer: true, TrustFile: stranger.file(t)}, false},
		{"trusts the system", open, ClientTLS{VerifyServer: true}, false},
		{"a file without use", open, ClientTLS{TrustFile: "/nowhere"}, true},
		{"shows a certificate", trusting, ClientTLS{Identity: known.identity(t, "broker")}, true},
		{"shows another's", trusting, ClientTLS{Identity: stranger.identity(t, "broker")}, false},
		{"shows none", trusting, ClientTLS{}, false},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			s := startServer(t, Config{Mode: Enforcing, TLS: tc.server}, 0)
			d, err := NewDialer(tc.client, nil)
			if err != nil {
				t.Fatal(err)
			}
			if served := dialAndAsk(t, d, s.addr); served != tc.served {
				t.Errorf("served: %v, want %v", served, tc.served)
			}
		})
	}
}

func dialAndAsk(t *testing.T, d *Dialer, addr string) bool {
	t.Helper()
	nc, err := d.Dial(t.Context(), addr)
	if err != nil {
		return false
	}
	defer func() { _ = nc.Close() }()
	_, err = ask(nc, nil)
	return err == nil
}

func TestNewDialerRefuses(t *testing.T) {
	a := newAuthority(t)
	id := a.identity(t, "broker")
	for name, cfg := range map[string]ClientTLS{
		"half an identity":     {Identity: Identity{CertFile: id.CertFile}},
		"a missing trust file": {VerifyServer: true, TrustFile: "/nowhere"},
	} {
		if _, err := NewDialer(cfg, nil); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestDialHonoursItsContext(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }() // it never accepts, so no handshake ends
	d, err := NewDialer(ClientTLS{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if nc, err := d.Dial(ctx, l.Addr().String()); err == nil {
		_ = nc.Close()
		t.Error("connected to nobody")
	}
}
