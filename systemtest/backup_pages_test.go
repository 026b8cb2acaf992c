package systemtest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"namesrv/internal/process"
	"namesrv/internal/rocketmq"
	"namesrv/systemtest"
)

// blockTime bounds one block of commands of a page.
const blockTime = 2 * time.Minute

// pageBlock is one block of commands, as it stands in a page of docs, and the hosts that it is for.
type pageBlock struct {
	hosts []string
	text  string
}

var fence = regexp.MustCompile("(?ms)^```(\\w+)([^\\n]*)\\n(.*?)^```$")

// pageBlocks are the blocks of a page in one language, in their order. Behind the language stand the names of the hosts.
func pageBlocks(t *testing.T, page, language string) (blocks []pageBlock) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "docs", page))
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range fence.FindAllStringSubmatch(string(text), -1) {
		if found[1] == language {
			blocks = append(blocks, pageBlock{hosts: strings.Fields(found[2]), text: found[3]})
		}
	}
	if len(blocks) == 0 {
		t.Fatalf("docs/%s has no block of %s", page, language)
	}
	return blocks
}

// hostedPeer is a peer on a host of its own, as far as the commands of a page can tell: their variables have its addresses
// and directories, and systemctl starts and stops it.
type hostedPeer struct {
	*systemtest.Node
	env []string
}

// systemctl stands in for the one of a host: it starts and stops the peer of that host.
const systemctl = `#!/bin/sh
set -eu
running() { [ -f "$HOST_DIR/pid" ] && grep -qs '^State:.[^Z]' "/proc/$(cat "$HOST_DIR/pid")/status"; }
case "$1 $2" in
"start namesrv")
  running || { namesrv server >>"$HOST_DIR/namesrv.log" 2>&1 </dev/null & echo $! >"$HOST_DIR/pid"; }
  ;;
"stop namesrv")
  ! running || kill -TERM "$(cat "$HOST_DIR/pid")"
  while running; do sleep 0.05; done
  ;;
*) exit 64 ;;
esac
`

// newHosts prepares peers on hosts of the given names. It starts nothing.
func newHosts(t *testing.T, names ...string) map[string]*hostedPeer {
	t.Helper()
	binary, bin := binaryPath(t), t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "systemctl"), []byte(systemctl), 0o755); err != nil {
		t.Fatal(err)
	}
	hosts := map[string]*hostedPeer{}
	var common, join []string
	for _, name := range names {
		n := newNode(t, name)
		hosts[name] = &hostedPeer{Node: n}
		join = append(join, n.Peer)
		common = append(common, strings.ToUpper(name)+"_PEER="+n.Peer)
		t.Cleanup(func() { hosts[name].kill(t) })
	}
	common = append(common, "PATH="+bin+":"+filepath.Dir(binary)+":"+os.Getenv("PATH"))
	if len(names) > 1 {
		common = append(common, "NAMESRV_BOOTSTRAP_EXPECT="+strconv.Itoa(len(names)), "NAMESRV_JOIN="+strings.Join(join, ","))
	}
	for _, h := range hosts {
		h.env = append(slices.Clone(common), "HOST_DIR="+h.Dir, "NAMESRV_ADMIN=http://"+h.Admin, "NAMESRV_NODE_ID="+h.ID, "NAMESRV_DATA_DIR="+h.DataDir(),
			"NAMESRV_LISTEN="+h.Client, "NAMESRV_ADVERTISE="+h.Client, "NAMESRV_PEER_LISTEN="+h.Peer, "NAMESRV_PEER_ADVERTISE="+h.Peer, "NAMESRV_ADMIN_LISTEN="+h.Admin)
	}
	return hosts
}

// try runs commands on a host and gives their exit code and what they printed.
func (h *hostedPeer) try(t *testing.T, text string) (code int, stdout, stderr string) {
	t.Helper()
	p, err := process.Start(process.Config{Path: "bash", Args: []string{"-euo", "pipefail", "-c", text}, Env: h.env, Dir: h.Dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	code, err = p.ExitCode(within(t, blockTime))
	if err != nil {
		t.Fatalf("%v on %s:\n%s\n%s%s", err, h.ID, text, p.Stdout(), p.Stderr())
	}
	return code, p.Stdout(), p.Stderr()
}

// run is try of what has to succeed.
func (h *hostedPeer) run(t *testing.T, text string) (stdout string) {
	t.Helper()
	code, stdout, stderr := h.try(t, text)
	if code != 0 {
		t.Fatalf("exit code %d on %s of\n%s\n%s%s", code, h.ID, text, stdout, stderr)
	}
	t.Logf("on %s:\n%s\n%s", h.ID, text, stdout)
	return stdout
}

// kill ends the peer of a host at once, as a loss of the host does.
func (h *hostedPeer) kill(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(h.Dir, "pid"))
	if err != nil {
		return // never started
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || pid < 2 {
		t.Errorf("process id of %s: %q", h.ID, text)
		return
	}
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err == nil && strings.Contains(string(env), "HOST_DIR="+h.Dir) { // else it has ended, and the number may be another's
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// awaitReady waits until the peers report themselves ready.
func awaitReady(t *testing.T, peers ...*systemtest.Node) {
	t.Helper()
	for _, n := range peers {
		eventually(t, time.Minute, n.ID+" is ready", func() error { return n.Ready(t.Context()) })
	}
}

// TestRecoverPage follows docs/recover.md word by word: two of three peers lose their directories, and everything is
// there again. The directories of before are refused when they are found again, with the line that the page shows.
func TestRecoverPage(t *testing.T) {
	mostlyWaits(t)
	hosts := newHosts(t, "ns1", "ns2", "ns3")
	elsewhere(t, hosts["ns1"].DataDir())
	var peers []*systemtest.Node
	for _, name := range []string{"ns1", "ns2", "ns3"} {
		hosts[name].run(t, "systemctl start namesrv")
		peers = append(peers, hosts[name].Node)
	}
	awaitReady(t, peers...)
	fillWith(t, &systemtest.Cluster{Nodes: peers}, 3, 50)
	want := equalTables(t, peers...)
	before := memberOf(t, peers[0], peers[1])

	for _, name := range []string{"ns2", "ns3"} {
		hosts[name].kill(t)
		if err := os.Rename(hosts[name].DataDir(), hosts[name].DataDir()+".lost"); err != nil {
			t.Fatal(err)
		}
	}
	for i, block := range pageBlocks(t, "recover.md", "sh") {
		for _, name := range block.hosts {
			out := hosts[name].run(t, block.text)
			for _, word := range []string{"last term", "last index", "recover --data-dir", "--yes"} {
				if i == 0 && !strings.Contains(out, word) {
					t.Errorf("the first look at what is left does not show %q", word)
				}
			}
		}
	}
	voters(t, peers[2], peers...)
	awaitReady(t, peers...)
	if got := equalTables(t, peers...); got != want {
		t.Errorf("digest %s, before it was %s", got, want)
	}
	if after := memberOf(t, peers[0], peers[1]); after.Member == before.Member {
		t.Errorf("ns2 is the member it was: %s", after.Member)
	}
	if _, err := os.Stat(filepath.Join(peers[0].DataDir()+".before", "raft.db")); err != nil {
		t.Errorf("the copy that the page makes: %v", err)
	}
	line := expected(pageBlocks(t, "recover.md", "text")[0].text)
	for _, name := range []string{"ns2", "ns3"} {
		turnsUpAgain(t, hosts[name], line)
	}
	awaitReady(t, peers...)
	put(t, peers[1].Client, "after", "everything")
}

// elsewhere makes of a data directory that is not there yet a link to one, as systemd does for a unit with DynamicUser.
func elsewhere(t *testing.T, dir string) {
	t.Helper()
	err := os.Mkdir(dir+".private", 0o700)
	if err == nil {
		err = os.Symlink(dir+".private", dir)
	}
	if err != nil {
		t.Fatal(err)
	}
}

var placeholder = regexp.MustCompile(`<[A-Z]+>`)

// expected makes of a line that a page shows, with names in angle brackets, what the line must look like.
func expected(line string) *regexp.Regexp {
	parts := placeholder.Split(strings.TrimSpace(line), -1)
	for i := range parts {
		parts[i] = regexp.QuoteMeta(parts[i])
	}
	return regexp.MustCompile(strings.Join(parts, `\S+`))
}

// turnsUpAgain starts a peer with the directory it had lost: it must end by itself and say why. Then the peer goes on
// with its new one.
func turnsUpAgain(t *testing.T, h *hostedPeer, line *regexp.Regexp) {
	t.Helper()
	h.run(t, `systemctl stop namesrv; mv "$NAMESRV_DATA_DIR" "$NAMESRV_DATA_DIR.new"; mv "$NAMESRV_DATA_DIR.lost" "$NAMESRV_DATA_DIR"`)
	for range 2 { // the second time it is refused as the first
		code, _, stderr := h.try(t, "exec namesrv server")
		lines := strings.Split(strings.TrimSpace(stderr), "\n")
		if last := lines[len(lines)-1]; code != 1 || !line.MatchString(last) {
			t.Errorf("%s with its old directory: exit code %d, last line %s, want %s", h.ID, code, last, line)
		}
	}
	h.run(t, `mv "$NAMESRV_DATA_DIR" "$NAMESRV_DATA_DIR.lost"; mv "$NAMESRV_DATA_DIR.new" "$NAMESRV_DATA_DIR"; systemctl start namesrv`)
}

// TestRecoverWhileItRuns promises that the directory of a running peer is refused in one line and stays what it was.
func TestRecoverWhileItRuns(t *testing.T) {
	n := startNode(t, "running")
	put(t, n.Client, "before", "kept")
	cluster := clusterOf(t, n)
	for _, more := range [][]string{nil, {"--yes"}} {
		code, stdout, stderr := run(t, append([]string{"recover", "--data-dir", n.DataDir()}, more...)...)
		if code != 1 || stdout != "" || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, "stop the peer first; nothing was changed") {
			t.Errorf("recover %v: exit code %d: %s%s", more, code, stdout, stderr)
		}
	}
	put(t, n.Client, "after", "kept")
	n.Kill()
	if err := n.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	holds(t, n, "before", "after")
	if after := clusterOf(t, n); after != cluster {
		t.Errorf("cluster %s, it was %s", after, cluster)
	}
}

func clusterOf(t *testing.T, n *systemtest.Node) string {
	t.Helper()
	return save(t, n, filepath.Join(t.TempDir(), "x.save")).Cluster
}

// TestBackupPage follows docs/backup.md word by word, and looks at what came of it.
func TestBackupPage(t *testing.T) {
	hosts, dir := newHosts(t, "ns1"), t.TempDir()
	hosts["new1"] = newHosts(t, "new1")["new1"]
	for _, h := range hosts {
		h.env = append(h.env, "BACKUPS="+dir, "BIN="+dir)
		h.run(t, "systemctl start namesrv")
		awaitReady(t, h.Node)
	}
	ns1 := hosts["ns1"].Node
	fillWith(t, &systemtest.Cluster{Nodes: []*systemtest.Node{ns1}}, 2, 20)
	want := digest(t, ns1)
	restored := 0
	for _, block := range pageBlocks(t, "backup.md", "sh") {
		for _, name := range block.hosts {
			n := hosts[name].Node
			if strings.Contains(block.text, "snapshot restore") {
				put(t, n.Client, "mistake", fmt.Sprint(restored)) // what is undone by it
				restored++
			}
			hosts[name].run(t, block.text)
			if got := digest(t, n); strings.Contains(block.text, "snapshot restore") && got != want {
				t.Errorf("digest of %s after the restore %s, want %s", name, got, want)
			}
		}
	}
	if restored != 2 {
		t.Errorf("the page restores %d times", restored)
	}
	if today := inspect(t, filepath.Join(dir, "today.save")); today.Digest != want {
		t.Errorf("the backup of the page has digest %s, want %s", today.Digest, want)
	}
	nightly, err := filepath.Glob(filepath.Join(dir, "*Z.save"))
	if err != nil || len(nightly) != 1 || inspect(t, nightly[0]).Digest != want {
		t.Errorf("nightly backups %v, %v", nightly, err)
	}
	if answer := ask(t, ns1.Client, rocketmq.GetKV("ORDER_TOPIC_CONFIG", "TopicA")); answer.Fields["value"] != "broker-a:8" {
		t.Errorf("after the import: %+v", answer)
	}
}
