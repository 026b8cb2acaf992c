package protocol

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// FuzzDecodeFrame checks that whatever decodes can be written and read again without a change, and that writing is
// stable.
func FuzzDecodeFrame(f *testing.F) {
	f.Add(readHex(f, "register_frame_binary.hex")[4:])
	header := readHex(f, "not_ready_header_binary.hex")
	f.Add(append([]byte{1, 0, 0, byte(len(header))}, header...))
	f.Add(framed(routeHeader, "body"))
	f.Add(framed(`{code:"105",'extFields':{"a":1,"b":null,"\u00e9":"\uD83D"},"language":"zig","version":9999} `, ""))
	f.Add([]byte{0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, frame []byte) {
		c, err := DecodeFrame(frame)
		if err != nil {
			if !errors.Is(err, ErrFrame) {
				t.Fatalf("error %v is not ErrFrame", err)
			}
			return
		}
		written := AppendFrame(nil, c)
		again, err := DecodeFrame(written[4:])
		if err != nil {
			t.Fatalf("written frame %q: %v", written, err)
		}
		if diff := cmp.Diff(c, again); diff != "" {
			t.Fatalf("read again (-first +second):\n%s", diff)
		}
		if diff := cmp.Diff(written, AppendFrame(nil, again)); diff != "" {
			t.Fatalf("written again (-first +second):\n%s", diff)
		}
	})
}

// FuzzDecodeRegisterBody checks that no body does harm, and what users of a decoded one rely on.
func FuzzDecodeRegisterBody(f *testing.F) {
	f.Add(readFile(f, "register_body.json"), int32(479), false)
	f.Add(readHex(f, "register_body_compressed.hex"), int32(479), true)
	f.Add(compress(f, `{}`, 1, "CT 3 5 6 SINGLE_TAG {}", "[]"), int32(401), true)
	f.Add([]byte(`{"dataVersion":{"counter":1},"topicConfigTable":{"a":{topicName:"a"}}}`), int32(36), false)
	f.Fuzz(func(t *testing.T, body []byte, version int32, compressed bool) {
		b, err := DecodeRegisterBody(body, version, compressed)
		if err != nil {
			if !errors.Is(err, ErrBody) {
				t.Fatalf("error %v is not ErrBody", err)
			}
			return
		}
		for _, topic := range b.Topics {
			if topic.Name == "" {
				t.Fatal("topic without a name")
			}
		}
		for _, q := range b.Mappings {
			if q.BrokerName == "" {
				t.Fatal("static topic without a broker name")
			}
			for i := 1; i < len(q.CurrIDs); i++ {
				if q.CurrIDs[i-1].Logic >= q.CurrIDs[i].Logic {
					t.Fatalf("queue ids out of order: %v", q.CurrIDs)
				}
			}
		}
	})
}
