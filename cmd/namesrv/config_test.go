package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/urfave/cli/v2"
)

// writeFile makes a file of a test and returns its path.
func writeFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// loadConfig reads the configuration of a server called with args, and runs none.
func loadConfig(t *testing.T, args ...string) (*serverConfig, error) {
	t.Helper()
	var cfg *serverConfig
	var out bytes.Buffer
	app := newApp(strings.NewReader(""), &out, &out)
	app.Command(serverName).Action = func(c *cli.Context) (err error) {
		cfg, err = loadServerConfig(c)
		return err
	}
	err := app.RunContext(t.Context(), append([]string{"namesrv", serverName}, args...))
	return cfg, err
}

func mustLoadConfig(t *testing.T, args ...string) *serverConfig {
	t.Helper()
	cfg, err := loadConfig(t, args...)
	if err != nil {
		t.Fatalf("load %v: %v", args, err)
	}
	return cfg
}

func TestDefaultsMakeACompleteServer(t *testing.T) {
	t.Setenv("HOME", "/home/u")
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	cfg := mustLoadConfig(t)
	got := []any{cfg.NodeID, cfg.NodeIDGiven, cfg.DataDir, cfg.Listen.String(), cfg.Advertise.String(), cfg.PeerListen.String(),
		cfg.PeerAdvertise.String(), cfg.AdminListen.String(), cfg.AdminAdvertise.String(), cfg.BootstrapExpect, len(cfg.Join),
		cfg.RaftProfile, cfg.ReadConsistency, cfg.OnNoLeader, cfg.LogLevel, cfg.LogJSON, cfg.Serialize, cfg.Settings.KVConfigPath()}
	want := []any{host, false, "/home/u/namesrv/raft", "0.0.0.0:9876", host + ":9876", "127.0.0.1:9875",
		"127.0.0.1:9875", "127.0.0.1:9874", "127.0.0.1:9874", formAlone, 0,
		"lan", "linearizable", "serve", "info", false, "JSON", "/home/u/namesrv/kvConfig.json"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("defaults (-want +got):\n%s", diff)
	}
	if len(cfg.Warnings) > 0 {
		t.Errorf("warnings %q", cfg.Warnings)
	}
}

func TestPrecedence(t *testing.T) {
	file := writeFile(t, "listenPort=1001\nbindAddress=127.0.0.2\nnodeId=from-file\nlogJson=true\nraftProfile=wan\njoin=a:1, b:1\nbootstrapExpect=0\n")
	cfg := mustLoadConfig(t, "-c", file)
	if got := cfg.Listen.String() + " " + cfg.NodeID + " " + cfg.RaftProfile + " " + joinText(cfg.Join); got != "127.0.0.2:1001 from-file wan a:1,b:1" {
		t.Errorf("from the file: %s", got)
	}
	if !cfg.LogJSON || !cfg.NodeIDGiven || cfg.BootstrapExpect != 0 {
		t.Errorf("from the file: %+v", cfg)
	}

	t.Setenv("NAMESRV_LISTEN", "127.0.0.3:1002")
	t.Setenv("NAMESRV_NODE_ID", "from-env")
	t.Setenv("NAMESRV_JOIN", "")
	t.Setenv("NAMESRV_LOG_JSON", "false")
	t.Setenv("NAMESRV_CONFIG_FILE", file)
	cfg = mustLoadConfig(t)
	if got := cfg.Listen.String() + " " + cfg.NodeID + " " + cfg.RaftProfile + " " + joinText(cfg.Join); got != "127.0.0.3:1002 from-env wan a:1,b:1" {
		t.Errorf("environment over file: %s", got)
	}
	if cfg.LogJSON {
		t.Error("NAMESRV_LOG_JSON=false does not win over the file")
	}

	cfg = mustLoadConfig(t, "--listen", ":1003", "--node-id", "from-flag")
	if got := cfg.Listen.String() + " " + cfg.NodeID; got != "0.0.0.0:1003 from-flag" {
		t.Errorf("flag over environment: %s", got)
	}
	shown := string(cfg.Settings.Render())
	for _, line := range []string{"bindAddress=0.0.0.0", "listenPort=1003", "nodeId=from-flag", "raftProfile=wan", "configStorePath=" + file} {
		if !strings.Contains("\n"+shown, "\n"+line+"\n") {
			t.Errorf("settings in force lack %s:\n%s", line, shown)
		}
	}
}

func TestPeersOfAGroup(t *testing.T) {
	list := "ns1:9875,NS2:9875,[2001:db8::3]:9875"
	cfg := mustLoadConfig(t, "--bootstrap-expect", "3", "--join", list, "--peer-advertise", "ns2:9875",
		"--admin-listen", "0.0.0.0:9874", "--admin-token-file", writeFile(t, " secret\n"), "--advertise", "ns2:9876")
	if cfg.PeerListen.String() != "0.0.0.0:9875" || cfg.BootstrapExpect != 3 || len(cfg.Join) != 3 || cfg.AdminToken != "secret" {
		t.Errorf("a peer of three: %+v", cfg)
	}
	if len(cfg.Warnings) != 1 || !strings.Contains(cfg.Warnings[0], "--peer-ca") {
		t.Errorf("warnings %q, want one about the open peer port", cfg.Warnings)
	}
	for name, args := range map[string][]string{
		"waiting":           {"--bootstrap-expect", "0"},
		"asking":            {"--bootstrap-expect", "0", "--join", "ns1:9875"},
		"one that may grow": {"--bootstrap-expect", "1"},
		"one, spelt out":    {"--bootstrap-expect", "1", "--join", "ns1:9875", "--peer-advertise", "ns1:9875"},
		"any free ports":    {"--listen", "127.0.0.1:0", "--peer-listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"},
		"one port each":     {"--listen", "127.0.0.1:99", "--peer-listen", "127.0.0.2:99"},
	} {
		if _, err := loadConfig(t, args...); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestServerRefuses(t *testing.T) {
	empty, words := writeFile(t, "\n"), writeFile(t, "two words")
	perhaps := writeFile(t, "logJson=perhaps\n")
	maybe := writeFile(t, "enableTopicList=maybe\n")
	broken, ports, test := writeFile(t, "a=1\nb=\\uZZ\n"), writeFile(t, "listenPort=70000\n"), writeFile(t, "clusterTest=true\n")
	tests := []struct {
		name  string
		args  []string
		parts []string
	}{
		{"no such file", []string{"-c", "/nonexistent"}, []string{"-c", "/nonexistent"}},
		{"a file that does not parse", []string{"-c", broken}, []string{broken, "line 2"}},
		{"a setting of another kind", []string{"-c", maybe}, []string{maybe, `enableTopicList: "maybe" is neither true nor false`}},
		{"a setting out of range", []string{"-c", ports}, []string{ports, "listenPort is 70000"}},
		{"a setting without support", []string{"-c", test}, []string{"clusterTest is not supported"}},
		{"a switch that is neither", []string{"-c", perhaps}, []string{"--log-json", "perhaps"}},
		{"an address without port", []string{"--listen", "9876"}, []string{"--listen", "HOST:PORT"}},
		{"a port out of range", []string{"--listen", ":70000"}, []string{"--listen", "65535"}},
		{"a strange host", []string{"--peer-listen", "a/b:1"}, []string{"--peer-listen"}},
		{"advertising nothing", []string{"--advertise", "0.0.0.0:9876"}, []string{"--advertise", "0.0.0.0:9876", "leads nowhere"}},
		{"advertising nothing in IPv6", []string{"--peer-advertise", "[::]:9875"}, []string{"--peer-advertise", "leads nowhere"}},
		{"advertising no port", []string{"--advertise", "a:0"}, []string{"--advertise", "port 0"}},
		{"one port twice", []string{"--listen", ":9875"}, []string{"--listen", "--peer-listen", "same port"}},
		{"no number of peers", []string{"--bootstrap-expect", "three"}, []string{"--bootstrap-expect", "three"}},
		{"a negative number of peers", []string{"--bootstrap-expect", "-1"}, []string{"--bootstrap-expect"}},
		{"peers without a number", []string{"--join", "a:1,b:1"}, []string{"--join needs --bootstrap-expect: 2"}},
		{"too few peers", []string{"--bootstrap-expect", "3", "--join", "a:1,b:1"}, []string{"exactly 3", "there are 2"}},
		{"no peers", []string{"--bootstrap-expect", "3"}, []string{"exactly 3", "there are 0"}},
		{"not among the peers", []string{"--bootstrap-expect", "2", "--join", "a:1,b:1", "--peer-advertise", "c:1"}, []string{"--peer-advertise", "c:1", "a:1,b:1"}},
		{"a peer twice", []string{"--bootstrap-expect", "2", "--join", "a:1,A:1", "--peer-advertise", "a:1"}, []string{"--join", "listed twice"}},
		{"a peer nowhere", []string{"--bootstrap-expect", "0", "--join", "0.0.0.0:1"}, []string{"--join", "leads nowhere"}},
		{"half of TLS", []string{"--peer-ca", "ca.pem"}, []string{"--peer-ca", "--peer-cert", "--peer-key"}},
		{"an open HTTP port", []string{"--admin-listen", "0.0.0.0:9874"}, []string{"--admin-listen", "--admin-token-file"}},
		{"no token file", []string{"--admin-token-file", "/nonexistent"}, []string{"--admin-token-file", "/nonexistent"}},
		{"an empty token", []string{"--admin-token-file", empty}, []string{"--admin-token-file", "one word"}},
		{"a token of two words", []string{"--admin-token-file", words}, []string{"one word"}},
		{"a strange name", []string{"--node-id", "n1@host"}, []string{"--node-id", "n1@host"}},
		{"a log level", []string{"--log-level", "loud"}, []string{"--log-level", "loud"}},
		{"a profile", []string{"--raft-profile", "moon"}, []string{"--raft-profile", "lan, wan"}},
		{"a consistency", []string{"--read-consistency", "some"}, []string{"--read-consistency"}},
		{"a policy", []string{"--on-no-leader", "panic"}, []string{"--on-no-leader"}},
		{"several at once", []string{"--on-no-leader", "x", "--log-level", "y"}, []string{"--on-no-leader", "--log-level"}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			runProgram(t, append([]string{"server"}, tc.args...)...).oneLine(t, exitFailed, tc.parts...)
		})
	}
}

func TestServerRefusesItsEnvironment(t *testing.T) {
	t.Run("serialization", func(t *testing.T) {
		t.Setenv("ROCKETMQ_SERIALIZE_TYPE", "XML")
		runProgram(t, "server").oneLine(t, exitFailed, "ROCKETMQ_SERIALIZE_TYPE", "JSON, ROCKETMQ")
	})
	t.Run("no home", func(t *testing.T) {
		t.Setenv("HOME", "")
		runProgram(t, "server").oneLine(t, exitFailed, "--data-dir")
	})
}

func TestPrintConfig(t *testing.T) {
	file := writeFile(t, "my.extra = hello\r\norderMessageEnable=TRUE\r\n")
	got := runProgram(t, "server", "-p", "-c", file, "-n", "ignored:9876")
	if got.code != exitDone {
		t.Fatalf("exit code %d: %s", got.code, got.stderr)
	}
	for _, line := range []string{"listenPort=9876", "my.extra=hello", "orderMessageEnable=true", "bindAddress=0.0.0.0"} {
		if !strings.Contains("\n"+got.stdout, "\n"+line+"\n") {
			t.Errorf("stdout lacks %s:\n%s", line, got.stdout)
		}
	}
	if !strings.Contains(got.stderr, "my.extra") {
		t.Errorf("no warning with my.extra:\n%s", got.stderr)
	}
}

func TestVariable(t *testing.T) {
	for flag, want := range map[string]string{"node-id": "NAMESRV_NODE_ID", "configFile": "NAMESRV_CONFIG_FILE", "join": "NAMESRV_JOIN"} {
		if got := variable(flag); got != want {
			t.Errorf("variable(%s) = %s, want %s", flag, got, want)
		}
	}
}
