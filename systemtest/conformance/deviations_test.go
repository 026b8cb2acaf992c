package conformance

import (
	"regexp"
	"strings"
)

// deviation is a difference that is wanted. A row covers an answer when every pattern is found; an empty one always is.
type deviation struct {
	key      string // names the row in docs/deviations.md
	scenario string // the scenario's name, "" any
	label    string // regular expression of the whole label
	stock    string // regular expression, somewhere in the stock answer
	ours     string // regular expression, somewhere in our answer
	only     string // where the part of an answer begins that may differ; "" anywhere
	reason   string
}

// deviations is the whole list. A row that no answer of a run needs fails the test.
var deviations = []deviation{
	{
		key: "version-ordinal", scenario: "empty", label: "version", stock: "^513$", ours: "^479$",
		reason: "no client, broker or tool acts on the version of an answer; this one stays the same whatever release is compared with",
	},
	{
		key: "exception-text", stock: `^code 1, remark ` + exceptionText + `, fields none, .*body none`,
		ours:   `^code 1, remark "[^"].*, fields none, .*body none`,
		reason: "the text of a Java exception with a place in the stock source is no contract; the remark says in words what is wrong",
	},
	{
		key: "header-escapes", scenario: "kvtext", label: "get .*", stock: "\x7f\u0085\u2028\u2029", ours: `\\u007F\\u0085\\u2028\\u2029`, only: ", header {",
		reason: "control characters are escaped as by all releases before 5.4; every JSON reader takes both, and lines of logs stay lines",
	},
	{
		key: "route-escapes", scenario: "text", label: "105 standard bytes .*", stock: `bytes \{`, ours: `\\/`, only: ", bytes {",
		reason: "standard JSON of routes is plain ASCII as from 4.9.4 to 5.3, which most of the clients in use were made for",
	},
	{
		key: "header-unquoted", scenario: "headers", label: `\{code:105.*`, stock: "^closed", ours: "^code 0",
		reason: "keys without quotes are read as by all releases before 5.4, which older hand-written clients may count on",
	},
	{
		key: "header-language", scenario: "headers", label: `.*"language":99.*`, stock: "^closed", ours: "^code 0",
		reason: "a language is information only: a client of a language that is not known yet is served",
	},
	{
		key: "short-frame", scenario: "headers", label: `\{\}`, stock: "^silent", ours: "^code 3",
		reason: "a frame of less than 12 bytes is answered at once; the stock server waits for more, to see whether a PROXY header comes",
	},
	{
		key: "100-without-value", scenario: "kvnull", label: "put without a value|put an empty value, binary", stock: "^code 0,", ours: `^code 1, remark "value is null"`,
		reason: "nothing can be stored, and that must not be reported as success",
	},
	{
		key: "103-incomplete", scenario: "regfields", label: `(without|empty) (brokerName|brokerAddr|clusterName)(|: (106|901|322))`,
		stock: `^code 0,`, ours: `^code 1, remark "the header has no |"brokerAddrTable":\{\},"clusterAddrTable":\{\}|"brokerAddrs":\{\}|"changed":"true"`,
		reason: "the stock server fails in the middle, reports success and leaves lists with null names or addresses, which make later lists incomplete",
	},
	{
		key: "103-unflagged", scenario: "packed", label: `[0-9]+: (compressed but flagged as not|its group)`,
		stock: exceptionText + `|"brokerAddrs":\{\}`, ours: `^code 0,`,
		reason: "every 5.x broker with compressedRegister=true says compressed=false beside a compressed body; here it can register",
	},
	{
		key: "103-null-members", scenario: "regbody", label: `a null (table|wrapper|data version): (901|322)`, stock: `"brokerAddrs":\{\}|body none`, ours: `^code 0,`,
		reason: "a member that is null is read as one that is absent; the stock server stops in the middle and reports success",
	},
	{
		key: "103-no-time", label: `(no data version|an empty object|version 0): 322`, stock: `"timestamp":1[0-9]{12}\}`, ours: `"timestamp":0\}`,
		reason: "a registration without a data version gets none of the server's clock, since peers that apply it must not differ; no broker sends one",
	},
	{
		key: "103-refused-traces", scenario: "guard", label: `(106|304|901) after (the|that) refusal|the zone after the refusal`,
		stock: `"brokerAddrs":\{\}|"guard-b","guard-c"|"zoneName":"z9"`, ours: `"clusterAddrTable":\{\}|"topicList":\[\]|"enableActingMaster":false\}|"0":"10`,
		reason: "a refused registration must not change what others see; tools stumble over a broker without an address",
	},
	{
		key: "103-conflict-traces", scenario: "conflict", label: `(zone|acting) after a lower state`, stock: `"zoneName":"z7"|"enableActingMaster":true`, ours: `"enableActingMaster":false\}`,
		reason: "a broker that lost an election must not change zone and mode of the group",
	},
	{
		key: "103-replaced-address", scenario: "conflict", label: `322 of the replaced`, stock: `"changed":"false"`, ours: `"changed":"true"`,
		reason: "an address that lost its place is not registered any more; the stock server keeps it for ever, since its end finds no broker",
	},
	{
		key: "103-candidate-write", scenario: "candidate", label: `route again|route without the master`, stock: `"perm":4,`, ours: `"perm":6,`,
		reason: "a member with id -1 beside a living master must not take the write permission from the group",
	},
	{
		key: "103-other-cluster", scenario: "rename", label: `106 of two clusters|route of two clusters|224 of the first`, stock: `rename-c"|rename-t1`, ours: `rename-c2"|"topicList":\[\]`,
		reason: "a broker whose cluster was renamed belongs to the new one; the end of the old registration must not hurt the new",
	},
	{
		key: "103-other-name", scenario: "rename", label: `106 of two names|901 of the old name|route of two names`, stock: `rename-e`, ours: `rename-f|"brokerAddrs":\{\}`,
		reason: "an address belongs to the broker that registered it last; nothing would ever remove the old name",
	},
	{
		key: "104-incomplete", scenario: "leavefields", label: `(without|empty) .*|no fields at all|brokerId is no number`, stock: `^code 0,`, ours: `^code 1, remark "brokerName, |"brokerAddrs":\{"0"`,
		reason: "nothing is unregistered; the stock server reports success, and forgets other unregistrations of the same moment",
	},
	{
		key: "104-mismatch", scenario: "leave", label: `(the master under the slave's id|the slave under the master's id|an id that none has|another name|another cluster): .*`,
		stock: `^code 0,`, ours: `^code 0,.*("0":"10|"changed":"false")`,
		reason: "a demoted master's late request, which names its old id, took its successor out; id, name and address must all fit",
	},
	{
		key: "104-late-copy", scenario: "leave", label: `a copy over the older connection: .*`, stock: `^code 0,`, ours: `^code 0,.*("0":"10|"changed":"false")`,
		reason: "one request is sent to every peer, one after another: a copy that comes when the broker is back must not remove it",
	},
	{
		key: "216-without-topic", scenario: "deltopic", label: "no topic field", stock: "^code 0,", ours: `^code 1, remark "the header has no topic"`,
		reason: "nothing was deleted, and that must not be reported as success",
	},
	{
		key: "217-without-topic", scenario: "regtopic", label: "no topic field", stock: "^code 0,", ours: `^code 1, remark "the header has no topic"`,
		reason: "nothing was registered, and that must not be reported as success",
	},
	{
		key: "217-all-or-nothing", scenario: "regtopic", label: "route: a known topic, the (first|second) broker unknown", stock: `"perm":1,`, ours: `"perm":6,`,
		reason: "a request applies as a whole or not at all, on every peer",
	},
	{
		key: "319-own-settings", scenario: "", label: ".*: keys that the stock server does not have", stock: "^$", ours: "^adminListen ",
		reason: "the settings in force are shown, the server's own among them; tools read the answer as properties",
	},
	{
		key: "318-own-settings", scenario: "blacklist", label: `.*own setting.*`, stock: "^code 0,", ours: `^code 16, remark "Can not update config in black list."`,
		reason: "nothing on the port for clients may touch membership, files or who may do what; the stock server does not know these keys",
	},
	{
		key: "318-out-of-range", scenario: "settings", label: "numbers out of range", stock: `, header |clientRequestThreadPoolQueueCapacity=-1\n`, ours: `^code 1, remark "setting refused: |clientRequestThreadPoolQueueCapacity=50000\n`,
		reason: "a value that cannot work is refused before it is saved, or the next start would fail",
	},
	{
		key: "static-topics-leave", scenario: "static", label: "(the other left|new): .*", stock: `"static-[bo]":\{"bname"`,
		ours:   `"queueDatas":\[[^]]*\]\}, |"topicQueueMappingByBroker":\{"static-b":\{[^{}]*\{[^{}]*\}[^{}]*\}\}\}, `,
		reason: "static topics go with their broker; the stock server shows those of brokers that are long gone",
	},
	{
		key: "clusters-leave", scenario: "slaves", label: "acting .*: 106 at the end", stock: `"slaves-other":\["slaves-b"\]`, ours: `"clusterAddrTable":\{\}`,
		reason: "a name is not listed under a cluster that has no broker of it; tools stumble over names without an address",
	},
	{
		key: "shared-connection", scenario: "sharedconn", stock: `sharedconn-(one|two)":|^1 of 2`, ours: `"brokerAddrTable":\{\}|^0 of 2`,
		reason: "all brokers of a container go with its connection; on the stock server all but one stay until their time-out",
	},
}

func (d deviation) covers(scenario, label, stock, ours string) bool {
	return (d.scenario == "" || d.scenario == scenario) && (d.label == "" || found("^(?:"+d.label+")$", label)) &&
		found(d.stock, stock) && found(d.ours, ours) && (d.only == "" || before(d.only, stock) == before(d.only, ours))
}

func before(mark, text string) string {
	text, _, _ = strings.Cut(text, mark)
	return text
}

func found(pattern, text string) bool { return regexp.MustCompile("(?s)" + pattern).MatchString(text) }

// tableProblems finds rows that say too little.
func tableProblems() []string {
	var problems []string
	seen := map[string]bool{}
	for _, d := range deviations {
		if seen[d.key] {
			problems = append(problems, d.key+": two rows of this name")
		}
		seen[d.key] = true
		if len(strings.Fields(d.reason)) < 5 {
			problems = append(problems, d.key+": no reason")
		}
		if d.stock == "" || d.ours == "" || d.scenario == "" && d.label == "" && d.key != "exception-text" {
			problems = append(problems, d.key+": covers too much")
		}
	}
	return problems
}
