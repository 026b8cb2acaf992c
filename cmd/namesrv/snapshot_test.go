package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"namesrv/admin"
	"namesrv/fsm"
)

// tablesOf are saved tables with one key.
func tablesOf(t *testing.T) []byte {
	t.Helper()
	m := fsm.New()
	m.Apply(1, fsm.EncodePutKV("NS", "k", "v"))
	m.Apply(2, fsm.EncodeRegister(&fsm.Registration{Broker: "b", Addr: "h:1", Cluster: "C"}))
	var out bytes.Buffer
	if err := m.State().WriteSnapshot(&out, 2); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestSnapshotFileAndBack(t *testing.T) {
	p := servePeer(t, "")
	p.uuid, p.snapshot = "u-1", tablesOf(t)
	file := filepath.Join(t.TempDir(), "x.save")
	saved := runProgram(t, "snapshot", "save", file)
	inspected := runProgram(t, "snapshot", "inspect", file)
	if saved.code != exitDone || saved != inspected {
		t.Fatalf("saved %+v, inspected %+v", saved, inspected)
	}
	for _, part := range []string{"cluster        u-1", "log index      42", "brokers        1", "namespaces     1", "digest         "} {
		if !strings.Contains(inspected.stdout, part) {
			t.Errorf("no %q in:\n%s", part, inspected.stdout)
		}
	}
	var s summary
	if err := json.Unmarshal([]byte(runProgram(t, "snapshot", "inspect", file, "-o", "json").stdout), &s); err != nil || s.Addresses != 1 || s.Cluster != "u-1" || s.Saved.IsZero() {
		t.Errorf("%+v, %v", s, err)
	}
	if got := runProgram(t, "snapshot", "restore", file); got.code != exitDone || !strings.HasPrefix(got.stdout, "restored "+file+": 0 topics, 1 broker address, 1 key of 1 namespace\n") || !bytes.Equal(p.restored, p.snapshot) {
		t.Errorf("restored: %+v", got)
	}
	p.uuid, p.restored = "u-2", nil
	runProgram(t, "snapshot", "restore", file).oneLine(t, exitFailed, `cluster "u-1"`, `"u-2"`, "--force")
	if p.restored != nil {
		t.Error("a backup of another cluster was restored")
	}
	t.Setenv("NAMESRV_FORCE", "true") // of whoever set it for another command
	runProgram(t, "snapshot", "restore", file).oneLine(t, exitFailed, "--force")
	if p.restored != nil {
		t.Error("a variable restored a backup of another cluster")
	}
	if got := runProgram(t, "snapshot", "restore", file, "--force"); got.code != exitDone || p.restored == nil {
		t.Errorf("forced: %+v", got)
	}
}

func TestSpoiltBackupsAreRefused(t *testing.T) {
	p := servePeer(t, "")
	p.snapshot = tablesOf(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "x.save")
	runProgram(t, "snapshot", "save", file)
	good, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	flipped := func(at int) []byte {
		b := bytes.Clone(good)
		b[at] ^= 1
		return b
	}
	for name, tc := range map[string]struct {
		file []byte
		want string
	}{
		"empty":            {nil, "does not begin"},
		"something else":   {[]byte("{}"), "does not begin"},
		"format 0":         {flipped(len(backupMagic) + 3), "format 0"},
		"a newer format":   {newer(good), "newer format 2, this program knows 1: use a newer namesrv"},
		"another product":  {append([]byte("REDIS0011"), good[9:]...), "does not begin"},
		"a Raft snapshot":  {append([]byte("namesrv\x00"), good[8:]...), "does not begin"},
		"tables alone":     {p.snapshot, "does not begin"},
		"cut":              {good[:len(good)-1], "cut short"},
		"half":             {good[:len(good)/2], "cut short"},
		"cut in its head":  {good[:len(backupMagic)+12], "cut short"},
		"too long":         {append(bytes.Clone(good), 'x'), "goes on after its end"},
		"damaged header":   {flipped(len(backupMagic) + 12), "checksum"},
		"damaged tables":   {flipped(len(good) - 20), "checksum"},
		"damaged checksum": {flipped(len(good) - 1), "checksum"},
	} {
		t.Run(name, func(t *testing.T) {
			bad := filepath.Join(dir, "bad.save")
			if err := os.WriteFile(bad, tc.file, 0o600); err != nil {
				t.Fatal(err)
			}
			runProgram(t, "snapshot", "inspect", bad).oneLine(t, exitFailed, bad, tc.want)
			runProgram(t, "snapshot", "restore", bad, "--force").oneLine(t, exitFailed, tc.want, "nothing was changed")
		})
	}
	if p.restored != nil {
		t.Error("something was restored")
	}
	runProgram(t, "snapshot", "inspect", filepath.Join(dir, "none")).oneLine(t, exitFailed, "no such file")
	runProgram(t, "snapshot", "save", "/nonexistent/x").oneLine(t, exitFailed, "/nonexistent/x:")
	p.snapshot = p.snapshot[:len(p.snapshot)-1]
	runProgram(t, "snapshot", "save", filepath.Join(dir, "new.save")).oneLine(t, exitFailed, "cut short")
	if _, err := os.Stat(filepath.Join(dir, "new.save")); err == nil {
		t.Error("a file of damaged tables was written")
	}
	p.err = admin.ErrNoLeader
	runProgram(t, "snapshot", "save", file).oneLine(t, exitNoLeader, "no leader")
}

// newer is a backup with the number of the format after this one, and nothing else wrong.
func newer(backup []byte) []byte {
	b := bytes.Clone(backup[:len(backup)-crc32.Size])
	b[len(backupMagic)+3]++
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

func TestBackupOfNewerTablesIsRefused(t *testing.T) {
	p := servePeer(t, "")
	p.snapshot = tablesOf(t)
	file := filepath.Join(t.TempDir(), "x.save")
	runProgram(t, "snapshot", "save", file)
	good, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	body := bytes.Clone(good[:len(good)-crc32.Size])
	body[bytes.Index(body, p.snapshot)+len("NSRVSNAP")+3]++
	if err := os.WriteFile(file, binary.BigEndian.AppendUint32(body, crc32.Checksum(body, castagnoli)), 0o600); err != nil {
		t.Fatal(err)
	}
	runProgram(t, "snapshot", "inspect", file).oneLine(t, exitFailed, "newer version", "use a newer namesrv")
	runProgram(t, "snapshot", "restore", file).oneLine(t, exitFailed, "use a newer namesrv", "nothing was changed")
	if p.restored != nil {
		t.Error("it was restored")
	}
}

func TestRestoreOfUnknownOutcome(t *testing.T) {
	p := servePeer(t, "")
	p.snapshot = tablesOf(t)
	file := filepath.Join(t.TempDir(), "x.save")
	runProgram(t, "snapshot", "save", file)
	for name, tc := range map[string]struct {
		err     error
		code    int
		unknown bool
	}{
		"refused":        {&admin.Error{Kind: admin.KindRefused, Message: "refused: x; nothing was changed"}, exitFailed, false},
		"no leader":      {admin.ErrNoLeader, exitNoLeader, false},
		"open":           {&admin.Error{Kind: admin.KindTimeout, Message: "outcome unknown"}, exitTimeout, true},
		"internal error": {errors.New("disk"), exitTimeout, true},
	} {
		t.Run(name, func(t *testing.T) {
			p.err = tc.err
			got := runProgram(t, "snapshot", "restore", file)
			got.oneLine(t, tc.code)
			if told := strings.Contains(got.stderr, "not known whether restore "+p.restoreID) && strings.Contains(got.stderr, "namesrv snapshot status"); told != tc.unknown {
				t.Errorf("%s", got.stderr)
			}
		})
	}
	p.err = nil
	broken := brokenServer(t)
	runProgram(t, "snapshot", "restore", file, "--admin", broken).oneLine(t, exitTimeout, "not known", "namesrv snapshot status", "is the server running?")
	want := "last restore  " + p.restoreID + "\nunder way     r2\nbytes of it   7\n"
	if got := runProgram(t, "snapshot", "status"); got != (result{stdout: want}) {
		t.Errorf("%+v, want %q", got, want)
	}
}

// brokenServer takes requests and ends the connection of each without an answer.
func brokenServer(t *testing.T) (url string) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			t.Error(err)
		}
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		conn.Close()
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func FuzzParseBackup(f *testing.F) {
	f.Add([]byte(backupMagic + "\x00\x00\x00\x01\x00\x00\x00\x02{}\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, file []byte) {
		if b, err := parseBackup(file); err == nil && b.Size != len(file) {
			t.Error("took a part of a file for the whole")
		}
	})
}

func TestKVFiles(t *testing.T) {
	p := servePeer(t, "")
	file := filepath.Join(t.TempDir(), "kvConfig.json")
	if got := runProgram(t, "kv", "export", file); got != (result{stdout: "wrote 2 keys of 1 namespace\n"}) {
		t.Errorf("export: %+v", got)
	}
	p.kv = map[string]map[string]string{}
	if got := runProgram(t, "kv", "import", file); got != (result{stdout: "stored 2 keys of 1 namespace\n"}) {
		t.Errorf("import: %+v", got)
	}
	if diff := cmp.Diff(map[string]map[string]string{"NS": {"k": "v", "a": "1"}}, p.kv); diff != "" {
		t.Error(diff)
	}
	runProgram(t, "kv", "import", writeFile(t, `{"configTable":{"NS":{"k":`)).oneLine(t, exitFailed, "no stock kvConfig.json", "nothing was changed")
	runProgram(t, "kv", "import", "/nonexistent").oneLine(t, exitFailed, "/nonexistent")
	p.err = admin.ErrNoLeader
	runProgram(t, "kv", "import", file).oneLine(t, exitNoLeader, "0 of 2 keys are stored", "no leader")
	runProgram(t, "kv", "export", file).oneLine(t, exitNoLeader, "no leader")
}

func TestConfigCommands(t *testing.T) {
	p := servePeer(t, "")
	for _, tc := range []struct{ args, want string }{
		{"get listenPort orderMessageEnable", "SETTING             VALUE  SCOPE\nlistenPort          9876   peer\norderMessageEnable  true   cluster\n"},
		{"get orderMessageEnable", "true\n"},
		{"set orderMessageEnable=false productEnvName=a=b", "orderMessageEnable is false\nproductEnvName is center, and a=b after restart\n"},
		{"get", "SETTING             VALUE   SCOPE    AFTER RESTART\nlistenPort          9876    peer     -\norderMessageEnable  false   cluster  -\nproductEnvName      center  peer     a=b\n"},
	} {
		if got := runProgram(t, append([]string{"config"}, strings.Fields(tc.args)...)...); got != (result{stdout: tc.want}) {
			t.Errorf("config %s: %+v", tc.args, got)
		}
	}
	if diff := cmp.Diff(map[string]string{"orderMessageEnable": "false", "productEnvName": "a=b"}, p.set); diff != "" {
		t.Error(diff)
	}
	want := decoded(t, `[{"name":"orderMessageEnable","value":"false","after_restart":"false","shared":true,"note":""}]`)
	if got := runProgram(t, "config", "get", "orderMessageEnable", "-o", "json"); fmt.Sprint(want) != fmt.Sprint(decoded(t, got.stdout)) {
		t.Errorf("json: %+v", got)
	}
	if got := runProgram(t, "config", "get", "productEnvName"); got != (result{stdout: "center\n", stderr: "productEnvName: a=b after restart\n"}) {
		t.Errorf("a value that waits for a restart: %+v", got)
	}
	runProgram(t, "config", "get", "nothing").oneLine(t, exitFailed, "no setting nothing", "namesrv config get")
	runProgram(t, "config", "set").oneLine(t, exitUsage, "KEY=VALUE is missing")
	runProgram(t, "config", "set", "x").oneLine(t, exitUsage, `"x"`, "KEY=VALUE")
	runProgram(t, "config", "set", "x=1", "x=2").oneLine(t, exitUsage, "x is given twice")
	p.err = &admin.Error{Kind: admin.KindRefused, Message: "refused: there is no setting x"}
	runProgram(t, "config", "set", "x=1").oneLine(t, exitFailed, "there is no setting x")
}
