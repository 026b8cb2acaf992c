package conformance

// Request codes (RocketMQ RequestCode).
const (
	clientConfig     = 47
	putKV            = 100
	getKV            = 101
	deleteKV         = 102
	registerBroker   = 103
	unregisterBroker = 104
	routeInfo        = 105
	clusterInfo      = 106
	wipeWrite        = 205
	allTopics        = 206
	deleteTopic      = 216
	registerTopic    = 217
	kvList           = 219
	topicsByCluster  = 224
	systemTopics     = 304
	unitTopics       = 311
	unitSubTopics    = 312
	unitSubUnunit    = 313
	updateConfig     = 318
	getConfig        = 319
	queryVersion     = 322
	addWrite         = 327
	memberGroup      = 901
	heartbeat        = 904
	notifyMinID      = 905
)

// Response codes (RocketMQ ResponseCode).
const (
	success       = 0
	systemError   = 1
	topicNotExist = 17
)

// Version ordinals that rules depend on, and those of widespread peers.
const (
	vInner    = 36 // before 37 a registration's body is the bare topic table
	vGo       = 317
	vLegacy   = 400
	vStandard = 401 // routes in standard JSON from here on
	vBefore5  = 412
	v5        = 413 // static topics in compressed registrations from here on
	vStays    = 475 // the last that is not sent away by a server that stops
	vNew      = 479
	vNewest   = 515
)

var versions = []int{vInner, vGo, vLegacy, vStandard, vBefore5, v5, vNew, vNewest}

// orderNamespace is where tools keep which topics are ordered.
const orderNamespace = "ORDER_TOPIC_CONFIG"

// ask is a request of the newest version with the given fields, as name and value in turn.
func ask(code int, fields ...string) request {
	q := request{code: code, version: vNew}
	for i := 0; i < len(fields); i += 2 {
		q = q.with(fields[i], fields[i+1])
	}
	return q
}

func put(namespace, key, value string) request {
	return ask(putKV, "namespace", namespace, "key", key, "value", value)
}

func get(namespace, key string) request    { return ask(getKV, "namespace", namespace, "key", key) }
func remove(namespace, key string) request { return ask(deleteKV, "namespace", namespace, "key", key) }
func list(namespace string) request        { return ask(kvList, "namespace", namespace) }
func route(topic string) request           { return ask(routeInfo, "topic", topic) }

func configure(text string) request {
	q := ask(updateConfig)
	q.body = []byte(text)
	return q
}

// changing are the codes that go to the peer that is written to.
func changing(code int) bool {
	switch code {
	case putKV, deleteKV, registerBroker, unregisterBroker, wipeWrite, addWrite, deleteTopic, registerTopic, updateConfig, heartbeat:
		return true
	}
	return false
}

// sharesNames tells the codes whose bodies list names of the whole server.
func sharesNames(code int) bool {
	switch code {
	case registerBroker, clusterInfo, allTopics, systemTopics, unitTopics, unitSubTopics, unitSubUnunit:
		return true
	}
	return false
}

// pairs are the fields as name and value in turn.
func (q request) pairs() []string {
	var pairs []string
	for name, value := range q.fields {
		pairs = append(pairs, name, value)
	}
	return pairs
}
