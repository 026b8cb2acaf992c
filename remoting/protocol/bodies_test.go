package protocol

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestBodies(t *testing.T) {
	b := BrokerData{Name: "broker-b", Cluster: "DefaultCluster", Addrs: []BrokerAddr{{0, "127.0.0.3:10911"}}}
	a := BrokerData{Name: "a/é", Cluster: "c", Zone: "z", ActingMaster: true}
	pair := []BrokerAddr{{0, "127.0.0.1:10911"}, {1, "127.0.0.2:10911"}}
	tests := []struct {
		name string
		got  []byte
		want string
	}{
		{
			"cluster",
			AppendClusterInfo(nil, []BrokerData{b, a}, []Cluster{{"DefaultCluster", []string{"broker-b", "broker-a"}}, {"C", nil}}),
			`{"brokerAddrTable":{"a/é":{"brokerAddrs":{},"brokerName":"a/é","cluster":"c","enableActingMaster":true,"zoneName":"z"},"broker-b":{"brokerAddrs":{0:"127.0.0.3:10911"},"brokerName":"broker-b","cluster":"DefaultCluster","enableActingMaster":false}},"clusterAddrTable":{"C":[],"DefaultCluster":["broker-b","broker-a"]}}`,
		},
		{"empty cluster", AppendClusterInfo(nil, nil, nil), `{"brokerAddrTable":{},"clusterAddrTable":{}}`},
		{"topics", AppendTopicList(nil, []string{"TopicB", "TopicA"}, ""), `{"topicList":["TopicB","TopicA"]}`},
		{"no topics", AppendTopicList(nil, nil, ""), `{"topicList":[]}`},
		{
			"system topics", AppendTopicList(nil, []string{"broker-b"}, "127.0.0.3:10911"),
			`{"brokerAddr":"127.0.0.3:10911","topicList":["broker-b"]}`,
		},
		{"key-value table", AppendKVTable(nil, []KV{{"TopicB", ""}, {"TopicA", "broker-a:8"}}), `{"table":{"TopicA":"broker-a:8","TopicB":""}}`},
		{"empty table", AppendKVTable(nil, nil), `{"table":{}}`},
		{
			"member group", AppendMemberGroup(nil, "DefaultCluster", "broker-a", pair),
			`{"brokerMemberGroup":{"brokerAddrs":{0:"127.0.0.1:10911",1:"127.0.0.2:10911"},"brokerName":"broker-a","cluster":"DefaultCluster"}}`,
		},
		{"unknown group", AppendMemberGroup(nil, "X", "none", nil), `{"brokerMemberGroup":{"brokerAddrs":{},"brokerName":"none","cluster":"X"}}`},
		{"group without names", AppendMemberGroup(nil, "", "", nil), `{"brokerMemberGroup":{"brokerAddrs":{}}}`},
		{"data version", DataVersion{Counter: 1, Timestamp: 1700000000000}.AppendJSON(nil), `{"counter":1,"stateVersion":0,"timestamp":1700000000000}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, string(tt.got)); diff != "" {
				t.Errorf("body (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseDataVersion(t *testing.T) {
	tests := []struct {
		name, body string
		want       DataVersion
		bad        bool
	}{
		{"all", `{"counter":1,"stateVersion":2,"timestamp":1796020097050}`, DataVersion{2, 1796020097050, 1}, false},
		{"as 4.x sends it", `{"counter":7,"timestamp":5}`, DataVersion{0, 5, 7}, false},
		{"strings, nulls and unknown members", `{"counter":"9223372036854775807","stateVersion":null,"x":[{}],"timestamp":-1}`, DataVersion{0, -1, 1<<63 - 1}, false},
		{"empty object", "{}", DataVersion{}, false},
		{"no body", "", DataVersion{}, true},
		{"null", "null", DataVersion{}, true},
		{"garbage", "garbage", DataVersion{}, true},
		{"text behind", "{}}", DataVersion{}, true},
		{"counter that is no number", `{"counter":"x"}`, DataVersion{}, true},
		{"counter beyond 64 bits", `{"counter":9223372036854775808}`, DataVersion{}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ParseDataVersion([]byte(tt.body))
			checkBody(t, err, tt.bad)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("version (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCheckCRC(t *testing.T) {
	body := []byte("123456789") // has the CRC-32 check value cbf43926
	tests := []struct {
		name   string
		body   []byte
		fields map[string]string
		want   error
	}{
		{"right", body, map[string]string{"bodyCrc32": "1274296614"}, nil},
		{"wrong", body, map[string]string{"bodyCrc32": "1274296615"}, ErrCRC},
		{"negative", body, map[string]string{"bodyCrc32": "-873187034"}, ErrCRC},
		{"absent body", nil, map[string]string{"bodyCrc32": "1274296614"}, ErrCRC},
		{"0", body, map[string]string{"bodyCrc32": "0"}, nil},
		{"no field", body, nil, nil},
		{"beyond 31 bits", body, map[string]string{"bodyCrc32": "3421780262"}, nil},
		{"not a number", body, map[string]string{"bodyCrc32": "x"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := CheckCRC(tt.body, tt.fields); got != tt.want {
				t.Errorf("CheckCRC = %v, want %v", got, tt.want)
			}
		})
	}
	if ErrCRC.Error() != "crc32 not match" {
		t.Errorf("remark %q", ErrCRC)
	}
}
