package protocol

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// goldenRoute is the route whose body was recorded from the stock server.
func goldenRoute() *TopicRoute {
	return &TopicRoute{
		Brokers: []BrokerData{{
			Name: "broker-a", Cluster: "DefaultCluster", Zone: "z1", ActingMaster: true,
			Addrs: []BrokerAddr{{0, "127.0.0.1:10911"}, {1, "127.0.0.2:10911"}},
		}},
		Queues:    []QueueData{{BrokerName: "broker-a", Read: 8, Write: 8, Perm: 6}},
		Filters:   []FilterServers{{Addr: "127.0.0.3:10911", Servers: []string{"127.0.0.3:30000"}}},
		OrderConf: "broker-a:8", HasOrderConf: true,
	}
}

func staticMapping() QueueMapping {
	return QueueMapping{
		Topic: "ST", Scope: "__global__", TotalQueues: 2, BrokerName: "x", Epoch: 7, CurrIDs: []IDPair{{0, 0}},
	}
}

func TestTopicRouteAppendJSON(t *testing.T) {
	oddNames := &TopicRoute{
		Brokers: []BrokerData{{Name: "u/é", Cluster: "clé", Addrs: []BrokerAddr{{0, "1.1.1.9:2"}}}},
		Queues:  []QueueData{{BrokerName: "u/é", Read: 8, Write: 8, Perm: 6}},
	}
	static := &TopicRoute{
		Brokers:  []BrokerData{{Name: "x", Cluster: "cl", Addrs: []BrokerAddr{{0, "1.1.1.1:1"}}}},
		Queues:   []QueueData{{BrokerName: "x", Read: 1, Write: 1, Perm: 6}},
		Mappings: []QueueMapping{staticMapping()},
	}
	unsorted := &TopicRoute{
		Brokers: []BrokerData{{Name: "b", Cluster: "c", Addrs: []BrokerAddr{{10, "j"}, {2, "c"}, {0, "b"}, {-1, "a"}}}},
		Filters: []FilterServers{{Addr: "z"}, {Addr: "a", Servers: []string{"2", "1"}}},
		Mappings: []QueueMapping{
			{BrokerName: "n", CurrIDs: []IDPair{{3, 1}, {0, 0}}},
			{BrokerName: "m", Dirty: true},
		},
	}
	tests := []struct {
		name    string
		route   *TopicRoute
		dialect Dialect
		want    string
	}{
		{
			"standard", goldenRoute(), Standard,
			`{"brokerDatas":[{"brokerAddrs":{"0":"127.0.0.1:10911","1":"127.0.0.2:10911"},"brokerName":"broker-a","cluster":"DefaultCluster","enableActingMaster":true,"zoneName":"z1"}],"filterServerTable":{"127.0.0.3:10911":["127.0.0.3:30000"]},"orderTopicConf":"broker-a:8","queueDatas":[{"brokerName":"broker-a","perm":6,"readQueueNums":8,"topicSysFlag":0,"writeQueueNums":8}]}`,
		},
		{
			"legacy", goldenRoute(), Legacy,
			`{"brokerDatas":[{"brokerAddrs":{0:"127.0.0.1:10911",1:"127.0.0.2:10911"},"brokerName":"broker-a","cluster":"DefaultCluster","enableActingMaster":true,"zoneName":"z1"}],"filterServerTable":{"127.0.0.3:10911":["127.0.0.3:30000"]},"orderTopicConf":"broker-a:8","queueDatas":[{"brokerName":"broker-a","perm":6,"readQueueNums":8,"topicSysFlag":0,"writeQueueNums":8}]}`,
		},
		{
			"odd names, standard", oddNames, Standard,
			`{"brokerDatas":[{"brokerAddrs":{"0":"1.1.1.9:2"},"brokerName":"u\/\u00E9","cluster":"cl\u00E9","enableActingMaster":false}],"filterServerTable":{},"queueDatas":[{"brokerName":"u\/\u00E9","perm":6,"readQueueNums":8,"topicSysFlag":0,"writeQueueNums":8}]}`,
		},
		{
			"odd names, legacy", oddNames, Legacy,
			`{"brokerDatas":[{"brokerAddrs":{0:"1.1.1.9:2"},"brokerName":"u/é","cluster":"clé","enableActingMaster":false}],"filterServerTable":{},"queueDatas":[{"brokerName":"u/é","perm":6,"readQueueNums":8,"topicSysFlag":0,"writeQueueNums":8}]}`,
		},
		{
			"static topic, standard", static, Standard,
			`{"brokerDatas":[{"brokerAddrs":{"0":"1.1.1.1:1"},"brokerName":"x","cluster":"cl","enableActingMaster":false}],"filterServerTable":{},"queueDatas":[{"brokerName":"x","perm":6,"readQueueNums":1,"topicSysFlag":0,"writeQueueNums":1}],"topicQueueMappingByBroker":{"x":{"bname":"x","currIdMap":{"0":0},"dirty":false,"epoch":7,"scope":"__global__","topic":"ST","totalQueues":2}}}`,
		},
		{
			"static topic, legacy", static, Legacy,
			`{"brokerDatas":[{"brokerAddrs":{0:"1.1.1.1:1"},"brokerName":"x","cluster":"cl","enableActingMaster":false}],"filterServerTable":{},"queueDatas":[{"brokerName":"x","perm":6,"readQueueNums":1,"topicSysFlag":0,"writeQueueNums":1}],"topicQueueMappingByBroker":{"x":{"bname":"x","currIdMap":{0:0},"dirty":false,"epoch":7,"scope":"__global__","topic":"ST","totalQueues":2}}}`,
		},
		{
			"keys are sorted", unsorted, Standard,
			`{"brokerDatas":[{"brokerAddrs":{"-1":"a","0":"b","2":"c","10":"j"},"brokerName":"b","cluster":"c","enableActingMaster":false}],"filterServerTable":{"a":["2","1"],"z":[]},"queueDatas":[],"topicQueueMappingByBroker":{"m":{"bname":"m","currIdMap":{},"dirty":true,"epoch":0,"scope":"","topic":"","totalQueues":0},"n":{"bname":"n","currIdMap":{"0":0,"3":1},"dirty":false,"epoch":0,"scope":"","topic":"","totalQueues":0}}}`,
		},
		{"empty", &TopicRoute{}, Legacy, `{"brokerDatas":[],"filterServerTable":{},"queueDatas":[]}`},
		{
			"empty order configuration is not an absent one", &TopicRoute{HasOrderConf: true}, Legacy,
			`{"brokerDatas":[],"filterServerTable":{},"orderTopicConf":"","queueDatas":[]}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := tt.route.AppendJSON([]byte("prefix"), tt.dialect)
			if diff := cmp.Diff("prefix"+tt.want, string(got)); diff != "" {
				t.Errorf("body (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDialectFor(t *testing.T) {
	tests := []struct {
		version int32
		accept  bool
		want    Dialect
	}{{317, false, Legacy}, {400, false, Legacy}, {401, false, Standard}, {479, false, Standard}, {317, true, Standard}, {-1, false, Legacy}}
	for _, tt := range tests {
		if got := DialectFor(tt.version, tt.accept); got != tt.want {
			t.Errorf("DialectFor(%d, %v) = %v, want %v", tt.version, tt.accept, got, tt.want)
		}
	}
}

func TestDecodeQueueDatas(t *testing.T) {
	tests := []struct {
		name, body string
		want       []QueueData
		bad        bool
	}{
		{
			"as a broker sends it",
			`{"brokerDatas":[],"filterServerTable":{},"queueDatas":[{"brokerName":"broker-a","perm":6,"readQueueNums":8,"topicSysFlag":0,"writeQueueNums":4}]}`,
			[]QueueData{{BrokerName: "broker-a", Perm: 6, Read: 8, Write: 4}}, false,
		},
		{
			"both dialects are input", `{"brokerDatas":[{"brokerAddrs":{0:"a","1":"b"}}],"queueDatas":[{"brokerName":"b","topicSynFlag":2,"x":null}]}`,
			[]QueueData{{BrokerName: "b", SysFlag: 2}}, false,
		},
		{"no body", "", nil, false},
		{"no member", "{}", nil, false},
		{"null", `{"queueDatas":null}`, nil, false},
		{"not JSON", "garbage", nil, true},
		{"an array", "[]", nil, true},
		{"queues of another kind", `{"queueDatas":[5]}`, nil, true},
		{"text behind", "{} x", nil, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := DecodeQueueDatas([]byte(tt.body))
			checkBody(t, err, tt.bad)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("queues (-want +got):\n%s", diff)
			}
		})
	}
}
