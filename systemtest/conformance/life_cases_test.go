package conformance

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

var lifeCases = []scenario{
	{"leave", together, leaving},
	{"closed", aged, closedConnections},
	{"sharedconn", aged, sharedConnection},
	{"expiry", together, expiry},
	{"beats", together, keptAlive},
	{"oneway", together, oneWay},
	{"pipeline", together, pipelined},
}

func leaving(r *run) {
	m := r.master("b").withActing("true")
	s := m.as(1, r.addr(2))
	look := func(label string) {
		r.ask(label+": group", m.group())
		r.ask(label+": route", route(r.name("t1")))
		r.ask(label+": 106", ask(clusterInfo))
		r.ask(label+": 322", m.query(v(1)))
	}
	all := func(label string) {
		r.ask(label+": master comes", m.register())
		r.ask(label+": slave comes", s.register())
	}
	r.leave("of nobody", m)
	all("begin")
	r.leaveBy("the master under the slave's id", m.unregister().with("brokerId", "1"))
	look("the master under the slave's id")
	all("a")
	r.leaveBy("the slave under the master's id", s.unregister().with("brokerId", "0"))
	look("the slave under the master's id")
	all("b")
	r.leaveBy("the master under an id that none has", m.unregister().with("brokerId", "7"))
	look("an id that none has")
	all("c")
	r.leaveBy("an address that none has", m.unregister().with("brokerAddr", r.addr(9)))
	look("an address that none has")
	r.leaveBy("another name", m.unregister().with("brokerName", r.name("other")))
	look("another name")
	all("d")
	r.leaveBy("another cluster", m.unregister().with("clusterName", r.name("other")))
	look("another cluster")
	all("e")
	r.leaveBy("binary", s.unregister().as(vNew, true))
	look("binary")
	r.leaveBy("an old broker", m.unregister().as(vGo, false))
	look("an old broker")
	r.leave("again", m)
	all("f")
	elsewhere := r.dial()
	r.askOn(elsewhere, "over a connection that only now registers: master", m.register())
	r.leaveBy("a copy over the older connection", m.unregister())
	look("a copy over the older connection")
	r.askOn(elsewhere, "over the newer connection", m.unregister())
	r.settle()
	look("over the newer connection")
}

// batchCases are alone: a bad unregistration makes the stock server forget the others that it took at the same time.
var batchCases = []scenario{{"leavefields", exclusive, leavingFields}}

func leavingFields(r *run) {
	n := 0
	try := func(label string, change func(q request) request) {
		n++
		b := r.master(fmt.Sprint("b", n)).change(func(b *broker) { b.addr = r.addr(n) })
		r.ask(label+": 103", b.register())
		r.leaveBy(label, change(b.unregister()))
		r.ask(label+": 901", b.group())
	}
	for _, name := range []string{"brokerName", "brokerAddr", "clusterName", "brokerId"} {
		try("without "+name, func(q request) request { return q.without(name) })
		try("empty "+name, func(q request) request { return q.with(name, "") })
	}
	try("no fields at all", func(q request) request { q.fields = nil; return q })
	try("brokerId is no number", func(q request) request { return q.with("brokerId", "x") })
	try("unknown fields", func(q request) request { return q.with("ns", "x") })
	try("a body", func(q request) request { q.body = []byte("ignored"); return q })
}

func closedConnections(r *run) {
	b := r.master("b")
	first := r.dial()
	r.askOn(first, "103", b.register())
	r.ask("there", b.group())
	first.close()
	r.until("gone with its connection", b.group(), lacks(b.addr))
	r.ask("its route", route(r.name("t1")))

	second, third := r.dial(), r.dial()
	r.askOn(second, "103 over a second connection", b.register())
	r.askOn(third, "103 over a third", b.register())
	marker := r.master("marker").change(func(b *broker) { b.addr = r.addr(2) })
	second.close()
	r.closedBefore(marker)
	r.ask("still there when the older connection closed", b.group())
	r.askOn(third, "a heartbeat over the newer", b.beat())
	third.close()
	r.until("gone with the newer connection", b.group(), lacks(b.addr))

	fourth := r.dial()
	r.askOn(fourth, "103 over a fourth", b.register())
	r.askOn(r.lane(putKV), "heartbeat over another connection", b.beat())
	r.ask("question over another connection", b.query(v(1)))
	fourth.close()
	r.until("gone: neither moves the registration", b.group(), lacks(b.addr))

	fifth := r.dial()
	slave := b.as(1, r.addr(3)).withActing("true")
	r.ask("a slave that stays", slave.register())
	r.askOn(fifth, "a master", b.withActing("true").register())
	fifth.close()
	r.until("the slave is left", b.group(), lacks(`"`+b.addr))
	r.ask("its route without writing", route(r.name("t1")))
}

// closedBefore returns when the server has noticed connections that were closed before: it has another one closed and
// waits for what follows from that.
func (r *run) closedBefore(marker broker) {
	c := r.dial()
	c.call(marker.register())
	c.close()
	r.until("a later connection is noticed", marker.group(), lacks(marker.addr))
}

// sharedConnection is a BrokerContainer: two brokers on one connection.
func sharedConnection(r *run) {
	one, two := r.master("one"), r.master("two").change(func(b *broker) { b.addr = r.addr(2) })
	c := r.dial()
	r.askOn(c, "one", one.register())
	r.askOn(c, "two", two.register())
	c.close()
	r.until("one of them goes", ask(clusterInfo), func(a answer) bool { return !lacks(one.addr)(a) != !lacks(two.addr)(a) || lacks(one.addr)(a) })
	r.closedBefore(r.master("marker").change(func(b *broker) { b.addr = r.addr(3) }))
	left := 0
	for _, b := range []broker{one, two} {
		if contains(b.addr)(r.do(b.group())) {
			left++
		}
	}
	r.record("brokers left", fmt.Sprint(left, " of 2"))
}

func expiry(r *run) {
	short := r.master("short").change(func(b *broker) { b.timeoutMS = 1000 })
	long := r.master("long").change(func(b *broker) { b.timeoutMS, b.addr = 60_000, r.addr(2) })
	plain := r.master("plain").change(func(b *broker) { b.addr = r.addr(3) })
	for _, b := range []broker{short, long, plain} {
		r.askOn(r.dial(), "103 of "+b.name, b.register())
	}
	slave := long.as(1, r.addr(4)).change(func(b *broker) { b.timeoutMS = 1000 })
	r.askOn(r.dial(), "103 of a slave", slave.register())
	r.ask("all there", route(r.name("t1")))
	r.until("the silent one goes", short.group(), lacks(short.addr))
	r.until("the silent slave goes", long.group(), lacks(slave.addr))
	r.ask("route afterwards", route(r.name("t1")))
	r.ask("322 of the one that went", short.query(v(1)))
	r.ask("heartbeat of the one that went", short.beat())
	r.ask("106 afterwards", ask(clusterInfo))
	r.askOn(r.dial(), "it comes back", short.register())
	r.ask("route with it", route(r.name("t1")))
}

// keptAlive has brokers that differ only in how they show that they live, until the silent one is gone.
func keptAlive(r *run) {
	silent := r.master("silent").change(func(b *broker) { b.timeoutMS = 2000 })
	alive := map[string]broker{}
	for i, name := range []string{"beat", "question", "register"} {
		alive[name] = silent.change(func(b *broker) { b.name, b.addr = r.name(name), r.addr(10+i) })
		r.askOn(r.dial(), "103 of "+name, alive[name].register())
	}
	r.askOn(r.dial(), "103 of the silent", silent.register())
	r.until("the silent goes", silent.group(), func(a answer) bool {
		r.do(alive["beat"].beat())
		r.do(alive["question"].query(v(3)))
		r.do(alive["register"].register())
		return lacks(silent.addr)(a)
	})
	for _, name := range []string{"beat", "question", "register"} {
		r.ask("still there: "+name, alive[name].group())
	}
	again := silent.change(func(b *broker) { b.timeoutMS = 0 })
	r.ask("back without a time-out of its own", again.register())
	r.ask("there", again.group())
}

func oneWay(r *run) {
	b := r.master("b")
	silently := func(q request) request { q.flag = flagOneWay; return q }
	c, d := r.dial(), r.dialTo(r.read)
	send := func(on *conn, label string, q request) {
		if _, err := on.send(silently(q)); err != nil {
			r.record(label, "closed")
		}
	}
	send(c, "put", put(r.name("ns"), "k", "v"))
	r.until("put one-way", get(r.name("ns"), "k"), hasCode(success))
	send(c, "register", b.register())
	r.until("registered one-way", b.group(), contains(b.addr))
	send(c, "beat", b.beat())
	send(d, "query", b.query(v(1)))
	for _, q := range []request{ask(9999), route(r.name("t1")), route("none"), ask(clusterInfo), get("none", "none"), ask(getConfig)} {
		send(d, fmt.Sprint("code ", q.code), q)
	}
	send(c, "broken", b.registerWith([]byte("no JSON")))
	send(c, "without fields", ask(registerBroker))
	send(c, "wipe", ask(wipeWrite, "brokerName", b.name))
	r.until("wiped one-way", route(r.name("t1")), contains(`"perm":4`))
	r.askOn(c, "the only answer on the first connection", get("none", "none"), rawHeader)
	r.askOn(d, "the only answer on the second", get("none", "none"), rawHeader)
	unmatched := silently(ask(getConfig))
	unmatched.flag = flagAnswer
	_, _ = c.send(unmatched)
	unmatched.flag = flagAnswer | flagOneWay
	_, _ = c.send(unmatched)
	r.askOn(c, "after an answer that nobody waits for", get("none", "none"))
	send(c, "unregister", b.unregister())
	r.until("unregistered one-way", b.group(), lacks(b.addr))
	r.record("first connection then", c.read(quiet).end)
	r.record("second connection then", d.read(quiet).end)
}

// quiet is how long a connection must say nothing to count as silent.
const quiet = 200 * time.Millisecond

// pipelined sends many requests before it reads the first answer.
func pipelined(r *run) {
	b := r.master("b")
	r.ask("103", b.register())
	c := r.dialTo(r.read)
	var raw []byte
	asked := map[int32]request{}
	for i := range 60 {
		q := []request{route(r.name("t1")), route("none"), b.group(), get("none", "none"), ask(9999), b.query(v(1))}[i%6].as(vNew, i%2 == 1)
		q.opaque = int32(1000 - 7*i) // the last are negative
		asked[q.opaque] = q
		raw = append(raw, q.encode()...)
	}
	if err := c.write(raw); err != nil {
		r.record("write", "closed")
	}
	var lines []line
	for range asked {
		a := c.read(answerLimit)
		lines = append(lines, line{label: fmt.Sprint("answer to ", a.Opaque), text: r.text(asked[a.Opaque], a)})
	}
	slices.SortFunc(lines, func(a, b line) int { return strings.Compare(a.label, b.label) })
	r.lines = append(r.lines, lines...)
}
