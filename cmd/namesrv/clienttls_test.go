package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	"namesrv/internal/properties"
	"namesrv/internal/settings"
	"namesrv/remoting/gate"
)

// mustLoadTLS loads the configuration of a server and the values of TLS, with the
// text of tls.config.file.
func mustLoadTLS(t *testing.T, file string, args ...string) tlsValues {
	t.Helper()
	args = append(args, "-D", "tls.config.file="+writeFile(t, file))
	v, err := loadTLSValues(mustLoadConfig(t, args...))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestTLSDefaults(t *testing.T) {
	v := mustLoadTLS(t, "")
	if diff := cmp.Diff(gate.ServerTLS{SelfSigned: true}, v.server()); diff != "" {
		t.Errorf("server (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(gate.ClientTLS{}, v.client()); diff != "" {
		t.Errorf("client (-want +got):\n%s", diff)
	}
	if mode := tlsMode(v.cfg); mode != gate.Permissive {
		t.Errorf("mode %v", mode)
	}
	if dial, err := brokerDial(v.cfg, tlsMode(v.cfg)); dial != nil || err != nil {
		t.Errorf("brokers are dialled over TLS, %v", err)
	}
}

func TestTLSSources(t *testing.T) {
	config := writeFile(t, "tls.test.mode.enable=false\ntls.server.certPath=c-of-config\ntls.server.keyPath=k-of-config\ntls.server.keyPassword=p-of-config\n")
	v := mustLoadTLS(t, "tls.server.keyPath=k-of-file\ntls.server.trustCertPath=t-of-file\ntls.server.authClient=TRUE\ntls.server.mode=disabled\n",
		"-c", config, "-D", "tls.server.certPath=c,of,flag", "-D=tls.server.keyPassword=p=of=flag", "-D", "tls.server.trustCertPath=t-of-flag",
		"-D", "tls.server.need.client.auth=REQUIRE")
	want := gate.ServerTLS{
		Identity:   gate.Identity{CertFile: "c,of,flag", KeyFile: "k-of-file", KeyPassword: "p=of=flag"},
		ClientAuth: gate.RequiredClientCert, VerifyClient: true, TrustFile: "t-of-file",
	}
	if diff := cmp.Diff(want, v.server()); diff != "" {
		t.Errorf("server (-want +got):\n%s", diff)
	}
	if mode := tlsMode(v.cfg); mode != gate.Permissive {
		t.Errorf("the mode was taken from the file: %v", mode)
	}
	if shown := string(v.cfg.Settings.Render()); strings.Contains(shown, "assword") || !strings.Contains(shown, "tls.server.certPath=c,of,flag\n") {
		t.Errorf("shown:\n%s", shown)
	}
	if forbidden := v.cfg.Settings.Forbidden([]string{"tls.server.mode"}); len(forbidden) != 1 {
		t.Error("the mode may be changed over the wire")
	}
}

func TestTLSToBrokers(t *testing.T) {
	v := mustLoadTLS(t, "tls.test.mode.enable=false\ntls.client.certPath=c\ntls.client.keyPath=k\ntls.client.keyPassword=p\ntls.client.authServer=true\ntls.client.trustCertPath=t\n")
	want := gate.ClientTLS{Identity: gate.Identity{CertFile: "c", KeyFile: "k", KeyPassword: "p"}, VerifyServer: true, TrustFile: "t"}
	if diff := cmp.Diff(want, v.client()); diff != "" {
		t.Errorf("client (-want +got):\n%s", diff)
	}
	tests := []struct {
		name string
		args []string
		tls  bool
	}{
		{"enabled", []string{"-D", "tls.enable=True"}, true},
		{"not enabled", []string{"-D", "tls.enable=yes"}, false},
		{"enforced on the port", []string{"-D", "tls.server.mode=enforcing"}, true},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			cfg := mustLoadConfig(t, tc.args...)
			dial, err := brokerDial(cfg, tlsMode(cfg))
			if err != nil || (dial != nil) != tc.tls {
				t.Errorf("over TLS: %v, %v; want %v", dial != nil, err, tc.tls)
			}
		})
	}
}

func TestUnknownTLSValues(t *testing.T) {
	cfg := mustLoadConfig(t, "-D", "tls.server.mode=Enforcing", "-D", "tls.server.need.client.auth=always")
	var log bytes.Buffer
	cfg.Logger = hclog.New(&hclog.LoggerOptions{Output: &log})
	if _, err := clientGate(cfg, tlsMode(cfg)); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{`value=Enforcing`, "counts as permissive", "value=always", "mode=permissive"} {
		if !strings.Contains(log.String(), part) {
			t.Errorf("log lacks %q:\n%s", part, log.String())
		}
	}
}

func TestEnforcedTLSNeedsItsFiles(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	tests := []struct {
		name string
		args []string
		part string
	}{
		{"no certificate", []string{"-D", "tls.test.mode.enable=false"}, "tls.server.certPath and tls.server.keyPath"},
		{"a missing certificate", []string{"-D", "tls.test.mode.enable=false", "-D", "tls.server.certPath=" + missing, "-D", "tls.server.keyPath=x"}, missing},
		{"a missing file", []string{"-D", "tls.config.file=" + missing}, "tls.config.file " + missing},
		{"a broken file", []string{"-D", "tls.config.file=" + writeFile(t, `a=\u00`)}, "tls.config.file"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			args := []string{"server", "--data-dir", t.TempDir(), "--listen", "127.0.0.1:0", "--peer-listen", "127.0.0.1:0",
				"--admin-listen", "127.0.0.1:0", "--log-level", "off"}
			args = append(args, tc.args...)
			runProgram(t, append(args, "-D", "tls.server.mode=enforcing")...).oneLine(t, exitFailed, tc.part)
			for _, mode := range []gate.Mode{gate.Permissive, gate.Disabled} {
				if _, err := clientGate(mustLoadConfig(t, tc.args...), mode); err != nil {
					t.Errorf("%s: %v", mode, err)
				}
			}
		})
	}
}

func TestPropertyFlagRefuses(t *testing.T) {
	for _, value := range []string{"tls.server.mode", "tls.server.modus=x", "listenPort=1", "=x"} {
		runProgram(t, "server", "-D", value).oneLine(t, exitFailed, `-D "`+strings.SplitN(value, "=", 2)[0])
	}
}

// Every name of the stock server is taken from the file of -c without a warning.
func TestStockTLSNamesAreKnown(t *testing.T) {
	names, err := os.ReadFile(filepath.Join("testdata", "tls-stock.properties"))
	if err != nil {
		t.Fatal(err)
	}
	given, err := properties.Parse(names)
	if err != nil {
		t.Fatal(err)
	}
	_, warnings, err := settings.Load(settings.Source{File: given})
	if err != nil || len(warnings) > 0 || len(given) != 15 {
		t.Errorf("%d names: warnings %q, error %v", len(given), warnings, err)
	}
}
