package settings

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func mustLoad(t *testing.T, src Source) Settings {
	t.Helper()
	s, _, err := Load(src)
	if err != nil {
		t.Fatalf("Load: %v", err)
	}
	return s
}

func TestRenderShowsWhatTheStockServerShows(t *testing.T) {
	golden, err := os.ReadFile(filepath.Join("testdata", "stock-5.5.0.properties"))
	if err != nil {
		t.Fatal(err)
	}
	s := mustLoad(t, Source{File: map[string]string{"bindAddress": "127.0.0.1"}, Home: "h/home", RocketMQHome: "h"})
	if diff := cmp.Diff(string(golden), string(s.Render())); diff != "" {
		t.Errorf("Render (-stock +got):\n%s", diff)
	}
}

func TestRenderAddsUnknownAndOwn(t *testing.T) {
	s := mustLoad(t, Source{File: map[string]string{"my.extra": "hello world ", "nodeId": "n1", "join": "", "x": "1\nlistenPort=1\r"}})
	text := string(s.Render())
	for _, line := range []string{"my.extra=hello world \n", "nodeId=n1\n", `x=1\nlistenPort=1\r` + "\n"} {
		if !strings.Contains(text, "\n"+line) {
			t.Errorf("no line %q in:\n%s", line, text)
		}
	}
	for _, absent := range []string{"\njoin=", "\nlistenPort=1\n"} {
		if strings.Contains(text, absent) {
			t.Errorf("%q in:\n%s", absent, text)
		}
	}
	if lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n"); !slices.IsSorted(lines) {
		t.Error("lines are not sorted")
	}
}

func TestRenderHidesSecrets(t *testing.T) {
	s := mustLoad(t, Source{File: map[string]string{"tls.server.keyPassword": "secret", "tls.client.keyPassword": "secret", "tls.server.keyPath": "k"}})
	if text := string(s.Render()); strings.Contains(text, "assword") || !strings.Contains(text, "\ntls.server.keyPath=k\n") {
		t.Errorf("shown:\n%s", text)
	}
	for name, value := range s.Shown() {
		if value == "secret" {
			t.Errorf("%s is shown", name)
		}
	}
}

func TestWithConverts(t *testing.T) {
	tests := []struct {
		name, key, given string
		want             string
		warning          string // part of the only warning, "" for none
	}{
		{"text is trimmed", "productEnvName", " a b ", "a b", ""},
		{"a number", "listenPort", "10876", "10876", ""},
		{"a number with a sign", "listenPort", "+10876", "10876", ""},
		{"a number with a blank", "listenPort", "10876 ", "9876", "listenPort"},
		{"no number", "scanNotActiveBrokerInterval", "5s", "5000", "64 bits"},
		{"an empty number", "defaultThreadPoolNums", "", "16", `""`},
		{"a number above 32 bits", "listenPort", "4294967296", "9876", "32 bits"},
		{"true", "orderMessageEnable", "TRUE", "true", ""},
		{"not quite true", "orderMessageEnable", "true ", "false", "counts as false"},
		{"false", "enableTopicList", "False", "false", ""},
		{"unknown", "noSuchKey", " x ", " x ", "noSuchKey"},
		{"idle switch off", "clusterTest", "false", "false", ""},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			s, warnings, err := mustLoad(t, Source{}).With(map[string]string{tc.key: tc.given})
			if err != nil {
				t.Fatalf("With: %v", err)
			}
			if got, _ := s.Value(tc.key); got != tc.want {
				t.Errorf("value %q, want %q", got, tc.want)
			}
			switch {
			case tc.warning == "" && len(warnings) > 0:
				t.Errorf("unexpected warnings %q", warnings)
			case tc.warning != "" && (len(warnings) != 1 || !strings.Contains(warnings[0], tc.warning)):
				t.Errorf("warnings %q, want one with %q", warnings, tc.warning)
			}
		})
	}
}

func TestLoadRefuses(t *testing.T) {
	tests := []struct {
		name string
		file map[string]string
		want []string // parts of the message
	}{
		{"a boolean that is none", map[string]string{"enableTopicList": "maybe"}, []string{"enableTopicList", `"maybe"`, "neither true nor false"}},
		{"a boolean with a blank", map[string]string{"enableTopicList": "true "}, []string{"enableTopicList", `"true "`}},
		{"a number that is none", map[string]string{"scanNotActiveBrokerInterval": "5s"}, []string{"scanNotActiveBrokerInterval", `"5s"`, "64 bits"}},
		{"a port out of range", map[string]string{"listenPort": "70000"}, []string{"listenPort", "70000", "65535"}},
		{"a negative port", map[string]string{"listenPort": "-1"}, []string{"listenPort"}},
		{"a pool without a thread", map[string]string{"clientRequestThreadPoolNums": "0"}, []string{"clientRequestThreadPoolNums"}},
		{"an immense queue", map[string]string{"defaultThreadPoolQueueCapacity": "2147483647"}, []string{"defaultThreadPoolQueueCapacity"}},
		{"a scan that never rests", map[string]string{"scanNotActiveBrokerInterval": "-1"}, []string{"scanNotActiveBrokerInterval"}},
		{"an idle time of nothing", map[string]string{"serverChannelMaxIdleTimeSeconds": "0"}, []string{"serverChannelMaxIdleTimeSeconds"}},
		{"a negative wait", map[string]string{"waitSecondsForService": "-1"}, []string{"waitSecondsForService"}},
		{"no address", map[string]string{"bindAddress": " "}, []string{"bindAddress"}},
		{"water marks the wrong way round", map[string]string{"writeBufferHighWaterMark": "1", "writeBufferLowWaterMark": "2"},
			[]string{"writeBufferLowWaterMark=2"}},
		{"test clusters", map[string]string{"clusterTest": "true"}, []string{"clusterTest is not supported"}},
		{"a controller", map[string]string{"enableControllerInNamesrv": "true"}, []string{"enableControllerInNamesrv is not supported"}},
		{"several at once", map[string]string{"listenPort": "-1", "clusterTest": "true"}, []string{"listenPort", "clusterTest"}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			_, _, err := Load(Source{File: tc.file})
			if !errors.Is(err, ErrRefused) {
				t.Fatalf("Load = %v, want ErrRefused", err)
			}
			for _, part := range tc.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("message %q lacks %q", err, part)
				}
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("message of several lines: %q", err)
			}
		})
	}
}

func TestShownIsNotEscaped(t *testing.T) {
	odd := `C:\users\x`
	s := mustLoad(t, Source{File: map[string]string{"productEnvName": odd, "x": "1\n2"}})
	if shown := s.Shown(); shown["productEnvName"] != odd || shown["x"] != "1\n2" || shown["listenPort"] != "9876" {
		t.Errorf("shown: %q", shown)
	}
	if text := string(s.Render()); !strings.Contains(text, "\nproductEnvName="+odd+"\n") { // as the stock server answers
		t.Errorf("rendered:\n%s", text)
	}
}

func TestAccepted(t *testing.T) {
	got := Accepted(map[string]string{"listenPort": "+1", "scanNotActiveBrokerInterval": "5s", "orderMessageEnable": "maybe", "productEnvName": " a ", "noSuchKey": "x"})
	want := map[string]string{"listenPort": "1", "orderMessageEnable": "false", "productEnvName": "a"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Accepted (-want +got):\n%s", diff)
	}
}

func TestMessagesNameTheLine(t *testing.T) {
	tests := []struct {
		name       string
		key, value string
		want       string
	}{
		{"a key that nobody knows", "noSuchKey", "1", `line 7: unknown setting "noSuchKey"`},
		{"an empty key", "", "x", `line 7: unknown setting ""`},
		{"a value of another kind", "listenPort", "x", `line 7: listenPort: "x" is not`},
		{"a value out of range", "listenPort", "70000", "line 7: listenPort is 70000"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			_, warnings, err := Load(Source{File: map[string]string{tc.key: tc.value}, Lines: map[string]int{tc.key: 7}})
			if said := fmt.Sprint(warnings, err); !strings.Contains(said, tc.want) {
				t.Errorf("said %q, want %q", said, tc.want)
			}
		})
	}
}

func TestWithLeavesTheReceiverAlone(t *testing.T) {
	before := mustLoad(t, Source{File: map[string]string{"listenPort": "1", "x": "1"}})
	shown := string(before.Render())
	after, _, err := before.With(map[string]string{"listenPort": "2", "x": "2", "defaultThreadPoolNums": "many"})
	if err != nil {
		t.Fatalf("With: %v", err)
	}
	if got := after.ListenPort(); got != 2 {
		t.Errorf("port after With is %d", got)
	}
	same, _, err := after.With(map[string]string{"listenPort": "3", "scanNotActiveBrokerInterval": "0"})
	if !errors.Is(err, ErrRefused) || same.ListenPort() != 2 {
		t.Errorf("a refused change: port %d, error %v", same.ListenPort(), err)
	}
	if diff := cmp.Diff(shown, string(before.Render())); diff != "" {
		t.Errorf("With changed its receiver:\n%s", diff)
	}
	kept, warnings, err := after.With(map[string]string{"listenPort": "x"})
	if err != nil || kept.ListenPort() != 2 || len(warnings) != 1 {
		t.Errorf("a bad number: port %d, warnings %q, error %v", kept.ListenPort(), warnings, err)
	}
}

func TestConfigStorePathIsTheFile(t *testing.T) {
	s := mustLoad(t, Source{File: map[string]string{"configStorePath": "/else"}, ConfigFile: "ns.properties", Home: "/home/u"})
	if got := s.ConfigStorePath(); got != "ns.properties" {
		t.Errorf("configStorePath %q", got)
	}
	if got := s.KVConfigPath(); got != "/home/u/namesrv/kvConfig.json" {
		t.Errorf("kvConfigPath %q", got)
	}
}

func TestTypedValues(t *testing.T) {
	var zero Settings
	workers, queue := zero.ClientRequestPool()
	defaultWorkers, defaultQueue := zero.DefaultPool()
	got := []any{zero.BindAddress(), zero.ListenPort(), workers, queue, defaultWorkers, defaultQueue, zero.ScanInterval(),
		zero.IdleTimeout(), zero.HighWaterMark(), zero.NeedWaitForService(), zero.WaitForService(), zero.ShutdownGracefully(), zero.ShutdownWait()}
	want := []any{"0.0.0.0", 9876, 8, 50000, 16, 10000, 5 * time.Second,
		120 * time.Second, 0, false, 45 * time.Second, false, 30 * time.Second}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("defaults (-want +got):\n%s", diff)
	}
}

func TestEveryDefaultIsInRange(t *testing.T) {
	for _, key := range table {
		if key.Kind == Text {
			continue
		}
		value, ok, warning := key.convert(key.Default)
		if !ok || warning != "" || value != key.Default || key.check(value) != "" {
			t.Errorf("%s: default %q does not stand its own check", key.Name, key.Default)
		}
	}
	if len(byName) != len(table) {
		t.Error("a name is listed twice")
	}
}

func TestClusterOptions(t *testing.T) {
	s := mustLoad(t, Source{File: map[string]string{"orderMessageEnable": "TRUE", "listenPort": "1"}})
	want := map[string]string{"orderMessageEnable": "true"} // what was not given is no opinion
	got := s.ClusterOptions()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ClusterOptions (-want +got):\n%s", diff)
	}
	for _, name := range slices.Collect(maps.Keys(got)) {
		if key, ok := Lookup(name); !ok || !key.Cluster || !key.Live {
			t.Errorf("Lookup(%s) = %+v, %v", name, key, ok)
		}
	}
}

func TestForbidden(t *testing.T) {
	s := mustLoad(t, Source{File: map[string]string{"configBlackList": "listenPort; bindAddress"}})
	names := []string{"rocketmqHome", "orderMessageEnable", "kvConfigPath", "listenPort", "bindAddress", "join", "unknown"}
	want := []string{"bindAddress", "join", "kvConfigPath", "listenPort", "rocketmqHome"}
	if diff := cmp.Diff(want, s.Forbidden(names)); diff != "" {
		t.Errorf("Forbidden (-want +got):\n%s", diff)
	}
}
