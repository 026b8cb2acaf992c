package conformance

import (
	"encoding/binary"
	"fmt"
	"strings"
)

var frameCases = []scenario{
	{"frames", together, brokenFrames},
	{"headers", together, oddHeaders},
	{"codes", together, unknownCodes},
	{"pieces", together, pieces},
}

// brokenFrames sends each on a connection of its own, after a good request and before another.
func brokenFrames(r *run) {
	b := r.master("b")
	const goodOpaque = 99
	next := ask(9999)
	next.opaque = goodOpaque
	good := next.encode()
	length := func(total uint32, rest ...byte) []byte {
		return append(binary.BigEndian.AppendUint32(nil, total), rest...)
	}
	json := func(text string) []byte { return frame(0, []byte(text), nil) }
	binaryHeader := func(change func(h []byte) []byte) []byte {
		return frame(1, change(route("none").as(vNew, true).binaryHeader()), nil)
	}
	patch := func(at int, value uint32) []byte {
		return binaryHeader(func(h []byte) []byte { binary.BigEndian.PutUint32(h[at:], value); return h })
	}
	long := make([]byte, 16)
	for _, tt := range []struct {
		label string
		raw   []byte
	}{
		{"a total of -1", length(0xffffffff, long...)},
		{"a total of -2147483648", length(0x80000000, long...)},
		{"a total of 0", length(0, long...)},
		{"a total of 1", length(1, long...)},
		{"a total of 3", length(3, long...)},
		{"a total beyond the limit by one", length(16<<20-3, long...)},
		{"the largest total", frame(0, []byte(`{"code":9999,"opaque":5}`), make([]byte, 16<<20-8-len(`{"code":9999,"opaque":5}`)))},
		{"a header beyond the frame", append(length(6, 0, 0, 0, 3), "{}"...)},
		{"a header far beyond the frame", append(length(6, 0, 255, 255, 255), "{}"...)},
		{"form 2", frame(2, []byte("{}"), nil)},
		{"form 255", frame(255, []byte("{}"), nil)},
		{"an empty JSON header", json("")},
		{"an empty binary header", frame(1, nil, nil)},
		{"a header that is null", json("null")},
		{"a header that is a list", json("[]")},
		{"a header that is a number", json("1")},
		{"a header that is a text", json(`"x"`)},
		{"a header that is cut", json(`{"code":105`)},
		{"a header that is no JSON", json("hello")},
		{"text after the header", json("{} x")},
		{"two objects", json("{}{}")},
		{"blanks after the header", json("{\"code\":9999,\"opaque\":5}  \n\t")},
		{"blanks before the header", json(" \n{\"code\":9999,\"opaque\":5}")},
		{"deep nesting", json(strings.Repeat("[", 5000))},
		{"HTTP", []byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n")},
		{"a binary header that is short", binaryHeader(func(h []byte) []byte { return h[:20] })},
		{"a binary header of 4 bytes", binaryHeader(func(h []byte) []byte { return h[:4] })},
		{"a remark of -1 bytes", patch(13, 0xffffffff)},
		{"a remark beyond the header", patch(13, 1000)},
		{"fields of -1 bytes", patch(17, 0xffffffff)},
		{"fields beyond the header", patch(17, 1000)},
		{"fields that end early", binaryHeader(func(h []byte) []byte { binary.BigEndian.PutUint32(h[17:], 3); return h })},
		{"a key beyond the fields", binaryHeader(func(h []byte) []byte { binary.BigEndian.PutUint16(h[21:], 500); return h })},
		{"a value beyond the fields", binaryHeader(func(h []byte) []byte { binary.BigEndian.PutUint32(h[28:], 500); return h })},
		{"a negative value length", binaryHeader(func(h []byte) []byte { binary.BigEndian.PutUint32(h[28:], 0x80000001); return h })},
		{"bytes after the last field", binaryHeader(func(h []byte) []byte { return append(h, 1, 2, 3) })},
	} {
		c := r.dial()
		r.do(b.register())
		r.askOn(c, tt.label+": before", route("none"))
		if err := c.write(tt.raw); err != nil {
			r.record(tt.label, "closed")
			continue
		}
		_ = c.write(good) // nothing reads it when the frame closes the connection
		a := c.read(closeLimit)
		if a.end == "" && a.Opaque == goodOpaque { // answers may overtake each other
			a = c.read(closeLimit)
		}
		r.record(tt.label, r.text(request{}, a))
	}
	r.ask("a broker on another connection", b.group())
}

// oddHeaders are JSON headers that must be answered, with what stands in them.
func oddHeaders(r *run) {
	b := r.master("b")
	r.ask("103", b.register())
	t := r.name("t1")
	for _, text := range []string{
		`{"code":105,"opaque":7,"extFields":{"topic":"TOPIC"}}`,
		`{"code":"105","opaque":"7","version":"401","extFields":{"topic":"TOPIC"}}`,
		`{code:105,opaque:7,extFields:{topic:"TOPIC"}}`,
		`{"code":105,"opaque":-7,"flag":0,"language":"GO","version":317,"extFields":{"topic":"TOPIC"}}`,
		`{"code":105,"opaque":2147483647,"language":"go","extFields":{"topic":"TOPIC"}}`,
		`{"code":105,"opaque":-2147483648,"language":"ZIG","extFields":{"topic":"TOPIC"}}`,
		`{"code":105,"language":9,"extFields":{"topic":"TOPIC"}}`,
		`{"code":105,"language":99,"extFields":{"topic":"TOPIC"}}`,
		`{"code":105,"language":"","extFields":{"topic":"TOPIC"}}`,
		`{"code":105,"language":null,"remark":null,"extFields":{"topic":"TOPIC"}}`,
		`{"code":105,"serializeTypeCurrentRPC":"ROCKETMQ","extFields":{"topic":"TOPIC"}}`,
		`{"code":105,"serializeTypeCurrentRPC":"OTHER","extFields":{"topic":"TOPIC"}}`,
		`{"code":105,"unknown":{"a":[1,2,{"b":null}]},"extFields":{"topic":"TOPIC"}}`,
		`{"code":105,"version":32767,"extFields":{"topic":"TOPIC"}}`,
		`{"code":105,"version":400,"extFields":{"topic":"TOPIC","acceptStandardJsonOnly":true}}`,
		`{"code":105,"version":400,"extFields":{"topic":"TOPIC","acceptStandardJsonOnly":1}}`,
		`{"code":105,"extFields":{"topic":"TOPIC","x":1,"y":1.5,"z":null,"w":false}}`,
		`{"code":105,"extFields":{"topic":null}}`,
		`{"code":105,"extFields":{"topic":17}}`,
		`{"code":105,"extFields":{"topic":true}}`,
		`{"code":105,"extFields":{}}`,
		`{"code":105,"extFields":null}`,
		`{"code":105}`,
		`{"code":105,"flag":4,"extFields":{"topic":"TOPIC"}}`,
		`{"code":105,"extFields":{"topic":"first","topic":"TOPIC"}}`,
		`{ "code" : 105 , "extFields" : { "topic" : "TOPIC" } }`,
		`{'code':105,'extFields':{'topic':'TOPIC'}}`,
		`{"code":105,"remark":"any","extFields":{"topic":"TOPIC"}}`,
		`{"code":105,"extFields":{"topic":"\u0068eaders-t1"}}`,
		`{}`,
		`{"extFields":{"topic":"TOPIC"}}`,
		`{"code":null}`,
		`{"code":9999,"opaque":null}`,
		`{"code":2147483647}`,
		`{"code":-1}`,
		`{"code":105.0,"extFields":{"topic":"TOPIC"}}`,
		`{"code":"x","extFields":{"topic":"TOPIC"}}`,
		`{"code":105,"opaque":99999999999,"extFields":{"topic":"TOPIC"}}`,
		`{"code":105,"extFields":[]}`,
		`{"code":105,"extFields":"x"}`,
		`{"code":105,"extFields":{"topic":{"a":1}}}`,
		`{"code":105,"@type":"java.lang.Thread","extFields":{"topic":"TOPIC"}}`,
	} {
		c := r.dialTo(r.read)
		_ = c.write(frame(0, []byte(strings.ReplaceAll(text, "TOPIC", t)), nil))
		a := c.read(closeLimit)
		opaque := ", opaque of the server's own" // a frame without one gets the next of the stock server's
		if strings.Contains(text, "opaque") {
			opaque = fmt.Sprint(", opaque ", a.Opaque)
		}
		r.record(text, r.text(request{code: routeInfo}, a)+opaque)
	}
	for _, language := range []byte{1, 12, 13, 99, 255} {
		q := route(t).as(vNew, true)
		q.opaque = -5
		h := q.binaryHeader()
		h[2] = language
		c := r.dialTo(r.read)
		_ = c.write(frame(1, h, nil))
		a := c.read(closeLimit)
		r.record(fmt.Sprint("binary language ", language), fmt.Sprintf("%s, opaque %d", r.text(q, a), a.Opaque))
	}
}

func unknownCodes(r *run) {
	for _, code := range []int{0, 1, 10, 34, clientConfig, 99, 107, 204, 305, 310, 320, 328, 902, 903, notifyMinID, 1001, 1500, 9999, 32767} {
		q := ask(code, "brokerName", r.name("b"))
		q.body = []byte("body")
		r.ask(fmt.Sprint(code), q, rawHeader)
		r.ask(fmt.Sprint(code, " binary"), q.as(vGo, true), rawHeader)
	}
	r.ask("40000", ask(40000), rawHeader)
	r.ask("-5", ask(-5), rawHeader)
}

// pieces sends a request byte by byte, and two in one write.
func pieces(r *run) {
	b := r.master("b")
	r.ask("103", b.register())
	for _, binary := range []bool{false, true} {
		c := r.dialTo(r.read)
		q := b.group().as(vNew, binary)
		q.opaque = 77
		for _, x := range q.encode() {
			if err := c.write([]byte{x}); err != nil {
				break
			}
		}
		r.record(fmt.Sprint("byte by byte, binary ", binary), r.text(q, c.read(answerLimit)))
		_ = c.write(append(q.encode(), q.encode()...))
		r.record("first of two", r.text(q, c.read(answerLimit)))
		r.record("second of two", r.text(q, c.read(answerLimit)))
	}
}
