package nameserver

import (
	"strings"
	"testing"

	"namesrv/remoting/protocol"
)

// since returns the lines behind the first skip ones, without time and logger.
func (l *auditLog) since(skip int) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var lines []string
	for line := range strings.Lines(l.text.String()) {
		_, line, _ = strings.Cut(line, " ")
		lines = append(lines, strings.TrimSpace(line))
	}
	return lines[skip:]
}

func TestOneLineForEachChangeOfABroker(t *testing.T) {
	first := master("T", "V")
	changed := first
	changed.topics, changed.counter = []string{"T", "V", "W"}, 2
	nameless := first
	nameless.name = ""
	one := first
	one.name, one.addr, one.topics = "new", "10.0.0.9:10911", []string{"T"}
	tests := []struct {
		name string
		do   func(c *client)
		want string // "" for no line
	}{
		{"it registers", func(c *client) { c.register(first) }, "[INFO]  broker registered: broker=b cluster=c id=0 address=10.0.0.1:10911 topics=2 index="},
		{"once more", func(c *client) { c.register(first) }, ""},
		{"with another topic", func(c *client) { c.register(changed) }, "[INFO]  a broker's registration changed: broker=b cluster=c id=0 address=10.0.0.1:10911 topics=3 index="},
		{"it leaves", func(c *client) { c.want(protocol.Success, protocol.UnregisterBroker, changed.unregister()) }, "[INFO]  broker unregistered: broker=b cluster=c id=0 address=10.0.0.1:10911 index="},
		{"once more", func(c *client) { c.want(protocol.Success, protocol.UnregisterBroker, changed.unregister()) }, ""},
		{"it is back", func(c *client) { c.register(changed) }, "[INFO]  broker registered: broker=b "},
		{"one without a name", func(c *client) { c.send(nameless.request()) }, "[WARN]  registration refused: broker=\"\" address=10.0.0.1:10911 connection="},
		{"again", func(c *client) { c.send(nameless.request()) }, ""},
		{"a new one with one topic", func(c *client) { c.send(one.request()) }, "[WARN]  registration refused: broker=new address=10.0.0.9:10911 connection="},
		{"again", func(c *client) { c.send(one.request()) }, ""},
	}
	log := new(auditLog)
	c := newRig(t, logTo(log)).dial()
	for _, tc := range tests {
		before := len(log.since(0))
		tc.do(c)
		switch lines := log.since(before); {
		case tc.want == "" && len(lines) > 0:
			t.Errorf("%s: %q", tc.name, lines)
		case tc.want != "" && (len(lines) != 1 || !strings.HasPrefix(lines[0], tc.want)):
			t.Errorf("%s: %q, want one line %s", tc.name, lines, tc.want)
		}
	}
}

func TestValuesAreCutBetweenCharacters(t *testing.T) {
	for _, tt := range []struct{ in, want string }{{"abcd", "abcd"}, {"abcde", "abcd…"}, {"abcé", "abc…"}, {"ab中", "ab…"}, {"🚀🚀", "🚀…"}} {
		if got := cutAt(4, tt.in); got != tt.want {
			t.Errorf("%q: %q, want %q", tt.in, got, tt.want)
		}
	}
}
