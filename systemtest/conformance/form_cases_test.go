package conformance

import (
	"fmt"
	"strings"
)

// form is how a peer speaks.
type form struct {
	version int
	binary  bool
}

var forms = allForms()

func allForms() []form {
	var all []form
	for _, version := range versions {
		all = append(all, form{version, false}, form{version, true})
	}
	return all
}

func (f form) String() string {
	if f.binary {
		return fmt.Sprint("binary", f.version)
	}
	return fmt.Sprint("json", f.version)
}

var formCases = []scenario{
	{"forms", together, everyForm},
	{"packed", together, packedForms},
	{"packedbad", together, packedBad},
	{"crc", together, checksums},
	{"text", together, routeTexts},
}

// everyForm has a group, a static topic and filter servers registered and seen by every kind of peer.
func everyForm(r *run) {
	for i, f := range forms {
		b := r.master(f.String()).change(func(b *broker) {
			b.ordinal, b.binary, b.filters = f.version, f.binary, []string{"10.9.9.9:30000"}
			b.addr = r.addr(i * 2)
			b.topics = []topic{{r.name("t-" + f.String()), 3, 4, 6, 1}, {r.name("u-" + f.String()), 5, 6, 4, 0}}
			b.statics = []staticTopic{{r.name("t-" + f.String()), 2, map[string]int{"0": 0, "3": 1}}}
		})
		slave := b.as(1, r.addr(i*2+1))
		slave.filters = nil // the order of two is the stock server's hash order
		label := func(s string) string { return f.String() + ": " + s }
		r.ask(label("322 before"), b.query(v(1)))
		r.ask(label("103"), b.register())
		r.ask(label("103 of a slave"), slave.register())
		r.ask(label("322"), b.query(v(1)))
		r.ask(label("322 of another version"), b.query(v(2)))
		r.ask(label("105"), route(b.topics[0].name).as(f.version, f.binary), raw)
		r.ask(label("105 with acceptStandardJsonOnly"), route(b.topics[0].name).as(f.version, f.binary).with("acceptStandardJsonOnly", "TRUE"), rawBody)
		r.ask(label("105 of no topic"), route(r.name("none")).as(f.version, f.binary), rawHeader)
		r.ask(label("901"), b.group(), raw)
		r.ask(label("106"), ask(clusterInfo).as(f.version, f.binary))
		r.ask(label("904"), b.beat(), rawHeader)
		r.ask(label("205"), ask(wipeWrite, "brokerName", b.name).as(f.version, f.binary), rawHeader)
		r.ask(label("327"), ask(addWrite, "brokerName", b.name).as(f.version, f.binary), rawHeader)
		r.ask(label("104 of the slave"), slave.unregister(), rawHeader)
		r.ask(label("an unknown code"), ask(9999).as(f.version, f.binary), rawHeader)
	}
	r.settle()
	r.ask("224 of all", ask(topicsByCluster, "cluster", r.name("c")))
}

func packedForms(r *run) {
	for i, version := range versions[1:] {
		b := r.master(fmt.Sprint("v", version)).change(func(b *broker) {
			b.ordinal, b.compressed, b.addr = version, true, r.addr(i*3+10)
			b.filters = []string{"10.9.9.9:30000", "10.9.9.8:30000"}
			b.topics = []topic{{r.name(fmt.Sprint("t", version)), 3, 4, 6, 0}, {r.name(fmt.Sprint("u", version)), 5, 6, 2, 0}}
			b.statics = []staticTopic{{r.name(fmt.Sprint("t", version)), 2, map[string]int{"0": 0, "10": 3}}}
		})
		label := func(s string) string { return fmt.Sprint(version, ": ", s) }
		r.ask(label("compressed"), b.register())
		r.ask(label("its route"), route(b.topics[0].name).as(version, false))
		r.ask(label("its version"), b.query(v(1)))
		r.ask(label("compressed, binary header"), b.at(v(2)).change(func(b *broker) { b.binary = true }).register())
		unflagged := b.as(0, r.addr(i*3+11)).change(func(b *broker) { b.name += "x" })
		r.ask(label("compressed but flagged as not"), unflagged.register().with("compressed", "false"))
		r.ask(label("its group"), unflagged.group())
		plain := b.at(v(3)).change(func(b *broker) { b.compressed = false })
		r.ask(label("plain but flagged as compressed"), plain.register().with("compressed", "true"))
		r.ask(label("the version before"), b.query(v(2)))
		r.ask(label("cut in the middle"), b.registerWith(b.body()[:len(b.body())/2]))
	}
}

// packedBad has each part of a compressed body wrong once.
func packedBad(r *run) {
	b := r.master("b").change(func(b *broker) { b.compressed = true })
	good := []string{r.name("a") + " 1 2 6 SINGLE_TAG {}", r.name("b") + " 3 4 6 MULTI_TAG {}"}
	changed := func(text string) []string { return []string{good[0], text} }
	for _, tt := range []struct {
		label   string
		filters string
		topics  []string
	}{
		{"well", `["f:1"]`, good},
		{"four fields", "[]", changed(r.name("x") + " 1 2 6")},
		{"five fields", "[]", changed(r.name("five") + " 1 2 6 SINGLE_TAG")},
		{"seven fields", "[]", changed(r.name("seven") + ` 1 2 6 SINGLE_TAG {"a":"b c"} x`)},
		{"attributes are no JSON", "[]", changed(r.name("noattr") + " 1 2 6 SINGLE_TAG {x")},
		{"a number is none", "[]", changed(r.name("x") + " one 2 6 SINGLE_TAG {}")},
		{"a number is too large", "[]", changed(r.name("x") + " 9999999999 2 6 SINGLE_TAG {}")},
		{"an unknown filter type", "[]", changed(r.name("x") + " 1 2 6 OTHER {}")},
		{"two blanks", "[]", changed(r.name("x") + "  1 2 6 SINGLE_TAG {}")},
		{"an empty topic", "[]", changed("")},
		{"filter servers are no JSON", "x", good},
		{"no topics", "[]", nil},
		{"one topic of a known broker", "[]", good[:1]},
	} {
		r.ask(tt.label, b.registerWith(b.packedTexts(tt.filters, tt.topics...)))
		r.ask("the route of a after: "+tt.label, route(r.name("a")))
	}
	for _, name := range []string{"five", "seven", "noattr"} {
		r.ask("route of "+name, route(r.name(name)))
	}
	old := b.change(func(b *broker) { b.ordinal = vBefore5 })
	r.ask("no static part, new version", b.registerWith(old.body()))
	r.ask("a static part, old version", old.registerWith(b.body()))
	r.ask("no zlib", b.registerWith([]byte("x\x9cgarbage")))
	r.ask("an empty body", b.registerWith(nil))
	r.ask("bytes after the stream", b.registerWith(append(b.body(), "more"...)))
	r.ask("a length beyond the body", b.registerWith(deflate([]byte{0, 0, 16, 0, '{', '}'})))
	r.ask("a negative length", b.registerWith(deflate([]byte{255, 255, 255, 255})))
	r.ask("a negative count", b.registerWith(deflate(append(sized(nil, []byte("{}")), 255, 255, 255, 255))))
	r.ask("its group at the end", b.group())
}

func checksums(r *run) {
	b := r.master("b")
	q := b.register()
	r.ask("wrong", q.with("bodyCrc32", "1"))
	r.ask("wrong: no trace", ask(clusterInfo))
	r.ask("right", q)
	r.ask("zero", q.with("bodyCrc32", "0"))
	r.ask("absent", q.without("bodyCrc32"))
	r.ask("no number", q.with("bodyCrc32", "x"))
	r.ask("beyond an int", q.with("bodyCrc32", "4294967295"))
	r.ask("negative", q.with("bodyCrc32", "-5"))
	r.ask("no body, checksum of none", b.registerWith(nil))
	r.ask("no body, no checksum", b.registerWith(nil).without("bodyCrc32"))
	r.ask("no body, a checksum", b.registerWith(nil).with("bodyCrc32", "17"))
	r.ask("wrong, binary", q.as(vNew, true).with("bodyCrc32", "2"))
	r.ask("wrong, compressed", b.change(func(b *broker) { b.compressed = true }).register().with("bodyCrc32", "3"))
	r.ask("wrong, bare table", b.change(func(b *broker) { b.ordinal = vInner }).register().with("bodyCrc32", "3"))
	r.ask("its version", b.query(v(1)))
}

// routeTexts shows how names with unusual characters are written.
func routeTexts(r *run) {
	for i, text := range []string{"über/中文", `a"b\c`, "a<b>&'c'", "%RETRY%group", "🚀", "dot.dash-under_score|bar"} {
		b := r.master(text).change(func(b *broker) { b.addr, b.zone = fmt.Sprintf("[2001:db8::%d]:10911", i), "z/"+text })
		b.topics = []topic{{name: r.name(text), read: 1, write: 1, perm: 6}, {name: r.name(text + "2"), read: 1, write: 1, perm: 6}}
		r.ask("103 "+text, b.register())
		r.ask("105 "+text, route(r.name(text)))
		r.ask("105 legacy "+text, route(r.name(text)).as(vGo, false), rawBody)
		r.ask("105 standard bytes "+text, route(r.name(text)), rawBody)
		r.ask("901 "+text, b.group(), rawBody)
		r.ask("105 of no topic "+text, route(r.name("no"+text)), rawHeader)
		r.ask("224 "+text, ask(topicsByCluster, "cluster", strings.Repeat("x", i)))
	}
	r.ask("206", ask(allTopics))
	r.ask("304", ask(systemTopics))
	r.ask("106", ask(clusterInfo))
}
