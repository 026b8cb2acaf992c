package protocol

import (
	"fmt"
	"strings"
	"testing"
)

const routeHeader = `{"code":105,"extFields":{"topic":"load-topic-00042"},"flag":0,"language":"JAVA","opaque":12345,"serializeTypeCurrentRPC":"JSON","version":459}`

// framed returns what follows the 4-byte length of a frame with a JSON header.
func framed(header, body string) []byte {
	n := len(header)
	return append([]byte{0, byte(n >> 16), byte(n >> 8), byte(n)}, header+body...)
}

func BenchmarkDecodeRouteRequest(b *testing.B) {
	frame := framed(routeHeader, "")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := DecodeFrame(frame); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppendRouteAnswer(b *testing.B) {
	c := NewResponse(Success, "")
	c.Body = []byte(strings.Repeat("r", 850))
	var dst []byte
	b.ReportAllocs()
	for b.Loop() {
		dst = AppendFrame(dst[:0], c)
	}
}

func BenchmarkAppendRegisterAnswer(b *testing.B) {
	c := NewResponse(Success, "")
	c.ExtFields = map[string]string{"haServerAddr": "127.0.0.1:10912", "masterAddr": "127.0.0.1:10911"}
	var dst []byte
	b.ReportAllocs()
	for b.Loop() {
		dst = AppendFrame(dst[:0], c)
	}
}

// thousandTopics is the body of a 5.x broker with 1,000 topics.
func thousandTopics() []byte {
	var b strings.Builder
	b.WriteString(`{"filterServerList":[],"topicConfigSerializeWrapper":{"dataVersion":{"counter":1,"stateVersion":2,"timestamp":1796020097050},"topicConfigTable":{`)
	for i := range 1000 {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `"load-topic-%05[1]d":{"attributes":{},"order":false,"perm":6,"readQueueNums":8,"topicFilterType":"SINGLE_TAG","topicName":"load-topic-%05[1]d","topicSysFlag":0,"writeQueueNums":8}`, i)
	}
	b.WriteString(`},"topicQueueMappingDetailMap":{},"topicQueueMappingInfoMap":{}}}`)
	return []byte(b.String())
}

func BenchmarkDecodeRegisterBody(b *testing.B) {
	body := thousandTopics()
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := DecodeRegisterBody(body, Version, false); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRouteJSON(b *testing.B) {
	r := goldenRoute()
	for _, d := range []Dialect{Legacy, Standard} {
		b.Run([]string{"legacy", "standard"}[d], func(b *testing.B) {
			var dst []byte
			b.ReportAllocs()
			for b.Loop() {
				dst = r.AppendJSON(dst[:0], d)
			}
		})
	}
}

func BenchmarkDecodeReused(b *testing.B) {
	frame, c := framed(routeHeader, ""), new(Command)
	b.ReportAllocs()
	for b.Loop() {
		if err := c.Decode(frame); err != nil {
			b.Fatal(err)
		}
	}
}
