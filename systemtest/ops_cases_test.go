package systemtest_test

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"namesrv/internal/rocketmq"
	"namesrv/systemtest"
)

const (
	codeGetConfig = 319
	noPermission  = 16
)

// writeFile writes a file into a folder of the test's own and gives its path.
func writeFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// stored checks one key at a server; "" means that it must not be there.
func stored(t *testing.T, n *systemtest.Node, key, want string) {
	t.Helper()
	answer := ask(t, n.Client, rocketmq.GetKV("ns", key))
	switch {
	case want == "" && answer.Code != rocketmq.QueryNotFound:
		t.Errorf("%s: key %s is there: %+v", n.ID, key, answer)
	case want != "" && answer.Fields["value"] != want:
		t.Errorf("%s: key %s: %+v, want %q", n.ID, key, answer, want)
	}
}

const stockKeys = `{"configTable":{"ns":{"kept":"from the stock server","deleted":"from the stock server"}}}`

// TestStockKeysAreTakenOverOnce promises that a kvConfig.json is taken over by a new server and by no later start, which
// would bring deleted keys back, and that one that is damaged then does not matter any more.
func TestStockKeysAreTakenOverOnce(t *testing.T) {
	file := writeFile(t, "kvConfig.json", stockKeys)
	n := newNode(t, "n1", "-c", writeFile(t, "namesrv.properties", "kvConfigPath="+file+"\n"))
	if err := n.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	stored(t, n, "kept", "from the stock server")
	mustCommand(t, n, "kv", "delete", "ns", "deleted")
	mustCommand(t, n, "kv", "put", "ns", "new", "by hand")
	for _, text := range []string{stockKeys, "", `{"configTable":{"ns":{"kept"`} {
		n.Kill()
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := n.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		stored(t, n, "kept", "from the stock server")
		stored(t, n, "deleted", "")
		stored(t, n, "new", "by hand")
	}
	export := filepath.Join(t.TempDir(), "export.json")
	mustCommand(t, n, "kv", "export", export)
	n.Kill()
	t.Run("carried over by hand", func(t *testing.T) { carriedOver(t, export) })
}

// carriedOver imports an exported file and damaged ones, which must change nothing.
func carriedOver(t *testing.T, export string) {
	n := startNode(t, "other")
	whole, err := os.ReadFile(export)
	if err != nil {
		t.Fatal(err)
	}
	damaged := map[string]string{"empty": "", "cut": string(whole[:len(whole)-3]), "with garbage behind": string(whole) + "x"}
	for name, text := range damaged {
		code, _, stderr := run(t, "kv", "import", writeFile(t, "kv.json", text), "--admin", "http://"+n.Admin)
		if code != 1 || !strings.Contains(stderr, "nothing was changed") {
			t.Errorf("%s: exit code %d: %s", name, code, stderr)
		}
	}
	stored(t, n, "kept", "")
	mustCommand(t, n, "kv", "import", export)
	stored(t, n, "kept", "from the stock server")
	stored(t, n, "deleted", "")
	stored(t, n, "new", "by hand")
}

// TestDamagedStockKeysAreNotTakenOver promises that a new server does not begin without the keys that a damaged file
// cannot give: it says which file, and begins when that is mended.
func TestDamagedStockKeysAreNotTakenOver(t *testing.T) {
	for name, text := range map[string]string{"empty": "", "cut": stockKeys[:len(stockKeys)-9], "with garbage behind": stockKeys + stockKeys} {
		t.Run(name, func(t *testing.T) {
			file := writeFile(t, "kvConfig.json", text)
			n := newNode(t, "n1", "-c", writeFile(t, "namesrv.properties", "kvConfigPath="+file+"\n"))
			refused(t, n, file, "nothing was changed")
			if err := os.WriteFile(file, []byte(stockKeys), 0o644); err != nil {
				t.Fatal(err)
			}
			if err := n.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			stored(t, n, "kept", "from the stock server")
		})
	}
}

// TestAcknowledgedKeysSurviveAKill promises that a server alone has every acknowledged key after kill -9 in the middle of
// further puts.
func TestAcknowledgedKeysSurviveAKill(t *testing.T) {
	n := startNode(t, "n1")
	w := &writer{conn: dial(t, n.Client)}
	var wg sync.WaitGroup
	wg.Go(func() { w.writeKV(t.Context()) })
	eventually(t, time.Minute, "100 keys", func() error {
		if got := w.acked.Load(); got < 100 {
			return fmt.Errorf("%d keys", got)
		}
		return nil
	})
	n.Kill()
	wg.Wait()
	if err := n.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	checkAcked(t, n, []*writer{w})
}

// shown is what a server says of its settings.
func shown(t *testing.T, n *systemtest.Node) string {
	t.Helper()
	answer := ask(t, n.Client, &rocketmq.Frame{Code: codeGetConfig})
	if answer.Code != rocketmq.Success {
		t.Fatalf("code %d: %s", answer.Code, answer.Remark)
	}
	return string(answer.Body)
}

// TestNobodyDegradesTheServer promises that settings which could not work, and those that belong to the one who starts the
// server, are refused over the wire, all those sent together, and leave nothing behind: neither in force nor in the file
// of the next start.
func TestNobodyDegradesTheServer(t *testing.T) {
	file := writeFile(t, "namesrv.properties", "clientRequestThreadPoolNums=12\n")
	n := newNode(t, "n1", "-c", file)
	if err := n.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := shown(t, n)
	tests := []struct {
		name string
		body string
		code int
	}{
		{"no threads", "clientRequestThreadPoolNums=0", rocketmq.SystemError},
		{"an interval below nothing", "scanNotActiveBrokerInterval=-1", rocketmq.SystemError},
		{"no such port", "listenPort=70000", rocketmq.SystemError},
		{"a good one beside a bad one", "orderMessageEnable=true\nwaitSecondsForService=-1", rocketmq.SystemError},
		{"the list of what is refused", "configBlackList=none", noPermission},
		{"the file of the keys", "kvConfigPath=/tmp/elsewhere", noPermission},
		{"the data directory", "dataDir=/tmp/elsewhere", noPermission},
		{"the other peers", "join=192.0.2.1:9875", noPermission},
		{"TLS", "tls.server.mode=disabled", noPermission},
		{"a good one beside a forbidden one", "orderMessageEnable=true\nrocketmqHome=/tmp", noPermission},
		{"no properties", `orderMessageEnable=\u00`, rocketmq.SystemError},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if answer := ask(t, n.Client, rocketmq.UpdateConfig(tt.body)); answer.Code != tt.code {
				t.Errorf("code %d %s, want %d", answer.Code, answer.Remark, tt.code)
			}
			if diff := cmp.Diff(before, shown(t, n)); diff != "" {
				t.Errorf("something was changed:\n%s", diff)
			}
		})
	}
	n.Kill()
	if err := n.Start(t.Context()); err != nil {
		t.Fatalf("the next start: %v", err)
	}
	if diff := cmp.Diff(before, shown(t, n)); diff != "" {
		t.Errorf("after the next start:\n%s", diff)
	}
}

// TestForeignTypesAndDepth promises that the name of a Java class in a body is a member that nobody asked for, wherever it
// stands, and that a body nested without end is refused and harms nobody.
func TestForeignTypesAndDepth(t *testing.T) {
	n := startNode(t, "n1")
	r := rocketmq.Registration{Cluster: "c", Broker: "typed", Addr: "10.3.3.3:10911", Topics: []string{"typed-1", "typed-2"}}
	send := func(change func(body []byte) []byte) *rocketmq.Frame {
		f := r.Frame()
		f.Body = change(f.Body)
		f.Fields["bodyCrc32"] = strconv.Itoa(int(crc32.ChecksumIEEE(f.Body) & 0x7fffffff))
		conn := dial(t, n.Client)
		answer, err := conn.Call(within(t, 10*time.Second), f)
		if err != nil {
			t.Fatal(err)
		}
		return answer
	}
	typed := 0
	answer := send(func(body []byte) []byte {
		for _, first := range []string{"filterServerList", "dataVersion", "counter", "attributes"} { // of each kind of object
			object := []byte(`{"` + first + `"`)
			typed += bytes.Count(body, object)
			body = bytes.ReplaceAll(body, object, []byte(`{"@type":"com.sun.rowset.JdbcRowSetImpl","`+first+`"`))
		}
		return body
	})
	if typed != 6 || answer.Code != rocketmq.Success {
		t.Errorf("%d objects with a type: code %d: %s", typed, answer.Code, answer.Remark)
	}
	for _, topic := range r.Topics {
		answer := ask(t, n.Client, rocketmq.RouteOf(topic, 513))
		if err := has(answer.Body, r.Addr); err != nil {
			t.Error(err)
		}
		if err := lacks(answer.Body, "@type"); err != nil {
			t.Error(err)
		}
	}
	const depth = 100_000
	for _, nest := range []string{"[", `{"a":`} {
		answer := send(func(body []byte) []byte {
			return bytes.Replace(body, []byte(`{"filterServerList":`), []byte(`{"a":`+strings.Repeat(nest, depth)+`,"filterServerList":`), 1)
		})
		if answer.Code != rocketmq.SystemError {
			t.Errorf("%d times %q: code %d", depth, nest, answer.Code)
		}
	}
	if err := has(ask(t, n.Client, rocketmq.RouteOf("typed-1", 513)).Body, r.Addr); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// TestSettingsShownAreInForce promises that a server shows over the wire what -p prints for the same command line, file
// and environment, that a change shows at once and after the next start, and that none moves its port while it runs.
func TestSettingsShownAreInForce(t *testing.T) {
	file := writeFile(t, "namesrv.properties", "# by hand\r\norderMessageEnable=true\r\nnoSuchKey=größer\r\nscanNotActiveBrokerInterval=7000\r\nlistenPort=1\r\n")
	n := newNode(t, "n1", "-c", file)
	if err := n.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	code, printed, stderr := run(t, append(n.Args(), "-p")...)
	if code != 0 {
		t.Fatalf("-p ended with %d: %s", code, stderr)
	}
	if diff := cmp.Diff(printed, shown(t, n)); diff != "" {
		t.Errorf("-p printed, -319 shows:\n%s", diff)
	}
	_, port, _ := strings.Cut(n.Client, ":")
	showsSettings(t, n, "orderMessageEnable=true", "noSuchKey=größer", "scanNotActiveBrokerInterval=7000", "listenPort="+port)
	answer := ask(t, n.Client, rocketmq.UpdateConfig("scanNotActiveBrokerInterval=6000", "deleteTopicWithBrokerRegistration=true", "anotherKey=1", "listenPort=2"))
	if answer.Code != rocketmq.Success {
		t.Fatalf("code %d: %s", answer.Code, answer.Remark)
	}
	changed := []string{"orderMessageEnable=true", "noSuchKey=größer", "scanNotActiveBrokerInterval=6000", "deleteTopicWithBrokerRegistration=true"}
	showsSettings(t, n, changed...)
	if !n.Stop() {
		t.Error("it had to be killed")
	}
	if err := n.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	showsSettings(t, n, append(changed, "listenPort="+port)...)
}

// showsSettings checks that the settings a server shows are lines in UTF-8, and that these are among them.
func showsSettings(t *testing.T, n *systemtest.Node, want ...string) {
	t.Helper()
	text := shown(t, n)
	if !utf8.ValidString(text) {
		t.Errorf("not UTF-8: %q", text)
	}
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		if !strings.Contains(line, "=") {
			t.Errorf("not a setting: %q", line)
		}
	}
	for _, line := range want {
		if !strings.Contains("\n"+text, "\n"+line+"\n") {
			t.Errorf("no line %q in\n%s", line, text)
		}
	}
}

// TestSettingsThatCannotWork promises that a file with a mistake is refused at the start, with the key or the line.
func TestSettingsThatCannotWork(t *testing.T) {
	tests := []struct{ name, text, says string }{
		{"out of range", "clientRequestThreadPoolNums=0\n", "clientRequestThreadPoolNums"},
		{"not a number", "scanNotActiveBrokerInterval=5s\n", "scanNotActiveBrokerInterval"},
		{"no properties", "orderMessageEnable=\\u00zz\n", "namesrv.properties"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			refused(t, newNode(t, "n1", "-c", writeFile(t, "namesrv.properties", tt.text)), tt.says)
		})
	}
}
