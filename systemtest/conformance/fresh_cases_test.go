package conformance

import "fmt"

// freshCases need a server that has never been used: whole bytes are compared where no other scenario adds to them.
var freshCases = []scenario{
	{"empty", fresh, emptyServer},
	{"first", fresh, firstBroker},
}

func emptyServer(r *run) {
	b := r.master("b")
	r.record("version", fmt.Sprint(r.ask("106", ask(clusterInfo), raw).Version))
	r.ask("206", ask(allTopics), raw)
	r.ask("304", ask(systemTopics), raw)
	r.ask("311", ask(unitTopics), raw)
	r.ask("312", ask(unitSubTopics), raw)
	r.ask("313", ask(unitSubUnunit), raw)
	r.ask("224", ask(topicsByCluster, "cluster", "none"), raw)
	r.ask("224 without a cluster", ask(topicsByCluster), raw)
	r.ask("105", route("none"), raw)
	r.ask("105 without a topic", ask(routeInfo), raw)
	r.ask("105 with an empty topic", route(""), raw)
	r.ask("105 in the legacy form", route("none").as(vGo, false), raw)
	r.ask("901", b.group(), raw)
	r.ask("219", list(orderNamespace), raw)
	r.ask("101", get("none", "none"), raw)
	r.ask("102", remove("none", "none"), raw)
	r.ask("104", b.unregister(), raw)
	r.ask("904", b.beat(), raw)
	r.ask("322", b.query(v(1)), raw)
	r.ask("205", ask(wipeWrite, "brokerName", "none"), raw)
	r.ask("327", ask(addWrite, "brokerName", "none"), raw)
	r.ask("216", ask(deleteTopic, "topic", "none"), raw)
	r.ask("217", ask(registerTopic, "topic", "none"), raw)
	r.ask("318", ask(updateConfig), raw)
	r.ask("47", ask(clientConfig), raw)
	r.ask("106 is still empty", ask(clusterInfo), raw)
}

func firstBroker(r *run) {
	b := r.master("b").having(r.names("t")...)
	b.topics = append(b.topics, topic{name: r.name("u"), read: 4, write: 5, perm: 7, sys: 3})
	slave := b.as(1, r.addr(2))
	r.ask("103 without an order table", b.register(), raw)
	r.ask("106 of one", ask(clusterInfo), raw)
	r.ask("304 of one", ask(systemTopics))
	r.ask("103 of a slave", slave.register())
	r.ask("106 of two", ask(clusterInfo), raw)
	for _, version := range []int{vGo, vLegacy, vStandard, vNew} {
		r.ask("105", route(r.name("u")).as(version, false), rawBody)
		r.ask("901", b.group().as(version, false), rawBody)
		r.ask("106", ask(clusterInfo).as(version, true), rawBody)
	}
	r.ask("105 with acceptStandardJsonOnly", route(r.name("t")).as(vGo, false).with("acceptStandardJsonOnly", "true"), rawBody)
	r.ask("311", ask(unitTopics), rawBody)
	r.ask("312", ask(unitSubTopics), rawBody)
	r.ask("313", ask(unitSubUnunit), rawBody)
	r.leave("104 of the slave", slave)
	r.ask("901 of the master", b.group(), rawBody)
	r.leave("104 of the master", b)
	r.ask("106 afterwards", ask(clusterInfo), rawBody)
	r.ask("304 afterwards", ask(systemTopics), rawBody)
	r.ask("206 afterwards", ask(allTopics), rawBody)
	r.ask("901 afterwards", b.group(), rawBody)

	r.ask("order table", put(orderNamespace, r.name("t"), b.name+":8"))
	r.ask("103 with an order table", b.register(), rawBody)
	r.ask("219", list(orderNamespace), rawBody)
	r.ask("order table emptied", remove(orderNamespace, r.name("t")))
	r.ask("103 with an empty order table", b.register(), rawBody)
	r.ask("219 emptied", list(orderNamespace), rawBody)
	r.leave("104 at the end", b)
}
