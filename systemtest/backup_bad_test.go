package systemtest_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"hash/crc64"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"namesrv/systemtest"
)

// Where things are in a backup file and in the tables within it.
const (
	backupFormatAt = len("NSRVSAVE") + 3 // last byte of the format's number
	tablesMagic    = "NSRVSNAP"
	tablesFormatAt = len(tablesMagic) + 3
	damages        = 12 // places at which a backup is cut, and at which it is changed
)

// summed is data with its last four bytes made the CRC-32C of all before them.
func summed(data []byte) []byte {
	body := bytes.Clone(data[:len(data)-crc32.Size])
	return binary.BigEndian.AppendUint32(body, crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli)))
}

// changed is a copy of data with some bits of one byte turned.
func changed(data []byte, at int, bits byte) []byte {
	data = bytes.Clone(data)
	data[at] ^= bits
	return data
}

// badBackups are files that are no backup, by what is wrong with them.
func badBackups(t *testing.T, good []byte, n *systemtest.Node) map[string][]byte {
	t.Helper()
	tables := bytes.Index(good, []byte(tablesMagic))
	bad := map[string][]byte{
		"empty":                     nil,
		"longer":                    append(bytes.Clone(good), 0),
		"twice":                     append(bytes.Clone(good), good...),
		"a newer format":            summed(changed(good, backupFormatAt, 2)),
		"tables of a newer version": summed(changed(good, tables+tablesFormatAt, 2)),
		"its tables alone":          good[tables : len(good)-crc32.Size],
		"text":                      []byte(`{"configTable":{"NS":{"k":"v"}}}`),
	}
	for i := range damages {
		at := i * len(good) / damages
		bad[fmt.Sprintf("cut after %d bytes", at)] = good[:at]
		bad[fmt.Sprintf("a bit turned in byte %d", at)] = changed(good, at, 1<<(i%8))
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, _ = w.Write(good) // a bytes.Buffer takes everything
	_ = w.Close()
	bad["packed with gzip"] = packed.Bytes()
	for name, path := range map[string]string{"the program": binaryPath(t), "a Raft log": filepath.Join(n.DataDir(), "raft.db")} {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		bad[name] = content
	}
	return bad
}

// TestBadBackups promises that whatever is not exactly what was saved is refused, by inspect and by restore, with one line
// and code 1, and that nothing is changed.
func TestBadBackups(t *testing.T) {
	mostlyWaits(t)
	n := startNode(t, "bad-backups")
	fillWith(t, &systemtest.Cluster{Nodes: []*systemtest.Node{n}}, 2, 30)
	dir := t.TempDir()
	file := filepath.Join(dir, "good.save")
	want := save(t, n, file).Digest
	good, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	put(t, n.Client, "since", "kept")
	now := digest(t, n)
	path := filepath.Join(dir, "bad.save")
	for name, content := range badBackups(t, good, n) {
		t.Run(name, func(t *testing.T) {
			if err := os.WriteFile(path, content, 0o600); err != nil {
				t.Fatal(err)
			}
			oneLine(t, "inspect", path)
			refusedCommand(t, n, 1, []string{path, "nothing was changed"}, "snapshot", "restore", path, "--force")
		})
	}
	oneLine(t, "inspect", filepath.Join(dir, "none"))
	oneLine(t, "inspect", dir)
	tables := good[bytes.Index(good, []byte(tablesMagic)) : len(good)-crc32.Size]
	for name, content := range map[string][]byte{"cut": tables[:len(tables)-9], "changed": changed(tables, len(tables)/2, 4), "newer": summed(changed(tables, tablesFormatAt, 2)), "empty": nil} {
		if status, body := putSnapshot(t.Context(), t, n, content); status != http.StatusConflict {
			t.Errorf("sent past the command, %s: %d %s", name, status, body)
		}
	}
	if got := digest(t, n); got != now {
		t.Errorf("digest %s, before all that was refused it was %s", got, now)
	}
	if state, err := n.RestoreState(t.Context()); err != nil || state != (systemtest.RestoreState{}) {
		t.Errorf("%+v, %v after nothing but refusals", state, err)
	}
	mustCommand(t, n, "snapshot", "restore", file)
	if got := digest(t, n); got != want {
		t.Errorf("digest %s after the restore of the good one, want %s", got, want)
	}
}

// oneLine is a command about a file that has to end with code 1 and one line that names the file.
func oneLine(t *testing.T, verb, path string) {
	t.Helper()
	code, stdout, stderr := run(t, "snapshot", verb, path)
	if code != 1 || stdout != "" || bytes.Count([]byte(stderr), []byte("\n")) != 1 || !bytes.Contains([]byte(stderr), []byte(path)) {
		t.Errorf("%s: exit code %d: %s%s", verb, code, stdout, stderr)
	}
}

// putSnapshot sends tables as the restore command does, unchecked.
func putSnapshot(ctx context.Context, t *testing.T, n *systemtest.Node, tables []byte) (status int, body string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, "http://"+n.Admin+"/v1/snapshot?force=true", bytes.NewReader(tables))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// TestDirectoryOfANewerBinary promises that a server which finds a snapshot of a newer version in its directory ends,
// says so, and leaves the directory as it is for one that knows it. So does recover.
func TestDirectoryOfANewerBinary(t *testing.T) {
	n := startNode(t, "newer-directory")
	put(t, n.Client, "before", "kept")
	n.Stop()
	if code, _, stderr := run(t, "recover", "--data-dir", n.DataDir(), "--yes"); code != 0 { // it leaves a snapshot of everything
		t.Fatal(stderr)
	}
	turn := func() {
		changeSnapshot(t, n, func(tables []byte) []byte { return summed(changed(tables, tablesFormatAt, 2)) })
	}
	turn()
	refused(t, n, "newer version", "use a newer namesrv")
	if code, _, stderr := run(t, "recover", "--data-dir", n.DataDir(), "--yes"); code != 1 || !bytes.Contains([]byte(stderr), []byte("use a newer namesrv")) {
		t.Errorf("recover: exit code %d: %s", code, stderr)
	}
	turn()
	if err := n.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	holds(t, n, "before")
}

// changeSnapshot changes the tables in the newest snapshot that a stopped node has on its disk, with all checksums right.
func changeSnapshot(t *testing.T, n *systemtest.Node, change func(tables []byte) []byte) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(n.DataDir(), "snapshots", "*", "state.bin"))
	if err != nil || len(found) == 0 {
		t.Fatalf("no snapshot: %v", err)
	}
	file := found[len(found)-1]
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(content, []byte(tablesMagic))
	content = append(content[:at:at], change(content[at:])...)
	sum := crc64.New(crc64.MakeTable(crc64.ECMA))
	sum.Write(content)
	metaFile := filepath.Join(filepath.Dir(file), "meta.json")
	text, err := os.ReadFile(metaFile)
	if err != nil {
		t.Fatal(err)
	}
	meta := parsed[map[string]json.RawMessage](t, string(text))
	meta["CRC"] = json.RawMessage(`"` + base64.StdEncoding.EncodeToString(sum.Sum(nil)) + `"`)
	text, err = json.Marshal(meta)
	if err != nil {
		t.Fatal(err)
	}
	for path, content := range map[string][]byte{file: content, metaFile: text} {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
