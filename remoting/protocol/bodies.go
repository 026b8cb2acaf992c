package protocol

import (
	"cmp"
	"slices"
	"strconv"
)

// Cluster names the broker groups that belong to a cluster.
type Cluster struct {
	Name    string
	Brokers []string
}

// KV is one entry of a key-value table.
type KV struct{ Key, Value string }

// AppendClusterInfo appends the body that GET_BROKER_CLUSTER_INFO is answered with, in the Legacy dialect whatever the
// client. Both tables are written in the order of names.
func AppendClusterInfo(dst []byte, brokers []BrokerData, clusters []Cluster) []byte {
	dst = append(dst, `{"brokerAddrTable":{`...)
	for i, b := range sorted(brokers, func(b BrokerData) string { return b.Name }) {
		dst = appendKey(comma(dst, i), b.Name, Legacy)
		dst = b.appendJSON(dst, Legacy)
	}
	dst = append(dst, `},"clusterAddrTable":{`...)
	for i, c := range sorted(clusters, func(c Cluster) string { return c.Name }) {
		dst = appendKey(comma(dst, i), c.Name, Legacy)
		dst = appendStrings(dst, c.Brokers, Legacy)
	}
	return append(dst, `}}`...)
}

// AppendTopicList appends a TopicList in the order given. brokerAddr is written when it is not "".
func AppendTopicList(dst []byte, topics []string, brokerAddr string) []byte {
	dst = append(dst, '{')
	if brokerAddr != "" {
		dst = appendString(append(dst, `"brokerAddr":`...), brokerAddr, Legacy)
		dst = append(dst, ',')
	}
	dst = appendStrings(append(dst, `"topicList":`...), topics, Legacy)
	return append(dst, '}')
}

// AppendKVTable appends a KVTable in the order of keys.
func AppendKVTable(dst []byte, kv []KV) []byte {
	dst = append(dst, `{"table":{`...)
	for i, e := range sorted(kv, func(e KV) string { return e.Key }) {
		dst = appendKey(comma(dst, i), e.Key, Legacy)
		dst = appendString(dst, e.Value, Legacy)
	}
	return append(dst, `}}`...)
}

// AppendMemberGroup appends the body that GET_BROKER_MEMBER_GROUP is answered with. A name that is "" is not written:
// that is the answer to a request that names none.
func AppendMemberGroup(dst []byte, cluster, broker string, addrs []BrokerAddr) []byte {
	dst = append(dst, `{"brokerMemberGroup":{`...)
	dst = appendAddrs(dst, addrs, Legacy)
	if broker != "" {
		dst = appendString(append(dst, `,"brokerName":`...), broker, Legacy)
	}
	if cluster != "" {
		dst = appendString(append(dst, `,"cluster":`...), cluster, Legacy)
	}
	return append(dst, `}}`...)
}

// appendAddrs appends the member brokerAddrs. The Go client cuts its text at commas and colons without parsing it.
func appendAddrs(dst []byte, addrs []BrokerAddr, d Dialect) []byte {
	dst = append(dst, `"brokerAddrs":{`...)
	for i, a := range sorted(addrs, func(a BrokerAddr) int64 { return a.ID }) {
		dst = appendIntKey(comma(dst, i), a.ID, d)
		dst = appendString(dst, a.Addr, d)
	}
	return append(dst, '}')
}

func appendStrings(dst []byte, list []string, d Dialect) []byte {
	dst = append(dst, '[')
	for i, s := range list {
		dst = appendString(comma(dst, i), s, d)
	}
	return append(dst, ']')
}

func appendKey(dst []byte, key string, d Dialect) []byte {
	return append(appendString(dst, key, d), ':')
}

// appendIntKey appends an integer key, which only the Standard dialect quotes.
func appendIntKey(dst []byte, key int64, d Dialect) []byte {
	if d == Legacy {
		return append(strconv.AppendInt(dst, key, 10), ':')
	}
	return append(strconv.AppendInt(append(dst, '"'), key, 10), '"', ':')
}

// comma appends the separator in front of entry i.
func comma(dst []byte, i int) []byte {
	if i == 0 {
		return dst
	}
	return append(dst, ',')
}

// sorted returns list in the order of its keys: itself when it is in that order already, else a sorted copy.
func sorted[T any, K cmp.Ordered](list []T, key func(T) K) []T {
	byKey := func(a, b T) int { return cmp.Compare(key(a), key(b)) }
	if slices.IsSortedFunc(list, byKey) {
		return list
	}
	list = slices.Clone(list)
	slices.SortStableFunc(list, byKey)
	return list
}
