package protocol

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// javaBody is the registration in testdata, in both of its encodings.
func javaBody() *RegisterBody {
	return &RegisterBody{
		DataVersion: DataVersion{StateVersion: 2, Timestamp: 1796020097050, Counter: 1},
		HasTable:    true,
		Topics:      []TopicConfig{{Name: "TopicA", ReadQueueNums: 8, WriteQueueNums: 8, Perm: 6}},
		Mappings: []QueueMapping{{
			Topic: "ST", Scope: "__global__", TotalQueues: 2, BrokerName: "broker-a", Epoch: 5, CurrIDs: []IDPair{{0, 0}, {3, 1}},
		}},
		HasFilters: true,
	}
}

func TestDecodeRegisterBody(t *testing.T) {
	wrapped := func(inner string) string { return `{"topicConfigSerializeWrapper":` + inner + `}` }
	empty := func() *RegisterBody { return &RegisterBody{HasTable: true, HasFilters: true} }
	tests := []struct {
		name    string
		body    string
		version int32
		want    *RegisterBody // nil: ErrBody
	}{
		{"as a 5.x broker sends it", string(readFile(t, "register_body.json")), 479, javaBody()},
		{"no body", "", 479, empty()},
		{"no body, old", "", 36, &RegisterBody{HasTable: true}},
		{"empty object", "{}", 479, empty()},
		{
			"filter servers", `{"filterServerList":["a:1",null,"b:2"]}`, 37,
			&RegisterBody{HasTable: true, HasFilters: true, Filters: []string{"a:1", "b:2"}},
		},
		{"null filter servers", `{"filterServerList":null}`, 479, &RegisterBody{HasTable: true}},
		{"null wrapper", wrapped("null"), 479, &RegisterBody{HasFilters: true}},
		{"null table", wrapped(`{"topicConfigTable":null}`), 479, &RegisterBody{HasFilters: true}},
		{"other nulls", wrapped(`{"topicConfigTable":{},"dataVersion":null,"topicQueueMappingInfoMap":null}`), 479, empty()},
		{
			"defaults, and a name other than the key", wrapped(`{"topicConfigTable":{"key":{"topicName":"name"}}}`), 479,
			&RegisterBody{HasTable: true, HasFilters: true, Topics: []TopicConfig{{"name", 16, 16, 6, 0}}},
		},
		{
			"numbers as strings, nulls, unknown members",
			wrapped(`{"topicConfigTable":{"t":{"$ref":"..","topicName":"t","perm":"4","readQueueNums":null,"writeQueueNums":3,"topicSysFlag":2,"attributes":{"a":"b"}}}}`), 479,
			&RegisterBody{HasTable: true, HasFilters: true, Topics: []TopicConfig{{"t", 16, 3, 4, 2}}},
		},
		{
			"an escaped name", wrapped(`{"topicConfigTable":{"t":{"topicName":"\u4E3B\/\n"}}}`), 479,
			&RegisterBody{HasTable: true, HasFilters: true, Topics: []TopicConfig{{"主/\n", 16, 16, 6, 0}}},
		},
		{
			"static topics", wrapped(`{"topicQueueMappingInfoMap":{"key":{"bname":"b","currIdMap":{3:1,"0":"5",3:2},"dirty":true,"epoch":1700000000000},"k2":{"bname":"c","scope":"s","topic":"t2","currIdMap":null}}}`), 479,
			&RegisterBody{HasTable: true, HasFilters: true, Mappings: []QueueMapping{
				{Topic: "key", Scope: "__global__", BrokerName: "b", Epoch: 1700000000000, Dirty: true, CurrIDs: []IDPair{{0, 5}, {3, 2}}},
				{Topic: "t2", Scope: "s", BrokerName: "c"},
			}},
		},
		{
			"below 3.0.11 the table is bare", `{"dataVersion":{"counter":1,"timestamp":2},"topicConfigTable":{"OldT":{"topicName":"OldT"}},"filterServerList":["x"]}`, 36,
			&RegisterBody{DataVersion: DataVersion{0, 2, 1}, HasTable: true, Topics: []TopicConfig{{"OldT", 16, 16, 6, 0}}},
		},
		{"topic without a name", wrapped(`{"topicConfigTable":{"t":{"perm":6}}}`), 479, nil},
		{"null topic", wrapped(`{"topicConfigTable":{"t":null}}`), 479, nil},
		{"static topic without a broker", wrapped(`{"topicQueueMappingInfoMap":{"t":{"topic":"t"}}}`), 479, nil},
		{"null static topic", wrapped(`{"topicQueueMappingInfoMap":{"t":null}}`), 479, nil},
		{"queue id that is no number", wrapped(`{"topicQueueMappingInfoMap":{"t":{"bname":"b","currIdMap":{"x":0}}}}`), 479, nil},
		{"garbage", "garbage", 479, nil},
		{"null", "null", 479, nil},
		{"array", "[]", 479, nil},
		{"cut", `{"topicConfigSerializeWrapper":{"topicConfigTable":{`, 479, nil},
		{"text behind", "{}x", 479, nil},
		{"perm out of range", wrapped(`{"topicConfigTable":{"t":{"topicName":"t","perm":4294967296}}}`), 479, nil},
		{"nested too deeply", strings.Repeat(`{"topicConfigSerializeWrapper":`, 1<<20), 479, nil},
		{"skipped value nested too deeply", `{"x":` + strings.Repeat("[", 1<<20), 479, nil},
		{"compressed below 3.0.11", string(readHex(t, "register_body_compressed.hex")), 36, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := DecodeRegisterBody([]byte(tt.body), tt.version, false)
			checkBody(t, err, tt.want == nil)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("body (-want +got):\n%s", diff)
			}
		})
	}
}

// section is one part of a compressed body: a count when it is an int, a length-prefixed text when it is a string, and
// bytes as they are when it is a []byte.
type section any

func compress(tb testing.TB, sections ...section) []byte {
	tb.Helper()
	var raw []byte
	for _, s := range sections {
		switch s := s.(type) {
		case int:
			raw = binary.BigEndian.AppendUint32(raw, uint32(s))
		case string:
			raw = binary.BigEndian.AppendUint32(raw, uint32(len(s)))
			raw = append(raw, s...)
		case []byte:
			raw = append(raw, s...)
		}
	}
	return deflate(tb, raw)
}

func deflate(tb testing.TB, raw []byte) []byte {
	tb.Helper()
	var buf bytes.Buffer
	w := zlib.NewWriter(&buf)
	if _, err := w.Write(raw); err != nil {
		tb.Fatal(err)
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return buf.Bytes()
}

func TestDecodeCompressedBody(t *testing.T) {
	const dv, ct = `{"counter":1,"timestamp":2}`, "CT 3 5 6 SINGLE_TAG"
	java := readHex(t, "register_body_compressed.hex")
	one := func(topics ...TopicConfig) *RegisterBody {
		return &RegisterBody{DataVersion: DataVersion{0, 2, 1}, HasTable: true, HasFilters: true, Topics: topics}
	}
	ctTopic := TopicConfig{"CT", 3, 5, 6, 0}
	long := strings.Repeat("n", 40000)
	damaged := bytes.Clone(java)
	damaged[len(damaged)-1] ^= 1
	tests := []struct {
		name    string
		body    []byte
		version int32
		want    *RegisterBody // nil: ErrBody
	}{
		{"as Java writes it", java, 479, javaBody()},
		{"5.x with nothing", compress(t, dv, 0, "[]", 0), 413, one()},
		{"5.x without its last section", compress(t, dv, 1, ct, "[]"), 413, nil},
		{"4.x", compress(t, dv, 1, ct, "[]"), 401, one(ctTopic)},
		{"4.x with something behind", compress(t, dv, 1, ct, "[]", []byte("garbage")), 401, one(ctTopic)},
		{"attributes", compress(t, dv, 1, ct+` {"a b":"c d"}`, "[]"), 401, one(ctTopic)},
		{"attributes that do not parse", compress(t, dv, 1, "CT 3 5 6 MULTI_TAG {x", "[]"), 401, one(ctTopic)},
		{"a text longer than the buffer", compress(t, dv, 2, long+" 1 1 7 SINGLE_TAG", ct, "[]"), 401, one(TopicConfig{long, 1, 1, 7, 0}, ctTopic)},
		{"bytes behind the stream", append(compress(t, dv, 0, "[]", 0), "behind"...), 479, one()},
		{"filter servers that do not parse", compress(t, dv, 0, "[x", 0), 479, one()},
		{"negative counts", compress(t, dv, -1, "[]", -1), 479, one()},
		{"four fields", compress(t, dv, 1, "CT 3 5 6", "[]"), 401, nil},
		{"no number", compress(t, dv, 1, "CT x 5 6 SINGLE_TAG", "[]"), 401, nil},
		{"number of 33 bits", compress(t, dv, 1, "CT 4294967296 5 6 SINGLE_TAG", "[]"), 401, nil},
		{"two blanks", compress(t, dv, 1, "CT  3 5 6 SINGLE_TAG", "[]"), 401, nil},
		{"other filter type", compress(t, dv, 1, "CT 3 5 6 OTHER", "[]"), 401, nil},
		{"no name", compress(t, dv, 1, " 3 5 6 SINGLE_TAG", "[]"), 401, nil},
		{"static topic without a broker", compress(t, dv, 0, "[]", 1, `{"topic":"t"}`), 479, nil},
		{"static topic that does not parse", compress(t, dv, 0, "[]", 1, `{`), 479, nil},
		{"data version that does not parse", compress(t, "x", 0, "[]", 0), 479, nil},
		{"no data version", compress(t, "", 0, "[]", 0), 479, nil},
		{"negative length", compress(t, -5), 479, nil},
		{"length without bytes", compress(t, 0x7fffffff, []byte("{}")), 479, nil},
		{"count without topics", compress(t, dv, 0x7fffffff), 479, nil},
		{"nothing inside", compress(t), 479, nil},
		{"cut", java[:len(java)-20], 479, nil},
		{"wrong checksum", damaged, 479, nil},
		{"first byte only", []byte{0x78}, 479, nil},
		{"not compressed", readFile(t, "register_body.json"), 479, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := DecodeRegisterBody(tt.body, tt.version, true)
			checkBody(t, err, tt.want == nil)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("body (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCompressedBodyIsRecognised(t *testing.T) {
	got, err := DecodeRegisterBody(readHex(t, "register_body_compressed.hex"), 479, false)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(javaBody(), got); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}
}

func TestCompressedBodyTooLarge(t *testing.T) {
	const dv = `{"counter":1,"timestamp":2}`
	tests := []struct {
		name string
		body []byte
		want error
	}{
		{"behind the part that is read", compress(t, dv, 0, "[]", make([]byte, MaxInflated)), ErrTooLarge},
		{"within a text", compress(t, dv, 1, MaxInflated, make([]byte, MaxInflated)), ErrTooLarge},
		{"at the limit", compress(t, dv, 0, "[]", make([]byte, MaxInflated-len(dv)-4-4-4-2)), nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := DecodeRegisterBody(tt.body, 401, true)
			if !errors.Is(err, tt.want) || (err == nil) != (tt.want == nil) {
				t.Errorf("error %v, want %v", err, tt.want)
			}
		})
	}
}

// A bomb whose beginning is already wrong must not be inflated.
func TestCompressedGarbageIsCheap(t *testing.T) {
	bomb := deflate(t, bytes.Repeat([]byte{0xff}, MaxInflated))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := DecodeRegisterBody(bomb, 479, true); err == nil {
		t.Fatal("decoded")
	}
	runtime.ReadMemStats(&after)
	allocated := after.TotalAlloc - before.TotalAlloc
	if allocated > 1<<20 {
		t.Errorf("%d bytes allocated", allocated)
	}
}
