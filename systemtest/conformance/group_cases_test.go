package conformance

var groupCases = []scenario{
	{"slaves", together, slaves},
	{"primeabsent", together, func(r *run) { primeSlave(r, "") }},
	{"primefalse", together, func(r *run) { primeSlave(r, "false") }},
	{"primetrue", together, func(r *run) { primeSlave(r, "true") }},
	{"candidate", together, candidate},
	{"zones", together, zones},
	{"acting", exclusive, actingMaster},
}

func slaves(r *run) {
	m := r.master("b")
	for _, acting := range []string{"", "false", "true"} {
		s := m.as(2, r.addr(2)).withActing(acting)
		label := func(text string) string { return "acting " + acting + ": " + text }
		r.ask(label("slave without a master"), s.register(), rawHeader)
		r.ask(label("group of a slave"), s.group())
		r.ask(label("route of a slave"), route(r.name("t1")))
		r.ask(label("master"), m.register(), rawHeader)
		r.ask(label("slave with a master"), s.register())
		r.ask(label("slave of another cluster name"), s.change(func(b *broker) { b.cluster = r.name("other") }).register())
		r.ask(label("slave again"), s.register())
		r.ask(label("slave with more topics"), s.at(v(2)).having(r.names("t1", "t2", "slaves")...).register())
		r.ask(label("route of what only the slave has"), route(r.name("slaves")))
		r.leave(label("master leaves"), m)
		r.ask(label("slave after that"), s.register())
		r.ask(label("slave after that, next version"), s.at(v(3)).having(r.names("t1", "late")...).register())
		r.ask(label("route after that"), route(r.name("t1")))
		r.ask(label("route of a late topic"), route(r.name("late")))
		r.leave(label("slave leaves"), s)
		r.leave(label("the slave of another name leaves"), s.change(func(b *broker) { b.cluster = r.name("other") }))
		r.ask(label("group at the end"), s.group())
		r.ask(label("106 at the end"), ask(clusterInfo))
		r.ask(label("route at the end"), route(r.name("t1")))
	}
}

// primeSlave follows the write permission of a group through loss and return of its master.
func primeSlave(r *run, acting string) {
	m := r.master("b").withActing(acting)
	s1, s2 := m.as(1, r.addr(2)), m.as(2, r.addr(3))
	look := func(label string) {
		r.ask(label+": t1", route(r.name("t1")))
		r.ask(label+": t2", route(r.name("t2")))
		r.ask(label+": group", m.group())
	}
	m.topics[0].perm = 7
	r.ask("slave 2 first", s2.register())
	look("slave 2 alone")
	r.ask("slave 1", s1.register())
	r.ask("slave 1, next version", s1.at(v(2)).register())
	look("two slaves")
	r.ask("master", m.register())
	look("master there")
	r.ask("slave 1 again", s1.register())
	r.ask("slave 2, next version", s2.at(v(2)).register())
	look("all there")
	r.leave("master leaves", m)
	look("master gone")
	r.ask("slave 1 with the master's version", s1.at(v(1)).register())
	look("slave 1 renewed")
	r.ask("slave 1 without the flag", s1.at(v(3)).withActing("").register())
	look("slave 1 as an old broker")
	r.ask("master back, same version", m.register())
	look("master back")
	r.leave("slave 1 leaves", s1)
	r.leave("master leaves again", m)
	look("slave 2 left")
	r.leave("slave 2 leaves", s2)
	look("nobody")
}

func candidate(r *run) {
	m := r.master("b").at(elected(1, 1)).withActing("true")
	c := m.as(-1, r.addr(2))
	r.ask("candidate", c.register())
	r.ask("route of a candidate", route(r.name("t1")))
	r.ask("master", m.register())
	r.ask("route of both", route(r.name("t1")))
	r.ask("candidate again", c.at(elected(1, 2)).register())
	r.ask("route again", route(r.name("t1")))
	r.leave("master leaves", m)
	r.ask("route without the master", route(r.name("t1")))
	r.ask("the candidate is elected", m.as(0, r.addr(2)).at(elected(2, 1)).register())
	r.ask("route of the elected", route(r.name("t1")))
	r.ask("group of the elected", m.group())
}

func zones(r *run) {
	east := r.master("east").inZone("East")
	west := r.master("west").inZone("west").change(func(b *broker) { b.addr, b.filters = r.addr(2), []string{"w:1"} })
	none := r.master("none").change(func(b *broker) { b.addr = r.addr(3) })
	lone := r.master("lone").inZone("north").as(1, r.addr(4))
	for _, b := range []broker{east, west, none, lone} {
		r.ask("103 of "+b.name, b.register())
	}
	east.filters = []string{"e:1"}
	r.ask("east has filter servers", east.register())
	t1 := route(r.name("t1"))
	in := func(zone string) request { return t1.with("__ZONE_MODE", "true").with("__ZONE_NAME", zone) }
	r.ask("everywhere", t1)
	for _, zone := range []string{"East", "EAST", "west", "north", "south", " ", ""} {
		for _, form := range []form{{vGo, false}, {vNew, false}, {vNew, true}} {
			r.ask("zone "+zone+" "+form.String(), in(zone).as(form.version, form.binary))
		}
	}
	r.ask("bytes in a zone", in("south"), rawBody)
	r.ask("mode in capitals", in("west").with("__ZONE_MODE", "TRUE"))
	r.ask("mode off", in("west").with("__ZONE_MODE", "false"))
	r.ask("mode absent", in("west").without("__ZONE_MODE"))
	r.ask("name absent", in("west").without("__ZONE_NAME"))
	r.ask("no such topic", in("west").with("topic", r.name("nothing")))
	r.ask("standard JSON asked for", in("west").with("acceptStandardJsonOnly", "true"))
	r.ask("106 shows zones", ask(clusterInfo))
	r.ask("a slave without a zone", west.as(1, r.addr(5)).inZone("").register())
	r.ask("it took the zone away", t1)
	r.ask("west again", west.register())
	r.ask("zone west again", in("west"))
}

// actingMaster needs the setting supportActingMaster.
func actingMaster(r *run) {
	r.ask("on", configure("supportActingMaster=true"))
	exempt := "rmq_sys_SYNC_BROKER_MEMBER_" + r.name("b")
	m := r.master("b").withActing("true")
	m.topics = append(m.topics, topic{name: exempt, read: 1, write: 1, perm: 1})
	s1, s2 := m.as(1, r.addr(2)), m.as(2, r.addr(3))
	look := func(label string) {
		r.ask(label+": route", route(r.name("t1")))
		r.ask(label+": legacy route", route(r.name("t1")).as(vGo, false), rawBody)
		r.ask(label+": exempt topic", route(exempt))
		r.ask(label+": group", m.group())
		r.ask(label+": 106", ask(clusterInfo))
	}
	for _, b := range []broker{m, s1, s2} {
		r.ask("103", b.register())
	}
	look("all there")
	r.leave("master leaves", m)
	look("master gone")
	r.ask("no zone has it", route(r.name("t1")).with("__ZONE_MODE", "true").with("__ZONE_NAME", "z"))
	r.ask("write permission added", ask(addWrite, "brokerName", m.name))
	look("writable")
	r.ask("and wiped", ask(wipeWrite, "brokerName", m.name))
	look("wiped")
	r.ask("a slave without the mode", s2.withActing("false").register())
	look("mode off in the group")
	r.ask("a slave with it", s2.register())
	r.leave("slave 1 leaves", s1)
	look("slave 2 left")
	r.ask("master back", m.register())
	look("master back")
	r.ask("off", configure("supportActingMaster=false"))
	r.leave("master leaves again", m)
	look("not supported")
}
