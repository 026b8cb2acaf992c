package systemtest_test

import "time"

// tool is one command of mqadmin that asks a name server something. In its line {cluster}, {broker}, {addr}, {topic},
// {consumers}, {producers}, {id}, {unique} and {files} stand for what the test has prepared, and {side} for a word that
// differs between the two servers, where the second of two equal commands would do something else.
type tool struct {
	line  string
	all   bool          // it writes: it is sent to every peer, as an administrator would
	live  bool          // its numbers are measured by a broker or a client: only the rest is compared
	limit time.Duration // it runs for ever, and is interrupted then
}

// tools are all commands of mqadmin 5.5.0 that ask a name server, in an order in which one finds what another has made.
// The others ask a broker, a container or a controller whose address they are given, or read files.
var tools = []tool{
	// Settings and KV of the name server itself.
	{line: "updateKvConfig -s tools -k key -v value", all: true},
	{line: "deleteKvConfig -s tools -k key", all: true},
	{line: "deleteKvConfig -s tools -k no-such-key", all: true},
	{line: "updateOrderConf -t {topic} -m put -v {broker}:4", all: true},
	{line: "updateOrderConf -t {topic} -m get"},
	{line: "updateOrderConf -t {topic} -m delete", all: true},
	{line: "updateOrderConf -t {topic} -m get"},
	{line: "updateNamesrvConfig -k orderMessageEnable -v true", all: true},
	{line: "updateNamesrvConfig -k kvConfigPath -v /tmp/other", all: true},
	{line: "getNamesrvConfig"},

	// Topics, as seen by the name server and by the brokers it names.
	{line: "updateTopic -c {cluster} -t by-cluster-{side} -r 4 -w 4"},
	{line: "updateTopic -b {addr} -t by-broker-{side} -r 4 -w 4"},
	{line: "updateTopic -c {cluster} -t ordered -r 4 -w 4 -o true"},
	{line: "updateTopic -b {addr} -t ordered -r 4 -w 4 -o true"},
	{line: "updateTopic -c no-such-cluster -t lost"},
	{line: "updateTopicList -c {cluster} -f {files}/topics.json"},
	{line: "updateTopicPerm -c {cluster} -t by-cluster-{side} -p 4"},
	{line: "updateTopicPerm -b {addr} -t by-broker-{side} -p 4"},
	{line: "updateTopicPerm -c {cluster} -t no-such-topic -p 4"},
	{line: "updateStaticTopic -c {cluster} -t static-{side} -qn 4"},
	{line: "remappingStaticTopic -c {cluster} -t static-{side}"},
	{line: "topicList"},
	{line: "topicList -c"},
	{line: "topicRoute -t {topic}"},
	{line: "topicRoute -t {topic} -l"},
	{line: "topicRoute -t ordered"},
	{line: "topicRoute -t no-such-topic"},
	{line: "topicStatus -t {topic}", live: true},
	{line: "topicStatus -t {topic} -c {cluster}", live: true},
	{line: "topicClusterList -t {topic}"},
	{line: "topicClusterList -t no-such-topic"},
	{line: "allocateMQ -t {topic} -i 10.0.0.1,10.0.0.2"},
	{line: "queryCq -t {topic} -q 0 -i 0 -c 2", live: true},
	{line: "statsAll", live: true},
	{line: "statsAll -a", live: true},
	{line: "statsAll -t {topic}", live: true},

	// Brokers and clusters.
	{line: "clusterList", live: true},
	{line: "clusterList -m", live: true},
	{line: "clusterList -c {cluster}", live: true},
	{line: "clusterRT -c {cluster} -a 3 -i 3600", live: true, limit: 6 * time.Second},
	{line: "wipeWritePerm -b {broker}", all: true},
	{line: "topicRoute -t {topic}"},
	{line: "addWritePerm -b {broker}", all: true},
	{line: "topicRoute -t {topic}"},
	{line: "wipeWritePerm -b no-such-broker", all: true},
	{line: "brokerStatus -c {cluster}", live: true},
	{line: "getBrokerConfig -c {cluster}"},
	{line: "updateBrokerConfig -c {cluster} -k flushDelayOffsetInterval -v 10000"},
	{line: "getBrokerEpoch -c {cluster}"},
	{line: "haStatus -c {cluster}", live: true},
	{line: "getSyncStateSet -a 127.0.0.1:1 -c {cluster}"},
	{line: "getColdDataFlowCtrInfo -c {cluster}"},
	{line: "updateColdDataFlowCtrGroupConfig -c {cluster} -g {consumers} -v 1000"},
	{line: "removeColdDataFlowCtrGroupConfig -c {cluster} -g {consumers}"},
	{line: "setCommitLogReadAheadMode -c {cluster} -m 0"},
	{line: "cleanExpiredCQ -c {cluster}"},
	{line: "cleanUnusedTopic -c {cluster}"},
	{line: "deleteExpiredCommitLog -c {cluster}"},
	{line: "checkRocksdbCqWriteProgress -c {cluster}"},
	{line: "rocksDBConfigToJson -c {cluster}"},
	{line: "switchTimerEngine -c {cluster} -e F"},
	{line: "exportConfigs -c {cluster} -f {files}/{side}"},
	{line: "exportMetadata -c {cluster} -f {files}/{side}"},
	{line: "exportMetrics -c {cluster} -f {files}/{side}"},
	{line: "exportPopRecord -c {cluster} -d true"},

	// Messages.
	{line: "sendMessage -t {topic} -p text -b {broker} -i 0"},
	{line: "sendMsgStatus -b {broker} -c 2", live: true},
	{line: "checkMsgSendRT -t {topic} -a 2", live: true},
	{line: "consumeMessage -t {topic} -b {broker} -i 0 -o 0 -c 1"},
	{line: "printMsg -t {topic} -d false"},
	{line: "printMsgByQueue -t {topic} -a {broker} -i 0 -p true"},
	{line: "queryMsgById -t {topic} -i {id}"},
	{line: "queryMsgByKey -t {topic} -k tool-key"},
	{line: "queryMsgByUniqueKey -t {topic} -i {unique}"},
	{line: "queryMsgByOffset -t {topic} -b {broker} -i 0 -o 0"},
	{line: "queryMsgTraceById -t {topic} -i {unique}"},

	// Groups and clients.
	{line: "updateSubGroup -c {cluster} -g tool-group"},
	{line: "updateSubGroupList -c {cluster} -f {files}/groups.json"},
	{line: "setConsumeMode -c {cluster} -t {topic} -g tool-group -m PULL"},
	{line: "getConsumerConfig -g {consumers}"},
	{line: "consumerProgress", live: true},
	{line: "consumerProgress -g {consumers}", live: true},
	{line: "consumerProgress -g {consumers} -t {topic}", live: true},
	{line: "consumerConnection -g {consumers}"},
	{line: "consumerStatus -g {consumers}", live: true},
	{line: "producerConnection -g {producers} -t {topic}"},
	{line: "cloneGroupOffset -s {consumers} -d tool-group -t {topic}", live: true},
	{line: "resetOffsetByTime -g {consumers} -t {topic} -s now", live: true},
	{line: "skipAccumulatedMessage -g {consumers} -t {topic}", live: true},
	{line: "deleteSubGroup -c {cluster} -g tool-group -r true", all: true},

	// Users and access rules.
	{line: "createUser -c {cluster} -u user-{side} -p secret"},
	{line: "updateUser -c {cluster} -u user-{side} -p changed"},
	{line: "getUser -c {cluster} -u user-{side}"},
	{line: "listUser -c {cluster} -f user-{side}"},
	{line: "createAcl -c {cluster} -s User:user-{side} -r Topic:t -a Pub -d Allow"},
	{line: "updateAcl -c {cluster} -s User:user-{side} -r Topic:t -a Pub -d Deny"},
	{line: "getAcl -c {cluster} -s User:user-{side}"},
	{line: "listAcl -c {cluster} -s User:user-{side}"},
	{line: "deleteAcl -c {cluster} -s User:user-{side}"},
	{line: "deleteUser -c {cluster} -u user-{side}"},

	// Lite topics.
	{line: "getBrokerLiteInfo -c {cluster}", live: true},
	{line: "getParentTopicInfo -p {topic}"},
	{line: "getLiteTopicInfo -p {topic} -l lite"},
	{line: "getLiteClientInfo -p {topic} -g {consumers} -c client"},
	{line: "getLiteGroupInfo -p {topic} -g {consumers}", live: true},
	{line: "triggerLiteDispatch -p {topic} -g {consumers}"},

	// The end.
	{line: "deleteTopic -c {cluster} -t by-cluster-{side}", all: true},
	{line: "deleteTopic -c {cluster} -t no-such-topic", all: true},
	{line: "topicRoute -t by-cluster-{side}"},
	{line: "startMonitoring", limit: 2 * time.Second},
}
