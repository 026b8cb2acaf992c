package conformance

import (
	"fmt"
	"net"
	"strings"
	"time"
)

// target is a server, or a group of them, that scenarios are run at.
type target struct {
	name  string
	write string // address for what changes something
	read  string // address for questions
	stop  func() // asks the server behind write to end politely, and does not wait
}

// when says which other scenarios run at the same time.
type when int

const (
	together  when = iota // with all others of this kind
	fresh                 // before all others, in order
	exclusive             // alone, after those: it changes settings of the whole server, or its lists
	aged                  // alone, after those: it needs a group that acts on closed connections, see [untilLimit]
	last                  // at the very end: it stops the server
)

// scenario is a script of requests. Its name is the prefix of every name it uses.
type scenario struct {
	name string
	when when
	run  func(r *run)
}

// line is one compared answer.
type line struct {
	label     string
	text      string
	exception string // the text that [exceptionText] stands for
}

// run is one scenario at one target.
type run struct {
	target
	scenario string
	scope    string // prefix, without its hyphen, of the names that are looked at in lists of the whole server
	number   int    // of the scenario: part of its addresses
	lines    []line
	conns    []*conn
	closers  []func() // further things that end with the scenario
	writer   *conn
	reader   *conn
	renames  []string // pairs for strings.NewReplacer
}

func (s scenario) at(t target, number int) []line {
	r := &run{target: t, scenario: s.name, scope: s.name, number: number}
	defer func() {
		for _, c := range r.conns {
			c.close()
		}
		for _, end := range r.closers {
			end()
		}
	}()
	s.run(r)
	return r.lines
}

// name makes a name that belongs to this scenario alone.
func (r *run) name(s string) string { return r.scenario + "-" + s }

func (r *run) names(list ...string) []topic {
	var topics []topic
	for _, s := range list {
		topics = append(topics, topic{name: r.name(s), read: 8, write: 8, perm: 6})
	}
	return topics
}

// addr makes an address that belongs to this scenario alone. No server connects to it.
func (r *run) addr(n int) string { return fmt.Sprintf("10.1.%d.%d:10911", r.number, n) }

// master is a broker with two topics, t1 and t2.
func (r *run) master(name string) broker {
	return broker{cluster: r.name("c"), name: r.name(name), addr: r.addr(1), data: v(1), topics: r.names("t1", "t2"), acting: "false", ordinal: vNew}
}

// dial opens a connection to where changes go. It ends with the scenario.
func (r *run) dial() *conn { return r.dialTo(r.write) }

func (r *run) dialTo(addr string) *conn {
	c, err := dial(addr)
	if err != nil {
		r.record("dial", err.Error())
		dead, _ := net.Pipe()
		dead.Close() // every call on it gives an answer that says "closed"
		c = &conn{nc: dead}
	}
	r.conns = append(r.conns, c)
	return c
}

// lane is the connection that a code goes to.
func (r *run) lane(code int) *conn {
	if changing(code) {
		if r.writer == nil {
			r.writer = r.dial()
		}
		return r.writer
	}
	if r.reader == nil {
		r.reader = r.dialTo(r.read)
	}
	return r.reader
}

func (r *run) record(label, text string) {
	r.lines = append(r.lines, line{label: label, text: strings.NewReplacer(r.renames...).Replace(text)})
}

// show is what of an answer is compared beyond the usual.
type show int

const (
	usual     show = iota
	rawBody        // the body's bytes as they are
	rawHeader      // the header's bytes, but for opaque and version
	raw            // both
)

// ask sends a request and records the answer.
func (r *run) ask(label string, q request, what ...show) answer {
	return r.askOn(r.lane(q.code), label, q, what...)
}

func (r *run) askOn(c *conn, label string, q request, what ...show) answer {
	a := c.call(q)
	r.record(label, r.text(q, a, what...))
	if a.Remark != nil && remarkText(a.Remark) == exceptionText {
		r.lines[len(r.lines)-1].exception = *a.Remark
	}
	return a
}

// do sends a request whose answer is compared elsewhere.
func (r *run) do(q request) answer { return r.lane(q.code).call(q) }

// untilLimit is for things that happen by themselves. A group does not act on a closed connection while one of its peers
// has run for less than a minute: the broker may be about to connect to that one.
const (
	untilLimit = 80 * time.Second
	untilPause = 20 * time.Millisecond
)

// until asks again and again until ok is content, and records that answer, or the last one.
func (r *run) until(label string, q request, ok func(a answer) bool) {
	c := r.lane(q.code)
	a := c.call(q)
	for deadline := time.Now().Add(untilLimit); !ok(a) && a.end == "" && time.Now().Before(deadline); a = c.call(q) {
		time.Sleep(untilPause)
	}
	r.record(label, r.text(q, a))
}

func hasCode(code int) func(answer) bool { return func(a answer) bool { return a.Code == code } }

func lacks(text string) func(answer) bool {
	return func(a answer) bool { return !strings.Contains(string(a.body), text) }
}

func contains(text string) func(answer) bool {
	return func(a answer) bool { return strings.Contains(string(a.body), text) }
}

// leave unregisters a broker and waits until that has been done: the stock server answers before.
func (r *run) leave(label string, b broker) { r.leaveBy(label, b.unregister()) }

func (r *run) leaveBy(label string, q request) {
	r.ask(label, q)
	r.settle()
}

// settle waits until the server has done the unregistrations it took before. They are done in order, so it sends one more
// and waits for that.
func (r *run) settle() {
	b := r.master("settle").change(func(b *broker) { b.addr, b.cluster = r.addr(250), r.name("settle") }).having(r.names("settle1", "settle2")...)
	r.do(b.register())
	r.do(b.unregister())
	for deadline := time.Now().Add(untilLimit); strings.Contains(string(r.do(b.group()).body), b.addr); {
		if time.Now().After(deadline) {
			r.record("settle", "an unregistration had no effect")
			return
		}
		time.Sleep(untilPause)
	}
}

// text is the form in which answers are compared.
func (r *run) text(q request, a answer, what ...show) string {
	if a.end != "" {
		return a.end
	}
	s := fmt.Sprintf("code %d, remark %s, fields %s, flag %d, %s %s, body %s",
		a.Code, remarkText(a.Remark), fieldsText(a.Fields), a.Flag, a.Language, a.Serialize, r.bodyText(q.code, a.body))
	for _, w := range what {
		if w == rawBody || w == raw {
			s += ", bytes " + string(a.body)
		}
		if w == rawHeader || w == raw {
			s += ", header " + plainHeader(a)
		}
	}
	return s
}

func (r *run) bodyText(code int, body []byte) string {
	var keep func(string) bool
	if sharesNames(code) {
		keep = func(name string) bool { return strings.HasPrefix(name, r.scope+"-") }
	}
	s := canonical(body, keep)
	if code == routeInfo || code == memberGroup {
		_, style, spaced := quoteKeys(body)
		s += fmt.Sprintf(", %s", style)
		if spaced {
			s += ", white space"
		}
	}
	return s
}

// plainHeader is the header but for the values that must differ.
func plainHeader(a answer) string {
	return strings.NewReplacer(
		fmt.Sprintf(`"opaque":%d`, a.Opaque), `"opaque":N`,
		fmt.Sprintf(`"version":%d`, a.Version), `"version":N`,
	).Replace(string(a.header))
}
