package main

import (
	"bytes"
	"encoding/json"
	"fmt"
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
	for _, part := range []string{"cluster        u-1", "log index      42", "brokers        1", "namespaces     1"} {
		if !strings.Contains(inspected.stdout, part) {
			t.Errorf("no %q in:\n%s", part, inspected.stdout)
		}
	}
	var s summary
	if err := json.Unmarshal([]byte(runProgram(t, "snapshot", "inspect", file, "-o", "json").stdout), &s); err != nil || s.Addresses != 1 || s.Cluster != "u-1" || s.Saved.IsZero() {
		t.Errorf("%+v, %v", s, err)
	}
	if got := runProgram(t, "snapshot", "restore", file); got.code != exitDone || !strings.HasPrefix(got.stdout, "restored "+file+": 0 topics, 1 broker addresses") || !bytes.Equal(p.restored, p.snapshot) {
		t.Errorf("restored: %+v", got)
	}
	p.uuid, p.restored = "u-2", nil
	runProgram(t, "snapshot", "restore", file).oneLine(t, exitFailed, `cluster "u-1"`, `"u-2"`, "--force")
	if p.restored != nil {
		t.Error("a backup of another cluster was restored")
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
		"another format":   {flipped(len(backupMagic) + 3), "format"},
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
	p.snapshot = p.snapshot[:len(p.snapshot)-1]
	runProgram(t, "snapshot", "save", filepath.Join(dir, "new.save")).oneLine(t, exitFailed, "cut short")
	if _, err := os.Stat(filepath.Join(dir, "new.save")); err == nil {
		t.Error("a file of damaged tables was written")
	}
	p.err = admin.ErrNoLeader
	runProgram(t, "snapshot", "save", file).oneLine(t, exitNoLeader, "no leader")
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
	if got := runProgram(t, "kv", "export", file); got != (result{stdout: "wrote 2 keys of 1 namespaces\n"}) {
		t.Errorf("export: %+v", got)
	}
	p.kv = map[string]map[string]string{}
	if got := runProgram(t, "kv", "import", file); got != (result{stdout: "stored 2 keys of 1 namespaces\n"}) {
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
		{"get", "SETTING             VALUE  SCOPE\nlistenPort          9876   peer\norderMessageEnable  true   cluster\n"},
		{"get orderMessageEnable", "true\n"},
		{"set orderMessageEnable=false x=a=b", "orderMessageEnable is false\nx is a=b\n"},
	} {
		if got := runProgram(t, append([]string{"config"}, strings.Fields(tc.args)...)...); got != (result{stdout: tc.want}) {
			t.Errorf("config %s: %+v", tc.args, got)
		}
	}
	if diff := cmp.Diff(map[string]string{"orderMessageEnable": "false", "x": "a=b"}, p.set); diff != "" {
		t.Error(diff)
	}
	want := decoded(t, `[{"name":"orderMessageEnable","value":"true","shared":true}]`)
	if got := runProgram(t, "config", "get", "orderMessageEnable", "-o", "json"); fmt.Sprint(want) != fmt.Sprint(decoded(t, got.stdout)) {
		t.Errorf("json: %+v", got)
	}
	runProgram(t, "config", "get", "nothing").oneLine(t, exitFailed, "no setting nothing", "namesrv config get")
	runProgram(t, "config", "set").oneLine(t, exitUsage, "KEY=VALUE is missing")
	runProgram(t, "config", "set", "x").oneLine(t, exitUsage, `"x"`, "KEY=VALUE")
	runProgram(t, "config", "set", "x=1", "x=2").oneLine(t, exitUsage, "x is given twice")
	p.err = &admin.Error{Kind: admin.KindRefused, Message: "refused: there is no setting x"}
	runProgram(t, "config", "set", "x=1").oneLine(t, exitFailed, "there is no setting x")
}
