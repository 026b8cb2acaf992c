package rocketmq

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"strconv"
	"strings"
)

// Registration is what a broker tells a name server about itself, with the fields a 5.x broker sends.
type Registration struct {
	Cluster    string
	Broker     string
	Addr       string
	ID         int
	Topics     []string // each with 8 queues, readable and writable
	Queues     int      // of the first topic, where it is to differ; 0 = 8
	Counter    int64    // of the DataVersion: another number means that the table changed
	Version    int      // of the RocketMQ release; 0 = 5.5.0
	Compressed bool     // the zlib form of the body (a broker with compressedRegister=true)
	TimeoutMS  int64    // heartbeatTimeoutMillis; 0 = not sent, which means 120 s
}

// v550Ordinal is how RocketMQ 5.5.0 numbers itself (MQVersion).
const v550Ordinal = 513

// stampMS is the timestamp in every DataVersion; only whether it changes matters, and here the counter does that.
const stampMS = 1700000000000

type dataVersion struct {
	Counter      int64 `json:"counter"`
	StateVersion int64 `json:"stateVersion"`
	Timestamp    int64 `json:"timestamp"`
}

type topicConfig struct {
	Attributes map[string]string `json:"attributes"`
	Order      bool              `json:"order"`
	Perm       int               `json:"perm"`
	Read       int               `json:"readQueueNums"`
	Filter     string            `json:"topicFilterType"`
	Name       string            `json:"topicName"`
	SysFlag    int               `json:"topicSysFlag"`
	Write      int               `json:"writeQueueNums"`
}

// Frame is the request, with the checksum of its body.
func (r Registration) Frame() *Frame {
	body := r.plainBody()
	if r.Compressed {
		body = r.compressedBody()
	}
	f := &Frame{Code: CodeRegisterBroker, Version: r.Version, Body: body, Fields: map[string]string{
		"brokerName":         r.Broker,
		"brokerAddr":         r.Addr,
		"clusterName":        r.Cluster,
		"haServerAddr":       r.Addr + "1",
		"brokerId":           strconv.Itoa(r.ID),
		"enableActingMaster": "false",
		"compressed":         strconv.FormatBool(r.Compressed),
		"bodyCrc32":          strconv.Itoa(int(crc32.ChecksumIEEE(body) & 0x7fffffff)),
	}}
	if f.Version == 0 {
		f.Version = v550Ordinal
	}
	if r.TimeoutMS > 0 {
		f.Fields["heartbeatTimeoutMillis"] = strconv.FormatInt(r.TimeoutMS, 10)
	}
	return f
}

// Heartbeat is the request that keeps this broker alive without its table.
func (r Registration) Heartbeat() *Frame {
	return &Frame{Code: CodeBrokerHeartbeat, Version: v550Ordinal, Fields: map[string]string{
		"brokerName": r.Broker, "brokerAddr": r.Addr, "clusterName": r.Cluster,
	}}
}

// Unregister is the request with which this broker leaves.
func (r Registration) Unregister() *Frame {
	return &Frame{Code: CodeUnregister, Version: v550Ordinal, Fields: map[string]string{
		"brokerName": r.Broker, "brokerAddr": r.Addr, "clusterName": r.Cluster, "brokerId": strconv.Itoa(r.ID),
	}}
}

func (r Registration) dataVersion() dataVersion {
	return dataVersion{Counter: r.Counter, Timestamp: stampMS}
}

func (r Registration) queues(topic int) int {
	if topic == 0 && r.Queues > 0 {
		return r.Queues
	}
	return 8
}

func (r Registration) plainBody() []byte {
	topics := make(map[string]topicConfig, len(r.Topics))
	for i, name := range r.Topics {
		n := r.queues(i)
		topics[name] = topicConfig{Attributes: map[string]string{}, Perm: 6, Read: n, Filter: "SINGLE_TAG", Name: name, Write: n}
	}
	return mustJSON(map[string]any{
		"filterServerList": []string{},
		"topicConfigSerializeWrapper": map[string]any{
			"dataVersion":                r.dataVersion(),
			"mappingDataVersion":         dataVersion{Timestamp: stampMS},
			"topicConfigTable":           topics,
			"topicQueueMappingDetailMap": struct{}{},
			"topicQueueMappingInfoMap":   struct{}{},
		},
	})
}

func (r Registration) compressedBody() []byte {
	var raw []byte
	text := func(s []byte) { raw = append(binary.BigEndian.AppendUint32(raw, uint32(len(s))), s...) }
	text(mustJSON(r.dataVersion()))
	raw = binary.BigEndian.AppendUint32(raw, uint32(len(r.Topics)))
	for i, name := range r.Topics {
		text(fmt.Appendf(nil, "%s %d %d 6 SINGLE_TAG {}", name, r.queues(i), r.queues(i)))
	}
	text([]byte("[]"))                          // filter servers
	raw = binary.BigEndian.AppendUint32(raw, 0) // static topics
	var out bytes.Buffer
	w := zlib.NewWriter(&out)
	_, _ = w.Write(raw) // a bytes.Buffer takes everything
	_ = w.Close()
	return out.Bytes()
}

// RouteOf is the question for the route of topic, from a client of the given version ordinal (401 and above are
// answered in standard JSON, below in the legacy form).
func RouteOf(topic string, version int) *Frame {
	return &Frame{Code: CodeRoute, Version: version, Fields: map[string]string{"topic": topic}}
}

// PutKV is the request that stores one value.
func PutKV(namespace, key, value string) *Frame {
	return &Frame{Code: CodePutKV, Version: v550Ordinal, Fields: map[string]string{"namespace": namespace, "key": key, "value": value}}
}

// GetKV is the question for one value; the answer has it in the field "value".
func GetKV(namespace, key string) *Frame {
	return &Frame{Code: CodeGetKV, Version: v550Ordinal, Fields: map[string]string{"namespace": namespace, "key": key}}
}

// CreateTopic asks the broker at addr to create a topic with 8 queues, as mqadmin updateTopic does, without the
// seconds that a JVM takes to start. The broker answers after it has told its name servers.
func CreateTopic(ctx context.Context, addr, topic string) error {
	answer, err := Ask(ctx, addr, &Frame{Code: CodeUpdateTopic, Version: v550Ordinal, Fields: map[string]string{
		"topic": topic, "defaultTopic": "TBW102", "readQueueNums": "8", "writeQueueNums": "8", "perm": "6",
		"topicFilterType": "SINGLE_TAG", "topicSysFlag": "0", "order": "false",
	}})
	if err != nil {
		return fmt.Errorf("create topic %s: %w", topic, err)
	}
	if answer.Code != Success {
		return fmt.Errorf("create topic %s: code %d: %s", topic, answer.Code, answer.Remark)
	}
	return nil
}

// KnowsTopic is nil when the broker at addr has the configuration of a topic. A slave copies those of its master every
// ten seconds, and the messages at once.
func KnowsTopic(ctx context.Context, addr, topic string) error {
	answer, err := Ask(ctx, addr, &Frame{Code: CodeTopicConfig, Version: v550Ordinal, Fields: map[string]string{"topic": topic}})
	if err == nil && answer.Code != Success {
		err = fmt.Errorf("topic %s at %s: code %d: %s", topic, addr, answer.Code, answer.Remark)
	}
	return err
}

// MaxOffset is how many messages the broker at addr has of one queue of a topic, a slave too.
func MaxOffset(ctx context.Context, addr, topic string, queue int) (int, error) {
	answer, err := Ask(ctx, addr, &Frame{Code: CodeMaxOffset, Version: v550Ordinal, Fields: map[string]string{
		"topic": topic, "queueId": strconv.Itoa(queue), "committed": "true",
	}})
	if err != nil {
		return 0, err
	}
	if answer.Code != Success {
		return 0, fmt.Errorf("max offset of %s: code %d: %s", topic, answer.Code, answer.Remark)
	}
	return strconv.Atoi(answer.Fields["offset"])
}

func mustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("encode a registration: %v", err)) // strings and numbers only
	}
	return b
}

// MemberGroupOf is the question for the addresses of a broker name, as the brokers of one group ask it.
func MemberGroupOf(cluster, broker string) *Frame {
	return &Frame{Code: CodeMemberGroup, Version: v550Ordinal, Fields: map[string]string{"clusterName": cluster, "brokerName": broker}}
}

// UpdateConfig is the request that changes settings of a name server, each KEY=VALUE.
func UpdateConfig(settings ...string) *Frame {
	return &Frame{Code: CodeUpdateConfig, Version: v550Ordinal, Body: []byte(strings.Join(settings, "\n") + "\n")}
}
