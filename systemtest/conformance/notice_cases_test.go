package conformance

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"time"
)

var noticeCases = []scenario{{"notices", aged, notices}}

// noticeLimit is for notices to arrive; the stock server gives up after 300 ms.
const noticeLimit = 3 * time.Second

// listener is a broker that only takes what is sent to it.
type listener struct {
	net.Listener
	name  string
	heard chan heard
}

type heard struct {
	by string
	a  answer
}

func (l *listener) run() {
	for {
		nc, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer nc.Close()
			for {
				a, err := readAnswer(nc)
				if err != nil {
					return
				}
				l.heard <- heard{l.name, a}
			}
		}()
	}
}

func notices(r *run) {
	all := make(chan heard, 100)
	m := r.listening(all, r.master("b").withActing("true"), "member0")
	s1 := r.listening(all, m.as(1, ""), "member1")
	s2 := r.listening(all, m.as(2, ""), "member2")
	await := func(label string, count int) { r.awaitNotices(label, all, count) }

	r.ask("slave 2 comes while off", s2.register())
	r.ask("slave 1 comes while off", s1.register())
	r.leave("slave 1 leaves while off", s1)
	r.ask("on", configure("notifyMinBrokerIdChanged=true"))
	r.ask("slave 1 comes", s1.register())
	await("slave 2 hears of slave 1", 1)
	r.ask("slave 1 again", s1.at(v(2)).register())
	r.ask("master comes", m.register())
	await("slaves hear of the master", 2)
	r.leave("slave 2 leaves", s2)
	r.ask("slave 2 comes back", s2.register())
	r.leave("master leaves", m)
	await("slaves hear of the loss", 2)
	r.leave("slave 1 leaves", s1)
	await("slave 2 hears of the loss", 1)
	c := r.dial()
	r.askOn(c, "slave 1 comes over a connection of its own", s1.register())
	await("slave 2 hears of slave 1 again", 1)
	c.close()
	await("slave 2 hears of the closed connection", 1)
	r.ask("slave 2 takes id 1", s2.as(1, s2.addr).register())
	await("slave 2 alone hears of itself", 1)

	quietGroup := r.listening(all, r.master("q").withActing("false"), "quiet0")
	quiet1 := r.listening(all, quietGroup.as(1, ""), "quiet1")
	r.ask("without acting: slave", quiet1.register())
	r.ask("without acting: master", quietGroup.register())
	await("its slave hears of the master", 1)
	r.leave("without acting: master leaves", quietGroup)
	r.ask("the end: slave 2 back under its id", s2.register())
	r.ask("the end: master comes", m.register())
	await("only the last is heard", 1)
	r.ask("off", configure("notifyMinBrokerIdChanged=false"))
}

// listening gives a broker an address that it listens on, and a name for that in what is compared.
func (r *run) listening(all chan heard, b broker, name string) broker {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		r.record("listen", err.Error())
		return b
	}
	r.closers = append(r.closers, func() { l.Close() })
	go (&listener{l, name, all}).run()
	b.addr = l.Addr().String()
	r.renames = append(r.renames, b.addr, "<"+name+">")
	return b
}

// awaitNotices records the next notices, in the order of their recipients.
func (r *run) awaitNotices(label string, all chan heard, count int) {
	var got []string
	deadline := time.After(noticeLimit)
	for len(got) < count {
		select {
		case h := <-all:
			got = append(got, fmt.Sprintf("%s: code %d, fields %s, flag %d, remark %s, body %q", h.by, h.a.Code, fieldsText(h.a.Fields), h.a.Flag, remarkText(h.a.Remark), h.a.body))
			continue
		case <-deadline:
			got = append(got, "no notice")
		}
		break
	}
	slices.Sort(got)
	r.record(label, strings.Join(got, "\n"))
}
