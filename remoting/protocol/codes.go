package protocol

import "strconv"

// Code is a request code or a response code; the two share one field of the header.
type Code int32

// Request codes, with the values of RocketMQ's RequestCode.
const (
	PutKVConfig                  Code = 100
	GetKVConfig                  Code = 101
	DeleteKVConfig               Code = 102
	RegisterBroker               Code = 103
	UnregisterBroker             Code = 104
	GetRouteInfoByTopic          Code = 105
	GetBrokerClusterInfo         Code = 106
	WipeWritePermOfBroker        Code = 205
	GetAllTopicList              Code = 206
	DeleteTopicInNamesrv         Code = 216
	RegisterTopicInNamesrv       Code = 217
	GetKVListByNamespace         Code = 219
	GetTopicsByCluster           Code = 224
	GetSystemTopicList           Code = 304
	GetUnitTopicList             Code = 311
	GetHasUnitSubTopicList       Code = 312
	GetHasUnitSubUnunitTopicList Code = 313
	UpdateNamesrvConfig          Code = 318
	GetNamesrvConfig             Code = 319
	QueryDataVersion             Code = 322
	AddWritePermOfBroker         Code = 327
	GetBrokerMemberGroup         Code = 901
	BrokerHeartbeat              Code = 904
	NotifyMinBrokerIDChange      Code = 905
)

// Response codes, with the values of RocketMQ's ResponseCode and RemotingSysResponseCode.
const (
	Success                 Code = 0
	SystemError             Code = 1
	SystemBusy              Code = 2
	RequestCodeNotSupported Code = 3
	NoPermission            Code = 16
	TopicNotExist           Code = 17
	QueryNotFound           Code = 22
	GoAway                  Code = 1500
)

// String returns the stock name of a code, or its number when it has none here.
func (c Code) String() string {
	if name := codeNames[c]; name != "" {
		return name
	}
	return strconv.Itoa(int(c))
}

var codeNames = map[Code]string{
	PutKVConfig:                  "PUT_KV_CONFIG",
	GetKVConfig:                  "GET_KV_CONFIG",
	DeleteKVConfig:               "DELETE_KV_CONFIG",
	RegisterBroker:               "REGISTER_BROKER",
	UnregisterBroker:             "UNREGISTER_BROKER",
	GetRouteInfoByTopic:          "GET_ROUTEINFO_BY_TOPIC",
	GetBrokerClusterInfo:         "GET_BROKER_CLUSTER_INFO",
	WipeWritePermOfBroker:        "WIPE_WRITE_PERM_OF_BROKER",
	GetAllTopicList:              "GET_ALL_TOPIC_LIST_FROM_NAMESERVER",
	DeleteTopicInNamesrv:         "DELETE_TOPIC_IN_NAMESRV",
	RegisterTopicInNamesrv:       "REGISTER_TOPIC_IN_NAMESRV",
	GetKVListByNamespace:         "GET_KVLIST_BY_NAMESPACE",
	GetTopicsByCluster:           "GET_TOPICS_BY_CLUSTER",
	GetSystemTopicList:           "GET_SYSTEM_TOPIC_LIST_FROM_NS",
	GetUnitTopicList:             "GET_UNIT_TOPIC_LIST",
	GetHasUnitSubTopicList:       "GET_HAS_UNIT_SUB_TOPIC_LIST",
	GetHasUnitSubUnunitTopicList: "GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST",
	UpdateNamesrvConfig:          "UPDATE_NAMESRV_CONFIG",
	GetNamesrvConfig:             "GET_NAMESRV_CONFIG",
	QueryDataVersion:             "QUERY_DATA_VERSION",
	AddWritePermOfBroker:         "ADD_WRITE_PERM_OF_BROKER",
	GetBrokerMemberGroup:         "GET_BROKER_MEMBER_GROUP",
	BrokerHeartbeat:              "BROKER_HEARTBEAT",
	NotifyMinBrokerIDChange:      "NOTIFY_MIN_BROKER_ID_CHANGE",
	Success:                      "SUCCESS",
	SystemError:                  "SYSTEM_ERROR",
	SystemBusy:                   "SYSTEM_BUSY",
	RequestCodeNotSupported:      "REQUEST_CODE_NOT_SUPPORTED",
	NoPermission:                 "NO_PERMISSION",
	TopicNotExist:                "TOPIC_NOT_EXIST",
	QueryNotFound:                "QUERY_NOT_FOUND",
	GoAway:                       "GO_AWAY",
}
