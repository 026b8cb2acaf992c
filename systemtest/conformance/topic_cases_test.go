package conformance

var topicCases = []scenario{
	{"deltopic", together, deletedTopics},
	{"regtopic", together, registeredTopics},
	{"perm", together, permissions},
	{"units", together, units},
	{"filters", together, filterServers},
	{"static", together, staticTopics},
	{"lists", together, topicLists},
}

func deletedTopics(r *run) {
	b := r.master("b")
	other := r.master("o").change(func(b *broker) { b.addr, b.cluster = r.addr(2), r.name("c2") })
	r.ask("103", b.register())
	r.ask("103 of another cluster", other.register())
	remove := func(topic, cluster string) request {
		return ask(deleteTopic, "topic", r.name(topic), "clusterName", cluster)
	}
	look := func(label string) {
		r.ask(label+": t1", route(r.name("t1")))
		r.ask(label+": t2", route(r.name("t2")))
	}
	r.ask("from an unknown cluster", remove("t1", "none"))
	look("nothing gone")
	r.ask("from one cluster", remove("t1", other.cluster))
	look("one gone")
	r.ask("again", remove("t1", other.cluster))
	r.ask("from the other", remove("t1", b.cluster))
	look("t1 gone")
	r.ask("empty cluster", remove("t2", ""))
	look("all gone")
	r.ask("of no topic", remove("none", ""))
	r.ask("no cluster", ask(deleteTopic, "topic", r.name("t2")))
	r.ask("no topic field", ask(deleteTopic))
	r.ask("empty topic", ask(deleteTopic, "topic", ""))
	r.ask("binary", remove("t2", other.cluster).as(vNew, true))
	r.ask("106 is as before", ask(clusterInfo))
	r.ask("same version again", b.register())
	look("back")
	r.ask("old client", ask(deleteTopic, "topic", r.name("t1")).as(vGo, false))
	look("gone by an old client")
}

func registeredTopics(r *run) {
	b := r.master("b")
	other := r.master("o").change(func(b *broker) { b.addr = r.addr(2) })
	r.ask("103", b.register())
	r.ask("103 of another", other.having(r.names("o1", "o2")...).register())
	queue := func(broker string, perm int) map[string]any {
		return map[string]any{"brokerName": broker, "perm": perm, "readQueueNums": 3, "writeQueueNums": 2, "topicSysFlag": 1}
	}
	body := func(topic string, body []byte) request {
		q := ask(registerTopic, "topic", r.name(topic))
		q.body = body
		return q
	}
	with := func(topic string, queues ...map[string]any) request {
		return body(topic, mustJSON(map[string]any{"brokerDatas": []string{}, "filterServerTable": struct{}{}, "queueDatas": queues}))
	}
	look := func(label, topic string) { r.ask("route: "+label, route(r.name(topic))) }
	for _, tt := range []struct {
		label, topic string
		q            request
	}{
		{"a new topic", "n1", with("n1", queue(b.name, 6))},
		{"a new topic on two", "n2", with("n2", queue(b.name, 6), queue(other.name, 4))},
		{"a known topic", "t1", with("t1", queue(b.name, 4))},
		{"a known topic on another broker", "t1", with("t1", queue(other.name, 2))},
		{"a new topic of an unknown broker", "n3", with("n3", queue("nobody", 6))},
		{"a new topic, the second broker unknown", "n4", with("n4", queue(b.name, 6), queue("nobody", 6))},
		{"a known topic, the second broker unknown", "t2", with("t2", queue(b.name, 1), queue("nobody", 6))},
		{"a known topic, the first broker unknown", "t2", with("t2", queue("nobody", 6), queue(other.name, 6))},
		{"no queues", "n5", with("n5")},
		{"no body", "n6", body("n6", nil)},
		{"no list", "n7", body("n7", []byte(`{}`))},
		{"a null list", "n7", body("n7", []byte(`{"queueDatas":null}`))},
		{"no JSON", "n8", body("n8", []byte(`hello`))},
		{"cut", "n8", body("n8", []byte(`{"queueDatas":[{"brokerName":"`))},
		{"a queue without members", "n9", body("n9", []byte(`{"queueDatas":[{"brokerName":"`+b.name+`"}]}`))},
		{"bare integer keys", "n10", body("n10", []byte(`{"brokerDatas":[{"brokerAddrs":{0:"a:1",1:"b:1"},"brokerName":"x"}],"queueDatas":[{"brokerName":"`+b.name+`","perm":6,"readQueueNums":1,"writeQueueNums":1}]}`))},
		{"numbers as text", "n11", body("n11", []byte(`{"queueDatas":[{"brokerName":"`+b.name+`","perm":"6","readQueueNums":"5","writeQueueNums":"5"}]}`))},
		{"binary header", "n12", with("n12", queue(b.name, 6)).as(vNew, true)},
	} {
		r.ask(tt.label, tt.q)
		look(tt.label, tt.topic)
	}
	r.ask("no topic field", with("x", queue(b.name, 6)).without("topic"))
	r.ask("the broker's next version", b.at(v(2)).register())
	look("the broker's next version", "t1")
	r.leave("the broker leaves", b)
	look("only on the one that left", "n1")
	look("also on another", "n2")
}

func permissions(r *run) {
	b := r.master("b")
	b.topics = []topic{{r.name("p1"), 1, 1, 1, 0}, {r.name("p2"), 1, 1, 2, 0}, {r.name("p4"), 1, 1, 4, 0}, {r.name("p6"), 1, 1, 6, 0},
		{r.name("p7"), 1, 1, 7, 0}, {r.name("p15"), 1, 1, 15, 0}}
	other := r.master("o").change(func(b *broker) { b.addr = r.addr(2) }).having(topic{r.name("p6"), 2, 2, 6, 0}, topic{r.name("o"), 2, 2, 6, 0})
	r.ask("103", b.register())
	r.ask("103 of another", other.register())
	look := func(label string) {
		for _, t := range b.topics {
			r.ask(label+": "+t.name, route(t.name))
		}
	}
	named := func(code int, name string) request { return ask(code, "brokerName", name) }
	r.ask("wipe", named(wipeWrite, b.name), rawHeader)
	look("wiped")
	r.ask("wipe again", named(wipeWrite, b.name))
	r.ask("add", named(addWrite, b.name), rawHeader)
	look("added")
	r.ask("add again", named(addWrite, b.name))
	for _, code := range []int{wipeWrite, addWrite} {
		r.ask("an unknown broker", named(code, "none"), rawHeader)
		r.ask("no field", ask(code), rawHeader)
		r.ask("an empty name", named(code, ""))
		r.ask("a cluster's name", named(code, b.cluster))
		r.ask("binary", named(code, other.name).as(vNew, true))
		r.ask("an old client", named(code, other.name).as(vGo, false))
	}
	r.ask("wipe, then", named(wipeWrite, b.name))
	r.ask("equal version keeps it", b.register())
	look("equal version")
	r.ask("changed version restores it", b.at(v(2)).register())
	look("changed version")
	r.ask("wipe once more", named(wipeWrite, b.name))
	r.leave("leaves", b)
	r.ask("comes back with an equal version", b.at(v(2)).register())
	look("after leaving")
	r.leave("leaves for good", b)
	r.ask("wipe of one that left", named(wipeWrite, b.name))
}

func units(r *run) {
	b := r.master("b")
	b.topics = []topic{{r.name("u0"), 1, 1, 6, 0}, {r.name("u1"), 1, 1, 6, 1}, {r.name("u2"), 1, 1, 6, 2}, {r.name("u3"), 1, 1, 6, 3}, {r.name("u4"), 1, 1, 6, 4}}
	r.ask("103", b.register())
	for _, form := range []form{{vGo, false}, {vNew, false}, {vNew, true}} {
		r.ask("311 "+form.String(), ask(unitTopics).as(form.version, form.binary))
		r.ask("312 "+form.String(), ask(unitSubTopics).as(form.version, form.binary))
		r.ask("313 "+form.String(), ask(unitSubUnunit).as(form.version, form.binary))
	}
	b.topics[0].sys, b.topics[3].sys = 3, 0
	r.ask("other flags", b.at(v(2)).register())
	r.ask("311 after", ask(unitTopics))
	r.ask("312 after", ask(unitSubTopics))
	r.ask("313 after", ask(unitSubUnunit))
	r.leave("leaves", b)
	r.ask("311 at the end", ask(unitTopics))
}

func filterServers(r *run) {
	b := r.master("b")
	s := b.as(1, r.addr(2))
	with := func(b broker, list ...string) broker { return b.change(func(b *broker) { b.filters = list }) }
	look := func(label string) { r.ask(label+": route", route(r.name("t1"))) }
	r.ask("one", with(b, "f:1").register())
	look("one")
	r.ask("two, equal version", with(b, "f:2", "f:1").register())
	look("two")
	r.ask("of the slave", with(s, "g:1").register())
	look("both")
	r.ask("list left out", with(b).change(func(b *broker) { b.noFilters = true }).register())
	look("left out")
	r.ask("bare table", b.change(func(b *broker) { b.ordinal = vInner }).register())
	look("bare table")
	r.ask("compressed", with(b, "z:1").change(func(b *broker) { b.compressed = true }).register())
	look("compressed")
	r.ask("emptied", with(b).register())
	look("emptied")
	r.ask("the slave takes the master's place", with(s, "g:2").as(0, r.addr(2)).at(elected(1, 1)).register())
	look("switched")
	r.ask("legacy", route(r.name("t1")).as(vGo, false), rawBody)
	r.leave("leaves", s.as(0, r.addr(2)))
	look("gone")
	r.ask("comes back with the list left out", s.as(0, r.addr(2)).change(func(b *broker) { b.noFilters = true }).register())
	look("back")
}

func staticTopics(r *run) {
	b := r.master("b")
	with := func(b broker, topics ...staticTopic) broker {
		return b.change(func(b *broker) { b.statics = topics })
	}
	st := func(topic string, epoch int64, ids map[string]int) staticTopic {
		return staticTopic{r.name(topic), epoch, ids}
	}
	look := func(label string) {
		for _, t := range []string{"t1", "t2"} {
			r.ask(label+": "+t, route(r.name(t)))
			r.ask(label+": legacy "+t, route(r.name(t)).as(vGo, false), rawBody)
		}
	}
	r.ask("with a static topic", with(b, st("t1", 1, map[string]int{"0": 0, "3": 1})).register())
	look("one")
	r.ask("equal version, other mapping", with(b, st("t1", 2, map[string]int{"0": 5})).register())
	look("equal version")
	r.ask("next version", with(b, st("t1", 2, map[string]int{"0": 5, "11": 6}), st("t2", 1, map[string]int{"2": 2})).at(v(2)).register())
	look("next version")
	r.ask("lower epoch", with(b, st("t1", 1, map[string]int{"0": 7})).at(v(3)).register())
	look("lower epoch")
	other := r.master("o").change(func(b *broker) { b.addr = r.addr(2) })
	r.ask("of another broker", with(other, st("t1", 1, map[string]int{"1": 0})).register())
	look("two brokers")
	r.ask("no mappings", b.at(v(4)).register())
	look("no mappings")
	r.ask("a slave's", with(b.as(1, r.addr(3)), st("t2", 9, map[string]int{"9": 9})).at(v(9)).register())
	look("a slave's")
	r.ask("deleted", ask(deleteTopic, "topic", r.name("t1")))
	r.ask("deleted: t1", route(r.name("t1")))
	r.ask("back", b.at(v(5)).register())
	look("back")
	r.leave("the slave leaves", b.as(1, r.addr(3)))
	r.leave("the other leaves", other)
	look("the other left")
	r.leave("all leave", b)
	r.ask("registered without a mapping", b.register())
	look("new")
}

func topicLists(r *run) {
	b := r.master("b")
	other := r.master("o").change(func(b *broker) { b.addr, b.cluster = r.addr(2), r.name("c2") }).having(r.names("t2", "t3")...)
	r.ask("103", b.register())
	r.ask("103 of another", other.register())
	look := func(label string) {
		r.ask(label+": 206", ask(allTopics))
		r.ask(label+": 304", ask(systemTopics))
		r.ask(label+": 106", ask(clusterInfo))
		r.ask(label+": 224", ask(topicsByCluster, "cluster", b.cluster))
		r.ask(label+": 224 of the other", ask(topicsByCluster, "cluster", other.cluster))
	}
	look("two")
	r.ask("224 binary", ask(topicsByCluster, "cluster", b.cluster).as(vNew, true))
	r.ask("224 old", ask(topicsByCluster, "cluster", b.cluster).as(vGo, false))
	r.ask("224 without a field", ask(topicsByCluster))
	r.ask("224 empty", ask(topicsByCluster, "cluster", ""))
	r.ask("224 of a broker's name", ask(topicsByCluster, "cluster", b.name))
	r.leave("one leaves", other)
	look("one")
	r.leave("the last leaves", b)
	look("none")
	r.ask("901 without fields", ask(memberGroup))
	r.ask("901 without a cluster", b.group().without("clusterName"))
	r.ask("901 of another cluster", b.group().with("clusterName", "other"), rawBody)
	r.ask("901 without a name", b.group().without("brokerName"))
}
