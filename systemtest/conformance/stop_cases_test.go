package conformance

import "time"

var stopCases = []scenario{{"stopping", last, stopping}}

// stopping sees the server end: with enableShutdownGracefully it sends new clients away and serves old ones.
func stopping(r *run) {
	b := r.master("b")
	r.ask("103", b.register())
	c := r.dial()
	r.askOn(c, "route before", route(r.name("t1")))
	r.stop()
	a := c.call(route(r.name("t1")))
	for deadline := time.Now().Add(answerLimit); a.end == "" && a.Code == success && time.Now().Before(deadline); a = c.call(route(r.name("t1"))) {
		time.Sleep(untilPause)
	}
	r.record("sent away", r.text(route(""), a, rawHeader))
	for _, version := range []int{vGo, vStays, vStays + 1, vNew, vNewest} {
		for _, form := range []form{{version, false}, {version, true}} {
			r.askOn(c, "route "+form.String(), route(r.name("t1")).as(form.version, form.binary))
			r.askOn(c, "unknown code "+form.String(), ask(9999).as(form.version, form.binary))
			r.askOn(c, "group "+form.String(), b.group().as(form.version, form.binary))
		}
	}
}
