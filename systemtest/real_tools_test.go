package systemtest_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/google/go-cmp/cmp"

	"namesrv/internal/rocketmq"
	"namesrv/systemtest"
)

// toolsTime is for all of them, on a busy machine.
const toolsTime = 8 * time.Minute

// prepared is what the words in braces stand for.
type prepared map[string]string

func prepareTools(t *testing.T, c *systemtest.Cluster, b *rocketmq.Broker) prepared {
	topic := "tool-topic"
	if err := rocketmq.CreateTopic(within(t, time.Minute), b.Addr, topic); err != nil {
		t.Fatal(err)
	}
	m := newMessages(t, topic, c.Clients()...)
	sent, err := m.producer.SendSync(within(t, time.Minute), primitive.NewMessage(topic, []byte("a message")).WithKeys([]string{"tool-key"}))
	if err != nil {
		t.Fatal(err)
	}
	m.awaitConsumed(t, time.Minute, []string{"a message"})
	files := t.TempDir()
	for name, text := range map[string]string{
		"topics.json": `[{"topicName":"listed-1","readQueueNums":4,"writeQueueNums":4,"perm":6},{"topicName":"listed-2","readQueueNums":4,"writeQueueNums":4,"perm":6}]`,
		"groups.json": `[{"groupName":"listed-group"}]`,
	} {
		if err := os.WriteFile(filepath.Join(files, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	id := m.groups
	return prepared{
		"topic": topic, "cluster": "DefaultCluster", "broker": b.Name, "addr": b.Addr, "files": files,
		"id": sent.OffsetMsgID, "unique": sent.MsgID, "consumers": "c-" + id, "producers": "p-" + id,
	}
}

func (p prepared) command(line, nameServers, side string) []string {
	args := strings.Fields(line)
	for i, arg := range args {
		arg = strings.ReplaceAll(arg, "{side}", side)
		for word, meaning := range p {
			arg = strings.ReplaceAll(arg, "{"+word+"}", meaning)
		}
		args[i] = arg
	}
	return append(args, "-n", nameServers)
}

// The words for {side}. They stand nowhere in the outputs.
const (
	atStock = "sideX"
	atOurs  = "sideY"
)

// repeats is how often a tool that lost its connection to the broker is run again: one that did may do so twice.
const repeats = 5

// toolsAlike runs every tool against the stock server and against a follower, and compares what they print.
func toolsAlike(t *testing.T, s *rocketmq.Stock, c *systemtest.Cluster, b *rocketmq.Broker) {
	p := prepareTools(t, c, b)
	_, followers, err := c.Leader(within(t, time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	var pairs []pair
	for _, tool := range tools {
		ours := followers[0].Client
		if tool.all {
			ours = strings.Join(c.Clients(), ";")
		}
		pairs = append(pairs, pair{tool: tool, commands: [2]rocketmq.AdminCommand{
			{Args: p.command(tool.line, s.Addr, atStock), Limit: tool.limit}, {Args: p.command(tool.line, ours, atOurs), Limit: tool.limit},
		}})
	}
	runPairs(t, pairs)
	repeated := 0
	for range repeats {
		again := slices.DeleteFunc(slices.Clone(pairs), func(p pair) bool { return !p.lost(b.Addr) })
		runPairs(t, again)
		pairs = append(slices.DeleteFunc(pairs, func(p pair) bool { return p.lost(b.Addr) }), again...)
		repeated += len(again)
	}
	r := newReader(append(c.Clients(), s.Addr)...)
	alike := 0
	for _, p := range pairs {
		stock, ours := r.read(p.tool, p.out[0]), r.read(p.tool, p.out[1])
		if strings.HasPrefix(p.tool.line, "getNamesrvConfig") {
			ours = settingsOf(ours, stock)
		}
		if diff := cmp.Diff(stock, ours); diff != "" {
			t.Errorf("mqadmin %s (-stock +ours):\n%s\nstock:\n%s\nours:\n%s", p.tool.line, diff, p.out[0], p.out[1])
			continue
		}
		alike++
	}
	t.Logf("%d commands compared, %d alike, %d times one was run again because its connection to the broker was lost or it was too slow", len(tools), alike, repeated)
}

// pair is one tool for both servers.
type pair struct {
	tool     tool
	commands [2]rocketmq.AdminCommand // for the stock server and for ours
	out      [2]string
}

// runPairs runs the commands of all pairs in turns and keeps their outputs.
func runPairs(t *testing.T, pairs []pair) {
	t.Helper()
	if len(pairs) == 0 {
		return
	}
	var commands []rocketmq.AdminCommand
	for _, p := range pairs {
		commands = append(commands, p.commands[:]...)
	}
	out, err := rocketmq.MQAdminBatch(within(t, toolsTime), commands)
	if err != nil {
		t.Fatal(err)
	}
	for i := range pairs {
		pairs[i].out = [2]string(out[2*i : 2*i+2])
	}
}

// lost tells whether a command lost its connection to the broker while it asked it something, which no name server has a
// part in, or was too slow: both happen on a busy machine.
func (p pair) lost(broker string) bool {
	for _, text := range []string{"RemotingSendRequestException: send request to </" + broker + "> failed", tooSlow} {
		if strings.Contains(p.out[0], text) || strings.Contains(p.out[1], text) {
			return true
		}
	}
	return false
}

// reader brings the output of a tool into a form in which two can be compared.
type reader struct{ same *strings.Replacer }

func newReader(nameServers ...string) reader {
	pairs := []string{atStock, "SIDE", atOurs, "SIDE"}
	for _, addr := range nameServers {
		pairs = append(pairs, addr, "SERVER")
	}
	return reader{strings.NewReplacer(pairs...)}
}

var (
	messageID = regexp.MustCompile(`[0-9A-F]{32,}`)
	moment    = regexp.MustCompile(`[0-9]{4}-[0-9]{2}-[0-9]{2}[ #T][0-9]{2}:[0-9]{2}:[0-9]{2}([,.:][0-9]+)?`)
	millis    = regexp.MustCompile(`\b1[0-9]{12}\b`)
	number    = regexp.MustCompile(`[0-9][0-9.]*`)
	servers   = regexp.MustCompile(`SERVER(, SERVER)+`)
	place     = regexp.MustCompile(`^(at |\.\.\. [0-9]+ more)`) // in a stack trace
)

// read gives the lines of an output, sorted, without what differs between two servers or two moments.
func (r reader) read(tool tool, out string) []string {
	var lines []string
	for line := range strings.Lines(out) {
		line = r.same.Replace(strings.TrimSuffix(strings.Join(strings.Fields(line), " "), ","))
		line = moment.ReplaceAllString(messageID.ReplaceAllString(line, "ID"), "TIME")
		if tool.live {
			line = number.ReplaceAllString(line, "N")
		}
		line = servers.ReplaceAllString(millis.ReplaceAllString(line, "TIME"), "SERVER")
		if line != "" && !place.MatchString(line) {
			lines = append(lines, line)
		}
	}
	slices.Sort(lines)
	if tool.all { // each peer says the same
		lines = slices.Compact(lines)
	}
	return lines
}

// hostSettings have values that depend on the machine and the process.
var hostSettings = []string{"bindAddress", "configStorePath", "kvConfigPath", "listenPort", "rocketmqHome"}

// settingsOf keeps those lines of a configuration that the stock server has, too; values that depend on the host are
// taken from there.
func settingsOf(ours, stock []string) []string {
	value := map[string]string{}
	for _, line := range stock {
		key, _, _ := strings.Cut(line, " ")
		value[key] = line
	}
	var kept []string
	for _, line := range ours {
		key, _, _ := strings.Cut(line, " ")
		switch theirs, ok := value[key]; {
		case ok && slices.Contains(hostSettings, key):
			kept = append(kept, theirs)
		case ok:
			kept = append(kept, line)
		}
	}
	return kept
}
