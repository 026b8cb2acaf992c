package conformance

import (
	"fmt"
	"strings"
)

var kvCases = []scenario{
	{"kv", together, keyValues},
	{"kvnull", together, keyValuesWithout},
	{"kvtext", together, keyValueTexts},
}

func keyValues(r *run) {
	for _, form := range forms {
		ns := r.name(form.String())
		in := func(q request) request { return q.as(form.version, form.binary) }
		label := func(s string) string { return form.String() + ": " + s }
		r.ask(label("list of an unknown namespace"), in(list(ns)))
		r.ask(label("get from an unknown namespace"), in(get(ns, "k")))
		r.ask(label("delete from an unknown namespace"), in(remove(ns, "k")))
		r.ask(label("list after a delete"), in(list(ns)))
		r.ask(label("put"), in(put(ns, "k", "v")))
		r.ask(label("get"), in(get(ns, "k")))
		r.ask(label("get another"), in(get(ns, "l")))
		r.ask(label("put again"), in(put(ns, "k", "v2")))
		r.ask(label("put another"), in(put(ns, "l", "w")))
		r.ask(label("list"), in(list(ns)))
		r.ask(label("delete"), in(remove(ns, "k")))
		r.ask(label("get after a delete"), in(get(ns, "k")))
		r.ask(label("delete again"), in(remove(ns, "k")))
		r.ask(label("delete the last"), in(remove(ns, "l")))
		r.ask(label("list of an emptied namespace"), in(list(ns)))
	}
}

func keyValuesWithout(r *run) {
	ns := r.name("ns")
	q := put(ns, "k", "v")
	r.ask("put without a namespace", q.without("namespace"))
	r.ask("put without a key", q.without("key"))
	r.ask("put without anything", ask(putKV))
	r.ask("put without a value", q.without("value"))
	r.ask("get what has no value", get(ns, "k"))
	r.ask("put an empty value", put(ns, "k", ""))
	r.ask("get an empty value", get(ns, "k"))
	r.ask("list with an empty value", list(ns))
	r.ask("put an empty key", put(ns, "", "v"))
	r.ask("get an empty key", get(ns, ""))
	r.ask("put an empty namespace", put("", r.name("k"), "v"))
	r.ask("get from an empty namespace", get("", r.name("k")))
	r.ask("put an empty value, binary", put(ns, "e", "").as(vNew, true))
	r.ask("put an empty key, binary", put(ns, "", "v").as(vNew, true))
	r.ask("get without a namespace", ask(getKV, "key", "k"))
	r.ask("get without a key", ask(getKV, "namespace", ns))
	r.ask("get without anything", ask(getKV))
	r.ask("list without a namespace", ask(kvList))
	r.ask("delete without a namespace", ask(deleteKV, "key", "k"))
	r.ask("delete without a key", ask(deleteKV, "namespace", ns))
	r.ask("delete without anything", ask(deleteKV))
	r.ask("names are exact", ask(getKV, "Namespace", ns, "KEY", "k"))
	signed := get(ns, "k").with("AccessKey", "a").with("Signature", "s").with("nsd", "true").with("oway", "false").with("OnsChannel", "x")
	r.ask("fields of signing clients", signed)
}

func keyValueTexts(r *run) {
	ns := r.name("ns")
	for i, text := range []string{
		"über/中文", `quote " back \ slash /`, "tab\tnew\nline\rfeed\fback\b", "\u0001\u007f\u0085\u2028\u2029", "<a & 'b'>", "🚀",
		"a=b;c:d", " spaces ", `{"a":1}`, "null", "true",
	} {
		key := fmt.Sprint("k", i)
		r.ask(fmt.Sprintf("put %q", text), put(ns, key, text))
		r.ask(fmt.Sprintf("get %q", text), get(ns, key), rawHeader)
		r.ask(fmt.Sprintf("put %q, binary", text), put(ns, key+text, text).as(vNew, true))
		r.ask(fmt.Sprintf("get a missing %q", text), get(ns, "missing"+text), rawHeader)
	}
	r.ask("list of all texts", list(ns))
	r.ask("put a long value", put(ns, "long", strings.Repeat("x", 20_000)))
	r.ask("get a long value", get(ns, "long"))
	r.ask("put 100 kB, binary", put(ns, "longer", strings.Repeat("y", 100_000)).as(vNew, true))
	r.ask("get 100 kB", get(ns, "longer"))
}
