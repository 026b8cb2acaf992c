package protocol

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// javaRegistration is the command of testdata/register_frame_binary.hex and of the JSON header recorded with it.
func javaRegistration() *Command {
	return &Command{
		Code: RegisterBroker, Version: 479,
		ExtFields: map[string]string{
			"brokerId": "0", "bodyCrc32": "777481615", "clusterName": "C", "brokerAddr": "127.0.0.1:10911",
			"enableActingMaster": "false", "haServerAddr": "127.0.0.1:10912", "compressed": "false", "brokerName": "broker-a",
		},
	}
}

func TestDecodeJavaFrames(t *testing.T) {
	binary := javaRegistration()
	binary.Remark, binary.Serialize = "hi", RocketMQ
	withBody := javaRegistration()
	withBody.Body = []byte("body")
	notReady := NewResponse(SystemError, "name server not ready")
	notReady.Opaque, notReady.Serialize = 101, RocketMQ
	header := readHex(t, "not_ready_header_binary.hex")
	jsonHeader := `{"code":103,"extFields":{"brokerId":"0","bodyCrc32":"777481615","clusterName":"C","brokerAddr":"127.0.0.1:10911","enableActingMaster":"false","haServerAddr":"127.0.0.1:10912","compressed":"false","brokerName":"broker-a"},"flag":0,"language":"JAVA","opaque":0,"serializeTypeCurrentRPC":"JSON","version":479}`
	tests := []struct {
		name  string
		frame []byte
		want  *Command
	}{
		{"binary request", readHex(t, "register_frame_binary.hex")[4:], binary},
		{"binary answer", append([]byte{1, 0, 0, byte(len(header))}, header...), notReady},
		{"JSON request", framed(jsonHeader, "body"), withBody},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := DecodeFrame(tt.frame)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("command (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAppendFrameJSON(t *testing.T) {
	tests := []struct {
		name string
		c    Command
		want string
	}{
		{
			"answer", Command{Flag: 1, Opaque: 101, Version: 479},
			`{"code":0,"flag":1,"language":"JAVA","opaque":101,"serializeTypeCurrentRPC":"JSON","version":479}`,
		},
		{
			"with a field", Command{Flag: 1, Opaque: 121, Version: 479, ExtFields: map[string]string{"changed": "false"}},
			`{"code":0,"extFields":{"changed":"false"},"flag":1,"language":"JAVA","opaque":121,"serializeTypeCurrentRPC":"JSON","version":479}`,
		},
		{
			"with a typed header that is empty", Command{Flag: 1, Opaque: 101, Version: 479, ExtFields: map[string]string{}},
			`{"code":0,"extFields":{},"flag":1,"language":"JAVA","opaque":101,"serializeTypeCurrentRPC":"JSON","version":479}`,
		},
		{
			"with sorted fields",
			Command{Flag: 1, Opaque: 101, Version: 479, ExtFields: map[string]string{"masterAddr": "127.0.0.1:10911", "haServerAddr": "127.0.0.1:10912"}},
			`{"code":0,"extFields":{"haServerAddr":"127.0.0.1:10912","masterAddr":"127.0.0.1:10911"},"flag":1,"language":"JAVA","opaque":101,"serializeTypeCurrentRPC":"JSON","version":479}`,
		},
		{
			"remark with a line break and raw non-ASCII text",
			Command{Code: TopicNotExist, Flag: 1, Opaque: 142, Version: 479, Remark: "No topic route info in name server for the topic: 主题<é>/\nSee https://rocketmq.apache.org/docs/bestPractice/06FAQ for further details."},
			`{"code":17,"flag":1,"language":"JAVA","opaque":142,"remark":"No topic route info in name server for the topic: 主题<é>/\nSee https://rocketmq.apache.org/docs/bestPractice/06FAQ for further details.","serializeTypeCurrentRPC":"JSON","version":479}`,
		},
		{
			"request", Command{Code: NotifyMinBrokerIDChange, Flag: 2, Opaque: -8, Version: 479, Language: 99, ExtFields: map[string]string{"minBrokerId": "1"}},
			`{"code":905,"extFields":{"minBrokerId":"1"},"flag":2,"language":"OTHER","opaque":-8,"serializeTypeCurrentRPC":"JSON","version":479}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.c.Body = []byte("body")
			got := AppendFrame([]byte("before"), &tt.c)
			h, b := len(tt.want), 4
			want := "before" + string([]byte{0, 0, byte((4 + h + b) >> 8), byte(4 + h + b), 0, 0, byte(h >> 8), byte(h)}) + tt.want + "body"
			if diff := cmp.Diff(want, string(got)); diff != "" {
				t.Errorf("frame (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAppendFrameBinary(t *testing.T) {
	header := readHex(t, "not_ready_header_binary.hex")
	c := NewResponse(SystemError, "name server not ready")
	c.Opaque, c.Serialize = 101, RocketMQ
	want := append([]byte{0, 0, 0, byte(4 + len(header)), 1, 0, 0, byte(len(header))}, header...)
	if diff := cmp.Diff(want, AppendFrame(nil, c)); diff != "" {
		t.Errorf("frame (-want +got):\n%s", diff)
	}
	c.ExtFields = map[string]string{"": "no key", "no value": "", "b": "2", "a": "1", strings.Repeat("k", 40000): "too long"}
	want = append([]byte{0, 0, 0, byte(20 + len(header)), 1, 0, 0, byte(16 + len(header))}, header[:len(header)-1]...)
	want = append(want, 16, 0, 1, 'a', 0, 0, 0, 1, '1', 0, 1, 'b', 0, 0, 0, 1, '2')
	if diff := cmp.Diff(want, AppendFrame(nil, c)); diff != "" {
		t.Errorf("frame with fields (-want +got):\n%s", diff)
	}
}

func TestAppendFrameWithTooLongAHeader(t *testing.T) {
	c := NewResponse(TopicNotExist, strings.Repeat("\x01", maxHeader/6))
	c.Opaque, c.Body = 7, []byte("body")
	got, err := DecodeFrame(AppendFrame(nil, c)[4:])
	if err != nil {
		t.Fatal(err)
	}
	if got.Code != SystemError || got.Opaque != 7 || !got.IsResponse() || got.Body != nil || got.Remark == "" {
		t.Errorf("got %+v, want an answer that says SystemError", got)
	}
}

func TestAppendFrameDoesNotAllocate(t *testing.T) {
	c := NewResponse(Success, "remark")
	c.ExtFields = map[string]string{"haServerAddr": "127.0.0.1:10912", "masterAddr": "127.0.0.1:10911"}
	dst := make([]byte, 0, 4096)
	for _, c.Serialize = range []SerializeType{JSON, RocketMQ} {
		if n := testing.AllocsPerRun(100, func() { AppendFrame(dst, c) }); n != 0 {
			t.Errorf("%v: %v allocations", c.Serialize, n)
		}
	}
}

func TestDecodeFrameTolerance(t *testing.T) {
	tests := []struct {
		name, header string
		want         Command
	}{
		{"empty object", "{}", Command{}},
		{"blanks behind", "{} \r\n\t", Command{}},
		{"blanks inside", "{ \"code\" : 105 , \"flag\" : 2 }", Command{Code: 105, Flag: 2}},
		{"unquoted keys", `{code:105,opaque:-3}`, Command{Code: 105, Opaque: -3}},
		{"single quotes", `{'code':105,'remark':'a"b'}`, Command{Code: 105, Remark: `a"b`}},
		{"numbers as strings", `{"code":"105","flag":" 1 ","opaque":"","version":"317"}`, Command{Code: 105, Flag: 1, Version: 317}},
		{"a decimal number", `{"code":105.0,"opaque":1e2}`, Command{Code: 105, Opaque: 100}},
		{"nulls", `{"code":null,"extFields":null,"flag":null,"language":null,"opaque":null,"remark":null,"version":null}`, Command{}},
		{"unknown members", `{"x":{"y":[1,{"z":"}"}],"n":null},"code":105,"@type":"a.B","serializeTypeCurrentRPC":"ROCKETMQ"}`, Command{Code: 105}},
		{"known language", `{"language":"GO"}`, Command{Language: Go}},
		{"lower-case language", `{"language":"cpp"}`, Command{Language: 1}},
		{"unknown language", `{"language":"ZIG"}`, Command{Language: Other}},
		{"empty language", `{"language":""}`, Command{Language: Other}},
		{"language as a number", `{"language":9}`, Command{Language: Go}},
		{"language as an unknown number", `{"language":99}`, Command{Language: Other}},
		{"version beyond the newest", `{"version":40000}`, Command{Version: 612}},
		{"newest version", `{"version":612}`, Command{Version: 612}},
		{"negative version", `{"version":-1}`, Command{Version: -1}},
		{"no fields", `{"extFields":{}}`, Command{ExtFields: map[string]string{}}},
		{
			"fields of all kinds", `{"extFields":{"a":"x","b":5,"c":-1.5e3,"d":true,"e":false,"f":null,"g":"","h":{"i":[1]}}}`,
			Command{ExtFields: map[string]string{"a": "x", "b": "5", "c": "-1.5e3", "d": "true", "e": "false", "g": "", "h": `{"i":[1]}`}},
		},
		{"fields twice", `{"extFields":{"a":"x"},"extFields":{"b":"y"}}`, Command{ExtFields: map[string]string{"b": "y"}}},
		{
			"escapes", `{"extFields":{"\u0061\n":"\"\\\/\b\f\r\t\'\v\x41\u00e9\uD83D\uDE00"},"remark":"\uD83D-\uDE00"}`,
			Command{ExtFields: map[string]string{"a\n": "\"\\/\b\f\r\t'\vAé😀"}, Remark: "\uFFFD-\uFFFD"},
		},
		{"half a pair before another escape", `{"remark":"\uD83D\u0041"}`, Command{Remark: "\uFFFDA"}},
		{"broken UTF-8", "{\"remark\":\"a\xffb\"}", Command{Remark: "a\uFFFDb"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := DecodeFrame(framed(tt.header, ""))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(&tt.want, got); diff != "" {
				t.Errorf("command (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDecodeBinaryTolerance(t *testing.T) {
	const start = "0069 63 7fff ffffffff 00000002 "
	tests := []struct {
		name, header string
		want         Command
	}{
		{"nothing but the fixed part", start + "00000000 00000000", Command{}},
		{"negative length of fields", start + "00000000 ffffffff", Command{}},
		{"bytes left over", start + "00000000 00000000 0102", Command{}},
		{"remark", start + "00000002 6869 00000000", Command{Remark: "hi"}},
		{"broken UTF-8", start + "00000002 68ff 00000000", Command{Remark: "h\uFFFD"}},
		{"a field", start + "00000000 00000008 0001 61 00000001 78", Command{ExtFields: map[string]string{"a": "x"}}},
		{"a field without a value", start + "00000000 00000007 0001 61 00000000", Command{}},
		{"a field without a key", start + "00000000 00000007 0000 00000001 78", Command{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			header := unhex(t, tt.header)
			got, err := DecodeFrame(append([]byte{1, 0, 0, byte(len(header))}, header...))
			if err != nil {
				t.Fatal(err)
			}
			tt.want.Code, tt.want.Language, tt.want.Version, tt.want.Opaque = 105, 99, 612, -1
			tt.want.Flag, tt.want.Serialize = 2, RocketMQ
			if diff := cmp.Diff(&tt.want, got); diff != "" {
				t.Errorf("command (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDecodeFrameRefuses(t *testing.T) {
	binary := func(fields string) []byte {
		header := unhex(t, "0069 00 01df 00000001 00000000 "+fields)
		return append([]byte{1, 0, 0, byte(len(header))}, header...)
	}
	tests := []struct {
		name  string
		frame []byte
	}{
		{"nothing", nil},
		{"no room for a header length", []byte{0, 0, 0}},
		{"empty JSON header", []byte{0, 0, 0, 0}},
		{"empty binary header", []byte{1, 0, 0, 0}},
		{"header longer than the frame", []byte{0, 0, 0, 3, '{', '}'}},
		{"greatest header length", []byte{0, 0xff, 0xff, 0xff, '{', '}'}},
		{"serialize type 2", []byte{2, 0, 0, 2, '{', '}'}},
		{"serialize type 255", []byte{255, 0, 0, 2, '{', '}'}},
		{"null", framed("null", "")},
		{"an array", framed("[]", "")},
		{"a string", framed(`"code"`, "")},
		{"blanks", framed("  ", "")},
		{"half an object", framed("{", "")},
		{"half a member", framed(`{"code"`, "")},
		{"no value", framed(`{"code":}`, "")},
		{"no comma", framed(`{"code":1 "flag":0}`, "")},
		{"two commas", framed(`{"code":1,,"flag":0}`, "")},
		{"text behind", framed(`{"code":1}x`, "")},
		{"a second object", framed(`{}{}`, "")},
		{"a NUL behind", framed("{}\x00", "")},
		{"string without an end", framed(`{"remark":"abc}`, "")},
		{"string without an end after an escape", framed(`{"remark":"a\"bc}`, "")},
		{"string that ends in a backslash", framed(`{"remark":"abc\`, "")},
		{"unknown escape", framed(`{"remark":"\q"}`, "")},
		{"short escape", framed(`{"remark":"\u12`, "")},
		{"escape that is not hexadecimal", framed(`{"remark":"\u12G4"}`, "")},
		{"code that is a word", framed(`{"code":"abc"}`, "")},
		{"code of 33 bits", framed(`{"code":4294967296}`, "")},
		{"code of 30 digits", framed(`{"code":999999999999999999999999999999}`, "")},
		{"a bare word", framed(`{"remark":abc}`, "")},
		{"nearly null", framed(`{"remark":nul}`, "")},
		{"fields in an array", framed(`{"extFields":[]}`, "")},
		{"nested too deeply", framed(`{"x":`+strings.Repeat("[", 200)+strings.Repeat("]", 200)+`}`, "")},
		{"binary header too short", []byte{1, 0, 0, 5, 0, 0, 0, 0, 0}},
		{"binary header without a remark length", binary("")},
		{"binary header without a length of fields", binary("00000000")},
		{"remark of length -1", binary("ffffffff 00000000")},
		{"remark longer than the header", binary("7fffffff 00000000")},
		{"fields longer than the header", binary("00000000 00000100")},
		{"key of length -1", binary("00000000 00000006 ffff 00000000")},
		{"key longer than the fields", binary("00000000 00000003 0010 61")},
		{"value of length -1", binary("00000000 00000007 0001 61 ffffffff")},
		{"value longer than the fields", binary("00000000 00000007 0001 61 00000010")},
		{"field without a value length", binary("00000000 00000003 0001 61")},
		{"half a key length", binary("00000000 00000001 00")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got, err := DecodeFrame(tt.frame); !errors.Is(err, ErrFrame) {
				t.Errorf("DecodeFrame = %+v, %v, want ErrFrame", got, err)
			}
		})
	}
}

func TestDecodeFrameStringsDoNotAlias(t *testing.T) {
	frame := framed(routeHeader, "body")
	c, err := DecodeFrame(frame)
	if err != nil {
		t.Fatal(err)
	}
	clear(frame)
	if topic, ok := c.Field("topic"); !ok || topic != "load-topic-00042" {
		t.Errorf("topic %q", topic)
	}
}

func TestDecodeReusesCommand(t *testing.T) {
	c := new(Command)
	frames := []string{
		`{"code":1,"remark":"r","extFields":{"a":"1","b":"2"}}`, `{"code":2,"extFields":{"a":"3"}}`, `{"extFields":{}}`, `{}`,
	}
	for _, header := range frames {
		if err := c.Decode(framed(header, "")); err != nil {
			t.Fatal(err)
		}
		fresh, err := DecodeFrame(framed(header, ""))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(fresh, c); diff != "" {
			t.Errorf("%s (-fresh +reused):\n%s", header, diff)
		}
	}
}

func TestCommandFlags(t *testing.T) {
	for flag, want := range map[int32][2]bool{0: {false, false}, 1: {true, false}, 2: {false, true}, 3: {true, true}, -1: {true, true}} {
		c := Command{Flag: flag}
		if c.IsResponse() != want[0] || c.OneWay() != want[1] {
			t.Errorf("flag %d: response %v, one-way %v", flag, c.IsResponse(), c.OneWay())
		}
	}
}

func TestNames(t *testing.T) {
	got := []string{
		RegisterBroker.String(), GoAway.String(), Code(4711).String(), Java.String(), Language(13).String(), Language(99).String(),
		JSON.String(), RocketMQ.String(),
	}
	want := []string{"REGISTER_BROKER", "GO_AWAY", "4711", "JAVA", "NODE_JS", "OTHER", "JSON", "ROCKETMQ"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
}
