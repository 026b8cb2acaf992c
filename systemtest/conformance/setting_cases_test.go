package conformance

import (
	"fmt"
	"slices"
	"strings"
)

var settingCases = []scenario{
	{"settings", exclusive, settings},
	{"blacklist", exclusive, blackList},
	{"order", exclusive, orderTables},
	{"switches", exclusive, listSwitches},
	{"tabledelete", exclusive, deleteWithRegistration},
	{"waiting", exclusive, needWait},
}

// ofTheMachine are settings whose values differ from server to server.
var ofTheMachine = []string{"rocketmqHome", "kvConfigPath", "configStorePath", "listenPort", "bindAddress"}

// stockKeys are all settings that the stock server shows.
var stockKeys = []string{
	"bindAddress", "clientRequestThreadPoolNums", "clientRequestThreadPoolQueueCapacity", "clusterTest", "configBlackList",
	"configStorePath", "defaultThreadPoolNums", "defaultThreadPoolQueueCapacity", "deleteTopicWithBrokerRegistration",
	"enableAllTopicList", "enableControllerInNamesrv", "enableShutdownGracefully", "enableTopicList", "kvConfigPath", "listenPort",
	"needWaitForService", "notifyMinBrokerIdChanged", "orderMessageEnable", "productEnvName", "returnOrderTopicConfigToBroker",
	"rocketmqHome", "scanNotActiveBrokerInterval", "serverAsyncSemaphoreValue", "serverCallbackExecutorThreads",
	"serverChannelMaxIdleTimeSeconds", "serverNettyWorkerGroupEnable", "serverOnewaySemaphoreValue",
	"serverPooledByteBufAllocatorEnable", "serverSelectorThreads", "serverSocketBacklog", "serverSocketRcvBufSize",
	"serverSocketSndBufSize", "serverWorkerThreads", "shutdownWaitTimeSeconds", "supportActingMaster",
	"unRegisterBrokerQueueCapacity", "useEpollNativeSelector", "waitSecondsForService", "writeBufferHighWaterMark",
	"writeBufferLowWaterMark",
}

// shown records all settings as the server shows them, those that the stock server does not have apart.
func (r *run) shown(label string) {
	a := r.do(ask(getConfig))
	text := string(a.body)
	rows := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	var known, other []string
	for _, row := range rows {
		name, _, _ := strings.Cut(row, "=")
		switch {
		case slices.Contains(ofTheMachine, name):
			known = append(known, name+" is there")
		case slices.Contains(stockKeys, name), strings.HasPrefix(name, "unknownKey"):
			known = append(known, row)
		default:
			other = append(other, name)
		}
	}
	r.record(label, fmt.Sprintf("code %d, remark %s, fields %s, sorted %v, ends with a line end %v\n%s", a.Code, remarkText(a.Remark),
		fieldsText(a.Fields), slices.IsSorted(rows), strings.HasSuffix(text, "\n"), strings.Join(known, "\n")))
	r.record(label+": keys that the stock server does not have", strings.Join(other, " "))
}

// configureAll changes settings that each peer has for itself, as tools do: by one request to each.
func (r *run) configureAll(label, text string) {
	r.ask(label, configure(text), rawHeader)
	if r.read != r.write {
		r.lane(getConfig).call(configure(text))
	}
}

func settings(r *run) {
	r.shown("at the start")
	r.record("header of 319", plainHeader(r.do(ask(getConfig, "ignored", "x").with("y", "z"))))
	shared := func(label, text string) {
		r.ask(label, configure(text), rawHeader)
		r.shown(label)
	}
	shared("keys of the whole cluster", "enableTopicList=false\nenableAllTopicList = false\norderMessageEnable:true\nsupportActingMaster true\n")
	shared("more of them", "returnOrderTopicConfigToBroker=false\nnotifyMinBrokerIdChanged=true\ndeleteTopicWithBrokerRegistration=true\n")
	shared("back", "enableTopicList=true\nenableAllTopicList=TRUE\norderMessageEnable=no\nsupportActingMaster=0\nreturnOrderTopicConfigToBroker=true\nnotifyMinBrokerIdChanged=\ndeleteTopicWithBrokerRegistration=false\n")
	set := func(label, text string) {
		r.configureAll(label, text)
		r.shown(label)
	}
	set("live keys", "needWaitForService=true\nwaitSecondsForService 46\n")
	set("and back again", "needWaitForService=false\nwaitSecondsForService=45\n")
	set("unknown keys", "unknownKey1=1\nunknownKey2=\nunknownKey3")
	set("unknown key with text", "unknownKey4=\\u4e2d\\t\\\\ and = : more")
	set("a number that is none", "waitSecondsForService=soon\nenableTopicList=true")
	set("a number with a blank behind", "waitSecondsForService=47 ")
	set("a number in hex", "waitSecondsForService=0x10")
	set("a number beyond an int", "waitSecondsForService=99999999999")
	set("a boolean that is none", "enableTopicList=maybe")
	set("true again", "enableTopicList=true")
	set("numbers out of range", "clientRequestThreadPoolQueueCapacity=-1\nscanNotActiveBrokerInterval=0\nenableTopicList=true")
	set("in range again", "clientRequestThreadPoolQueueCapacity=50000\nscanNotActiveBrokerInterval=500")
	set("text with blanks", "productEnvName=  center  ")
	set("comments and continued lines", "# a comment\n! another\n\nwaitSecondsForService=\\\n   4\\\n   5\n")
	set("the same key twice", "waitSecondsForService=1\nwaitSecondsForService=45")
	set("a key that is not live", "clientRequestThreadPoolNums=9\nserverSelectorThreads=4")
	set("and back", "clientRequestThreadPoolNums=8\nserverSelectorThreads=3")
	r.ask("no body", configure(""), rawHeader)
	r.ask("only a comment", configure("# nothing"))
	r.ask("binary", configure("waitSecondsForService=45").as(vGo, true))
	r.ask("text that cannot be read", configure("unknownKey5=\\uZZZZ"), rawHeader)
	r.ask("part of it cannot be read", configure("waitSecondsForService=3\nunknownKey6=\\u12"))
	r.shown("at the end")
}

func blackList(r *run) {
	for _, text := range []string{"configBlackList=x", "configStorePath=/tmp/x", "kvConfigPath=/tmp/x", "rocketmqHome=/tmp/x",
		"kvConfigPath", "rocketmqHome=/tmp/x;id", "enableTopicList=false\nkvConfigPath=/tmp/x", "kvConfigPath=/tmp/x\nunknownKey7=1",
		"\\u006bvConfigPath=/tmp/x", " kvConfigPath : x"} {
		r.ask(fmt.Sprintf("refused: %q", text), configure(text), rawHeader)
	}
	for _, text := range []string{"dataDir=/tmp/x", "join=x:1\norderMessageEnable=false", "adminTokenFile="} {
		r.ask(fmt.Sprintf("own setting: %q", text), configure(text), rawHeader)
	}
	r.ask("names are exact", configure("unknownKeyvConfigPath=1"))
	r.shown("nothing was applied")
}

func orderTables(r *run) {
	b := r.master("b").change(func(b *broker) { b.topics = r.names("t1", "t2", "t3", "t4") })
	keep := put(orderNamespace, r.name("kept"), "x:1")
	r.ask("put another", keep)
	for topic, value := range map[string]string{"t1": b.name + ":8", "t2": "broker-a:4;broker-b", "t3": ""} {
		r.do(put(orderNamespace, r.name(topic), value))
	}
	look := func(label string) {
		for _, topic := range []string{"t1", "t2", "t3", "t4"} {
			r.ask(label+": "+topic, route(r.name(topic)))
		}
		r.ask(label+": legacy t1", route(r.name("t1")).as(vGo, false), rawBody)
		r.ask(label+": t1 in a zone", route(r.name("t1")).with("__ZONE_MODE", "true").with("__ZONE_NAME", "z"))
		r.ask(label+": 103", b.register())
		r.ask(label+": 103 of a slave", b.as(1, r.addr(2)).register())
		r.ask(label+": 103 refused", r.master("x").having(r.names("t1")...).register())
	}
	r.ask("103", b.register())
	look("by default")
	r.ask("in routes", configure("orderMessageEnable=true"))
	look("in routes")
	r.ask("deleted", remove(orderNamespace, r.name("t1")))
	look("deleted")
	r.ask("not to brokers", configure("returnOrderTopicConfigToBroker=false"))
	look("not to brokers")
	r.ask("not in routes", configure("orderMessageEnable=false"))
	look("nowhere")
	r.ask("as by default", configure("returnOrderTopicConfigToBroker=true"))
	r.ask("list", list(orderNamespace))
}

func listSwitches(r *run) {
	b := r.master("b")
	r.ask("103", b.register())
	look := func(label string) {
		for _, code := range []int{allTopics, unitTopics, unitSubTopics, unitSubUnunit, systemTopics, clusterInfo} {
			r.ask(fmt.Sprint(label, ": ", code), ask(code), rawHeader)
		}
		r.ask(label+": 224", ask(topicsByCluster, "cluster", b.cluster), rawHeader)
		r.ask(label+": 105", route(r.name("t1")))
	}
	r.ask("all off", configure("enableAllTopicList=false"))
	look("all off")
	r.ask("lists off", configure("enableTopicList=false"))
	look("lists off")
	r.ask("all on", configure("enableAllTopicList=true"))
	look("all on")
	r.ask("lists on", configure("enableTopicList=true"))
	look("lists on")
}

func deleteWithRegistration(r *run) {
	b := r.master("b").change(func(b *broker) { b.topics = r.names("t1", "t2", "t3") })
	other := r.master("o").change(func(b *broker) { b.addr, b.topics = r.addr(2), r.names("t3", "t4") })
	look := func(label string) {
		for _, topic := range []string{"t1", "t2", "t3", "t4"} {
			r.ask(label+": "+topic, route(r.name(topic)))
		}
	}
	r.ask("103", b.register())
	r.ask("103 of another", other.register())
	r.ask("on", configure("deleteTopicWithBrokerRegistration=true"))
	look("before")
	r.ask("fewer topics, equal version", b.having(r.names("t1", "t2")...).register())
	look("equal version")
	r.ask("a slave's", b.as(1, r.addr(3)).having(r.names("t2", "t4")...).register())
	look("a slave's")
	r.ask("one topic", b.at(v(2)).having(r.names("t1")...).register())
	look("one topic")
	static := b.at(v(3)).having(r.names("t2", "t3")...)
	static.statics = []staticTopic{{r.name("t2"), 1, map[string]int{"0": 0}}}
	r.ask("with a static topic", static.register())
	look("with a static topic")
	r.ask("the other without t3", other.at(v(2)).having(r.names("t4", "t5")...).register())
	look("the other without t3")
	r.ask("no topics", b.at(v(4)).having().register())
	look("no topics")
	r.ask("off", configure("deleteTopicWithBrokerRegistration=false"))
	r.ask("all topics", b.at(v(5)).register())
	r.ask("fewer again", b.at(v(6)).having(r.names("t1", "t2")...).register())
	look("off")
}

func needWait(r *run) {
	b := r.master("b")
	r.ask("103", b.register())
	r.configureAll("on", "needWaitForService=true\nwaitSecondsForService=86400")
	for _, form := range []form{{vGo, false}, {vNew, false}, {vNew, true}} {
		r.ask("105 "+form.String(), route(r.name("t1")).as(form.version, form.binary), rawHeader)
		r.ask("105 of no topic "+form.String(), route("none").as(form.version, form.binary))
	}
	r.ask("105 in a zone", route(r.name("t1")).with("__ZONE_MODE", "true").with("__ZONE_NAME", "z"))
	r.ask("106", ask(clusterInfo))
	r.ask("901", b.group())
	r.ask("103 meanwhile", b.at(v(2)).register())
	r.ask("101", get("none", "none"))
	r.configureAll("waited long enough", "waitSecondsForService=0")
	r.ask("105 again", route(r.name("t1")))
	r.configureAll("off", "needWaitForService=false\nwaitSecondsForService=45")
	r.ask("105 at last", route(r.name("t1")))
}
