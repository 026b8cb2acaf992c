package conformance

import "fmt"

var registerCases = []scenario{
	{"regbody", together, registerBodies},
	{"guard", together, singleTopicGuard},
	{"conflict", together, stateConflict},
	{"roles", together, roleSwitch},
	{"versions", together, dataVersions},
	{"query", together, versionQueries},
	{"split", together, splitRegistration},
	{"rename", together, otherNames},
}

// nullCases come last: a broker without a name makes later lists of the stock server incomplete.
var nullCases = []scenario{{"regfields", exclusive, registerFields}}

// registerFields leaves out, or spoils, one header field at a time. Each has a broker of its own.
func registerFields(r *run) {
	n := 0
	try := func(label string, change func(q request) request) {
		n++
		b := r.master(fmt.Sprint(n, "-b")).change(func(b *broker) { b.cluster, b.addr = r.name(fmt.Sprint(n, "-c")), r.addr(n) })
		r.scope = r.name(fmt.Sprint(n))
		r.ask(label, change(b.register()))
		r.ask(label+": 901", b.group())
		r.ask(label+": 106", ask(clusterInfo))
		r.ask(label+": 322", b.query(v(1)))
	}
	missing := func(name string) func(request) request {
		return func(q request) request { return q.without(name) }
	}
	field := func(name, value string) func(request) request {
		return func(q request) request { return q.with(name, value) }
	}
	for _, name := range []string{"brokerName", "brokerAddr", "clusterName", "brokerId", "haServerAddr", "compressed", "enableActingMaster"} {
		try("without "+name, missing(name))
	}
	for _, name := range []string{"brokerName", "brokerAddr", "clusterName", "haServerAddr"} {
		try("empty "+name, field(name, ""))
	}
	try("brokerId is no number", field("brokerId", "x"))
	try("brokerId is huge", field("brokerId", "9223372036854775807"))
	try("brokerId is beyond a long", field("brokerId", "9223372036854775808"))
	try("brokerId is -1", field("brokerId", "-1"))
	try("heartbeatTimeoutMillis is no number", field("heartbeatTimeoutMillis", "soon"))
	try("enableActingMaster is no boolean", field("enableActingMaster", "yes"))
	try("enableActingMaster in capitals", field("enableActingMaster", "TRUE"))
	try("compressed is no boolean", field("compressed", "1"))
	try("unknown fields", func(q request) request { return q.with("ReqT", "1").with("ns", "x").with("bname", "y") })
	try("no fields at all", func(q request) request { q.fields = nil; return q })
	try("a negative version", func(q request) request { return q.as(-1, false) })
	try("version 0", func(q request) request { return q.as(0, false) })
	try("version 32767, binary", func(q request) request { return q.as(32767, true) })
}

// registerBodies sends bodies of many shapes.
func registerBodies(r *run) {
	const table = `"topicConfigTable":{"x":{"topicName":"regbody-x","perm":4},"y":{"topicName":"regbody-y","readQueueNums":"7","writeQueueNums":9,"topicSysFlag":1,"order":true,"unknown":[1,{"a":null}]}}`
	const data = `"dataVersion":{"counter":1,"timestamp":2,"stateVersion":3}`
	for i, tt := range []struct{ label, body string }{
		{"defaults of a topic", `{"topicConfigSerializeWrapper":{` + table + `,` + data + `}}`},
		{"spaces and an unknown member", ` { "x" : 1 , "topicConfigSerializeWrapper" : { ` + table + ` , ` + data + ` } , "filterServerList" : [ "f:1" ] } `},
		{"no data version", `{"topicConfigSerializeWrapper":{` + table + `}}`},
		{"an empty data version", `{"topicConfigSerializeWrapper":{` + table + `,"dataVersion":{"timestamp":0}}}`},
		{"a null data version", `{"topicConfigSerializeWrapper":{` + table + `,"dataVersion":null}}`},
		{"no table", `{"topicConfigSerializeWrapper":{` + data + `}}`},
		{"a null table", `{"topicConfigSerializeWrapper":{"topicConfigTable":null,` + data + `}}`},
		{"an empty object", `{}`},
		{"a null wrapper", `{"topicConfigSerializeWrapper":null,"filterServerList":null}`},
		{"an empty table", `{"topicConfigSerializeWrapper":{"topicConfigTable":{},` + data + `}}`},
		{"no JSON", `hello`},
		{"a list", `[]`},
		{"null", `null`},
		{"cut", `{"topicConfigSerializeWrapper":{` + table},
		{"a table that is a list", `{"topicConfigSerializeWrapper":{"topicConfigTable":[],` + data + `}}`},
		{"a type name", `{"@type":"java.lang.Thread","topicConfigSerializeWrapper":{` + table + `,` + data + `}}`},
	} {
		b := r.master(fmt.Sprint("b", i)).change(func(b *broker) { b.addr = r.addr(i) })
		r.ask(tt.label, b.registerWith([]byte(tt.body)))
		r.ask(tt.label+": 901", b.group())
		r.ask(tt.label+": x", route("regbody-x"))
		r.ask(tt.label+": y", route("regbody-y"))
		r.ask(tt.label+": 322", b.query(elected(3, 1)), rawHeader)
		r.leave(tt.label+": 104", b)
	}
	inner := r.master("inner").change(func(b *broker) { b.addr, b.ordinal = r.addr(100), vInner })
	r.ask("bare table as from an old broker, new version", inner.change(func(b *broker) { b.ordinal = vNew }).registerWith(inner.body()))
	r.ask("full body, old version", inner.registerWith(inner.change(func(b *broker) { b.ordinal = vNew }).body()))
	r.ask("route afterwards", route(r.name("t1")))
}

func singleTopicGuard(r *run) {
	one, two := r.names("t1"), r.names("t1", "t2")
	b := r.master("b")
	r.ask("one topic from nobody", b.having(one...).register(), rawHeader)
	r.ask("106 after the refusal", ask(clusterInfo))
	r.ask("901 after the refusal", b.group())
	r.ask("224 after the refusal", ask(topicsByCluster, "cluster", b.cluster))
	r.ask("304 after the refusal", ask(systemTopics))
	r.ask("105 after the refusal", route(r.name("t1")))
	r.ask("322 after the refusal", b.query(v(1)))
	r.ask("two topics", b.having(two...).register())
	r.ask("one topic from a known broker", b.at(v(2)).having(r.names("t3")...).register())
	r.ask("route of the one", route(r.name("t3")))
	r.ask("route of the others", route(r.name("t2")))
	slave := b.as(1, r.addr(2))
	r.ask("one topic from a slave", slave.having(one...).register(), rawHeader)
	r.ask("901 after the slave", b.group())
	old := slave.withActing("")
	r.ask("one topic from an old slave", old.having(one...).register())
	r.ask("one topic from an old slave, compressed", old.having(one...).change(func(b *broker) { b.compressed = true }).register())
	other := r.master("other").change(func(b *broker) { b.addr = r.addr(3) })
	r.ask("no topic from nobody", other.having().register())
	r.ask("one topic after none", other.having(r.names("o1")...).register())
	r.ask("106 at the end", ask(clusterInfo))
	zone := b.inZone("z9").as(7, r.addr(9))
	r.ask("refused with another zone", zone.having(one...).register())
	r.ask("the zone after the refusal", route(r.name("t1")))
	moved := b.as(5, b.addr)
	r.ask("refused with the master's address", moved.having(one...).register())
	r.ask("901 after that refusal", b.group())
}

func stateConflict(r *run) {
	first := r.master("b").at(elected(2, 1))
	second := first.as(0, r.addr(2))
	r.ask("elected", first.register())
	r.ask("lower state", second.at(elected(1, 9)).register(), rawHeader)
	r.ask("group after a lower state", first.group())
	r.ask("322 of the refused", second.query(elected(1, 9)))
	r.ask("106 after a lower state", ask(clusterInfo))
	r.ask("lower state and another zone", second.at(elected(1, 9)).inZone("z7").register())
	r.ask("zone after a lower state", route(r.name("t1")))
	r.ask("lower state and acting", second.at(elected(1, 9)).withActing("true").register())
	r.ask("acting after a lower state", route(r.name("t1")))
	r.ask("elected again", first.register())
	r.ask("equal state", second.at(elected(2, 1)).register())
	r.ask("group after an equal state", first.group())
	r.ask("322 of the replaced", first.query(elected(2, 1)))
	r.ask("higher state", first.at(elected(3, 1)).register())
	r.ask("group after a higher state", first.group())
	r.ask("a slave with a lower state", first.as(1, r.addr(3)).at(elected(1, 1)).register())
	r.ask("another slave of this id with a lower one", first.as(1, r.addr(4)).at(elected(0, 1)).register())
	r.ask("group with a slave", first.group())
	r.ask("a registered slave claims the master's place", first.as(0, r.addr(3)).at(elected(2, 2)).register())
	r.ask("group after the claim", first.group())
	r.ask("322 of the claiming slave", first.as(1, r.addr(3)).query(elected(1, 1)))
	r.ask("same address, lower state", first.at(elected(0, 1)).register())
	r.ask("322 after a lower state of its own", first.query(elected(0, 1)))
}

func roleSwitch(r *run) {
	m := r.master("b")
	s := m.as(1, r.addr(2))
	r.ask("master", m.register())
	r.ask("slave", s.register())
	r.ask("route of both", route(r.name("t1")))
	r.ask("the slave takes the master's place", s.as(0, r.addr(2)).at(elected(1, 2)).register())
	r.ask("route of one", route(r.name("t1")))
	r.ask("the master returns as a slave", m.as(1, r.addr(1)).at(elected(1, 2)).register())
	r.ask("group switched", m.group())
	r.ask("route switched", route(r.name("t1")))
	r.ask("a candidate without an id", m.as(-1, r.addr(3)).at(elected(1, 2)).register())
	r.ask("group with a candidate", m.group())
	r.ask("route with a candidate, legacy", route(r.name("t1")).as(vGo, false))
	r.ask("route with a candidate", route(r.name("t1")), rawBody)
	r.ask("the candidate becomes slave 2", m.as(2, r.addr(3)).at(elected(1, 2)).register())
	r.ask("group without a candidate", m.group())
	r.ask("slave 2 becomes 3", m.as(3, r.addr(3)).at(elected(1, 2)).register())
	r.ask("group renumbered", m.group())
	r.ask("a new address for slave 3", m.as(3, r.addr(4)).at(elected(1, 2)).register())
	r.ask("group readdressed", m.group())
}

func dataVersions(r *run) {
	b := r.master("b")
	wide := func(n int) topic { return topic{name: r.name("t1"), read: n, write: n, perm: 6} }
	rest := r.names("t2")[0]
	r.ask("first", b.having(wide(4), rest).register())
	r.ask("equal version, other numbers", b.having(wide(8), rest).register())
	r.ask("route after an equal version", route(r.name("t1")))
	r.ask("next version", b.at(v(2)).having(wide(8), rest).register())
	r.ask("route after the next version", route(r.name("t1")))
	r.ask("version before", b.at(v(1)).having(wide(4), rest).register())
	r.ask("route after the version before", route(r.name("t1")))
	r.ask("same counter, other time", b.at(version{Timestamp: 5, Counter: 1}).having(wide(5), rest).register())
	r.ask("route after another time", route(r.name("t1")))
	r.ask("other state only", b.at(version{State: 1, Timestamp: 5, Counter: 1}).having(wide(6), rest).register())
	r.ask("route after another state", route(r.name("t1")))
	r.ask("fewer topics", b.at(v(9)).having(wide(6)).register())
	r.ask("route of what is not there any more", route(r.name("t2")))
	r.ask("write permission wiped", ask(wipeWrite, "brokerName", b.name))
	r.ask("equal version keeps it wiped", b.at(v(9)).having(wide(6), rest).register())
	r.ask("route of the wiped", route(r.name("t1")))
	r.ask("deleted", ask(deleteTopic, "topic", r.name("t1")))
	r.ask("route of the deleted", route(r.name("t1")))
	r.ask("equal version brings it back", b.at(v(9)).having(wide(6), rest).register())
	r.ask("route of the returned", route(r.name("t1")))
	r.ask("a changed version restores permissions", b.at(v(10)).having(wide(6), rest).register())
	r.ask("route of the restored", route(r.name("t2")))
	r.ask("wiped again", ask(wipeWrite, "brokerName", b.name))
	r.leave("leaves", b)
	r.ask("equal version after leaving", b.at(v(10)).having(wide(6), rest).register())
	r.ask("route after the return", route(r.name("t1")))
}

func versionQueries(r *run) {
	b := r.master("b").at(elected(7, 3))
	r.ask("of nobody", b.query(elected(7, 3)), rawHeader)
	r.ask("of nobody, without a body", ask(queryVersion, b.query(v(1)).pairs()...), rawHeader)
	r.ask("register", b.register())
	r.ask("equal", b.query(elected(7, 3)), raw)
	r.ask("other counter", b.query(elected(7, 4)), raw)
	r.ask("other state", b.query(elected(8, 3)))
	r.ask("other time", b.query(version{State: 7, Timestamp: 1, Counter: 3}))
	r.ask("without a body", ask(queryVersion, b.query(v(1)).pairs()...))
	for _, name := range []string{"brokerName", "brokerId", "clusterName", "brokerAddr"} {
		r.ask("without "+name, b.query(elected(7, 3)).without(name))
	}
	r.ask("another id", b.query(elected(7, 3)).with("brokerId", "3"))
	r.ask("another name", b.query(elected(7, 3)).with("brokerName", "other"))
	r.ask("another cluster", b.query(elected(7, 3)).with("clusterName", "other"))
	for _, body := range []string{`{}`, `null`, `x`, `[]`, `{"counter":3}`, `{"counter":"3","stateVersion":7,"timestamp":1700000000000}`,
		`{"stateVersion":7,"timestamp":1700000000000,"counter":3,"more":{}}`, `{"counter":null,"stateVersion":7,"timestamp":1700000000000}`} {
		q := b.query(v(1))
		q.body = []byte(body)
		r.ask("body "+body, q)
	}
	r.ask("it never registers", r.master("other").change(func(b *broker) { b.addr = r.addr(7) }).query(v(1)))
	r.ask("heartbeat of nobody", r.master("other").change(func(b *broker) { b.addr = r.addr(7) }).beat())
	r.ask("heartbeat without an address", b.beat().without("brokerAddr"))
	r.ask("heartbeat without a cluster", b.beat().without("clusterName"))
	r.ask("heartbeat without a name", b.beat().without("brokerName"))
	r.ask("heartbeat with ignored fields", b.beat().with("brokerId", "x").with("epoch", "y").with("heartbeatTimeoutMills", "1"))
	r.ask("neither of them registers", ask(clusterInfo))
}

// splitRegistration sends one table in parts under one version, and then increments.
func splitRegistration(r *run) {
	b := r.master("b").at(v(5))
	r.ask("part 1", b.having(r.names("a1", "a2")...).register())
	r.ask("part 2", b.having(r.names("b1", "b2", "b3")...).register())
	last := b.having(r.names("c1")...)
	last.statics = []staticTopic{{r.name("c1"), 1, map[string]int{"0": 0, "1": 1}}}
	r.ask("part 3", last.register())
	for _, name := range []string{"a1", "a2", "b1", "b3", "c1"} {
		r.ask("route of "+name, route(r.name(name)))
	}
	r.ask("an increment", b.at(v(6)).having(r.names("d1")...).register())
	r.ask("route of the increment", route(r.name("d1")))
	r.ask("its version", b.query(v(6)))
	changed := topic{name: r.name("a1"), read: 16, write: 16, perm: 4, sys: 2}
	r.ask("a changed topic", b.at(v(7)).having(changed).register())
	r.ask("route of the changed", route(r.name("a1")))
	r.ask("all of it, next version", b.at(v(8)).having(append(r.names("a2", "b1", "b2", "b3", "c1", "d1"), changed)...).register())
	r.ask("topics of the cluster", ask(topicsByCluster, "cluster", b.cluster))
}

// otherNames has one address or name used twice.
func otherNames(r *run) {
	b := r.master("b")
	r.ask("first", b.register())
	other := b.change(func(b *broker) { b.cluster = r.name("c2") })
	r.ask("same name and address, another cluster", other.register())
	r.ask("106 of two clusters", ask(clusterInfo))
	r.ask("route of two clusters", route(r.name("t1")))
	r.ask("224 of the first", ask(topicsByCluster, "cluster", b.cluster))
	r.ask("224 of the second", ask(topicsByCluster, "cluster", other.cluster))
	elsewhere := r.master("e").change(func(b *broker) { b.addr = r.addr(5) }).having(r.names("e1", "e2")...)
	r.ask("another broker", elsewhere.register())
	renamed := elsewhere.change(func(b *broker) { b.name = r.name("f") })
	r.ask("same address, another name", renamed.register())
	r.ask("106 of two names", ask(clusterInfo))
	r.ask("901 of the old name", elsewhere.group())
	r.ask("901 of the new name", renamed.group())
	r.ask("route of two names", route(r.name("e1")))
	upper := r.master("UPPER").change(func(b *broker) { b.addr = "HOST.example:10911" })
	r.ask("a host name in capitals", upper.register())
	r.ask("901 keeps it", upper.group())
}
