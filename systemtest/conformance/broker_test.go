package conformance

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"regexp"
	"strconv"
)

// version is a RocketMQ DataVersion.
type version struct {
	State     int64 `json:"stateVersion"`
	Timestamp int64 `json:"timestamp"`
	Counter   int64 `json:"counter"`
}

// v is the n-th table of a classic broker.
func v(n int64) version { return version{Timestamp: 1_700_000_000_000, Counter: n} }

// elected is the n-th table of a broker under an election.
func elected(state, n int64) version {
	return version{State: state, Timestamp: 1_700_000_000_000, Counter: n}
}

type topic struct {
	name        string
	read, write int
	perm, sys   int
}

// staticTopic is a broker's part of a static topic.
type staticTopic struct {
	topic string
	epoch int64
	ids   map[string]int
}

// broker is what a broker says of itself.
type broker struct {
	cluster, name, addr string
	id                  int64
	acting              string // "" = the field is absent, as from a 4.x broker
	zone                string // "" = absent
	timeoutMS           int64  // 0 = absent

	data      version
	topics    []topic
	filters   []string
	noFilters bool // leave the list out of the body
	statics   []staticTopic

	ordinal    int  // of its version
	binary     bool // header form
	compressed bool
}

// change returns a broker that differs in what f does.
func (b broker) change(f func(b *broker)) broker {
	f(&b)
	return b
}

func (b broker) at(data version) broker { return b.change(func(b *broker) { b.data = data }) }
func (b broker) having(topics ...topic) broker {
	return b.change(func(b *broker) { b.topics = topics })
}
func (b broker) withActing(value string) broker {
	return b.change(func(b *broker) { b.acting = value })
}
func (b broker) inZone(zone string) broker { return b.change(func(b *broker) { b.zone = zone }) }

// as returns the member of the same group that has another id and address.
func (b broker) as(id int64, addr string) broker {
	return b.change(func(b *broker) { b.id, b.addr = id, addr })
}

func (b broker) register() request { return b.registerWith(b.body()) }

// registerWith registers with a body of any content and its right checksum.
func (b broker) registerWith(body []byte) request {
	q := ask(registerBroker, "brokerName", b.name, "brokerAddr", b.addr, "clusterName", b.cluster, "haServerAddr", b.haAddr(),
		"brokerId", strconv.FormatInt(b.id, 10), "compressed", strconv.FormatBool(b.compressed), "bodyCrc32", checksum(body))
	q.body, q.version, q.binary = body, b.ordinal, b.binary
	if b.acting != "" {
		q = q.with("enableActingMaster", b.acting)
	}
	if b.zone != "" {
		q = q.with("__ZONE_NAME", b.zone)
	}
	if b.timeoutMS != 0 {
		q = q.with("heartbeatTimeoutMillis", strconv.FormatInt(b.timeoutMS, 10))
	}
	return q
}

func checksum(body []byte) string { return strconv.Itoa(int(crc32.ChecksumIEEE(body) & 0x7fffffff)) }

func (b broker) haAddr() string { return b.addr + "2" }

func (b broker) unregister() request {
	return ask(unregisterBroker, "brokerName", b.name, "brokerAddr", b.addr, "clusterName", b.cluster,
		"brokerId", strconv.FormatInt(b.id, 10)).as(b.ordinal, b.binary)
}

func (b broker) beat() request {
	return ask(heartbeat, "brokerName", b.name, "brokerAddr", b.addr, "clusterName", b.cluster).as(b.ordinal, b.binary)
}

// query asks whether the server has this data version.
func (b broker) query(data version) request {
	q := ask(queryVersion, "brokerName", b.name, "brokerAddr", b.addr, "clusterName", b.cluster,
		"brokerId", strconv.FormatInt(b.id, 10)).as(b.ordinal, b.binary)
	q.body = mustJSON(data)
	return q
}

func (b broker) group() request {
	return ask(memberGroup, "clusterName", b.cluster, "brokerName", b.name).as(b.ordinal, b.binary)
}

func (b broker) body() []byte {
	switch {
	case b.compressed:
		return b.packed()
	case b.ordinal < 37:
		return b.table()
	}
	filters := ""
	if !b.noFilters {
		filters = `"filterServerList":` + string(b.filterList()) + ","
	}
	return fmt.Appendf(nil, `{%s"topicConfigSerializeWrapper":%s}`, filters, b.table())
}

func (b broker) filterList() []byte { return mustJSON(append([]string{}, b.filters...)) }

func (b broker) table() []byte {
	topics := map[string]any{}
	for _, t := range b.topics {
		topics[t.name] = map[string]any{"topicName": t.name, "readQueueNums": t.read, "writeQueueNums": t.write, "perm": t.perm,
			"topicFilterType": "SINGLE_TAG", "topicSysFlag": t.sys, "order": false, "attributes": map[string]string{}}
	}
	table := map[string]any{"dataVersion": b.data, "topicConfigTable": topics}
	if b.ordinal >= v5 {
		statics := map[string]any{}
		for _, s := range b.statics {
			statics[s.topic] = s.info(b.name)
		}
		table["topicQueueMappingInfoMap"], table["topicQueueMappingDetailMap"] = statics, struct{}{}
		table["mappingDataVersion"] = version{}
	}
	return bareMaps(mustJSON(table))
}

func (s staticTopic) info(broker string) map[string]any {
	return map[string]any{"bname": broker, "currIdMap": s.ids, "dirty": false, "epoch": s.epoch, "scope": "__global__",
		"topic": s.topic, "totalQueues": len(s.ids)}
}

var quotedInteger = regexp.MustCompile(`"(-?[0-9]+)":`)

// bareMaps writes integer keys the way that brokers do.
func bareMaps(body []byte) []byte { return quotedInteger.ReplaceAll(body, []byte("$1:")) }

func (b broker) packed() []byte {
	var texts []string
	for _, t := range b.topics {
		text := fmt.Sprintf("%s %d %d %d SINGLE_TAG", t.name, t.read, t.write, t.perm)
		if b.ordinal >= v5 {
			text += ` {"message.type":"NORMAL"}`
		}
		texts = append(texts, text)
	}
	return b.packedTexts(string(b.filterList()), texts...)
}

// packedTexts is the compressed body with topics and filter servers as the given texts.
func (b broker) packedTexts(filters string, topics ...string) []byte {
	raw := sized(nil, mustJSON(b.data))
	raw = counted(raw, topics)
	raw = sized(raw, []byte(filters))
	if b.ordinal >= v5 {
		var statics []string
		for _, s := range b.statics {
			statics = append(statics, string(bareMaps(mustJSON(s.info(b.name)))))
		}
		raw = counted(raw, statics)
	}
	return deflate(raw)
}

func counted(dst []byte, texts []string) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(texts)))
	for _, text := range texts {
		dst = sized(dst, []byte(text))
	}
	return dst
}

func sized(dst, text []byte) []byte {
	return append(binary.BigEndian.AppendUint32(dst, uint32(len(text))), text...)
}

func deflate(b []byte) []byte {
	var out bytes.Buffer
	w := zlib.NewWriter(&out)
	_, _ = w.Write(b) // a bytes.Buffer takes everything
	_ = w.Close()
	return out.Bytes()
}
