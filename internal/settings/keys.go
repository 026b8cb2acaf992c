package settings

import (
	"math"
	"slices"
)

// Kind is the type of a setting's value.
type Kind int

// The kinds of values.
const (
	Text Kind = iota // trimmed
	Int              // 32 bits
	Long             // 64 bits
	Bool             // "true" in any case, or else false
)

// Key describes one known setting.
type Key struct {
	Name    string
	Kind    Kind
	Default string // "" where Load computes it, or where there is none
	Live    bool   // a change takes effect without a restart
	Cluster bool   // one value for the whole cluster, kept in the replicated state
	Own     bool   // not known to the stock server, or not as a key of its file
	Secret  bool   // never shown

	min, max int64 // of Int and Long, both allowed
}

// Names of the stock settings that the server acts on.
const (
	RocketMQHome                = "rocketmqHome"
	KVConfigPath                = "kvConfigPath"
	ConfigStorePath             = "configStorePath"
	ConfigBlackList             = "configBlackList"
	ClusterTest                 = "clusterTest"
	EnableController            = "enableControllerInNamesrv"
	OrderMessageEnable          = "orderMessageEnable"
	ReturnOrderConfig           = "returnOrderTopicConfigToBroker"
	ClientRequestThreads        = "clientRequestThreadPoolNums"
	ClientRequestQueue          = "clientRequestThreadPoolQueueCapacity"
	DefaultThreads              = "defaultThreadPoolNums"
	DefaultQueue                = "defaultThreadPoolQueueCapacity"
	ScanInterval                = "scanNotActiveBrokerInterval"
	SupportActingMaster         = "supportActingMaster"
	EnableAllTopicList          = "enableAllTopicList"
	EnableTopicList             = "enableTopicList"
	NotifyMinBrokerIDChanged    = "notifyMinBrokerIdChanged"
	NeedWaitForService          = "needWaitForService"
	WaitSecondsForService       = "waitSecondsForService"
	DeleteTopicWithRegistration = "deleteTopicWithBrokerRegistration"
	BindAddress                 = "bindAddress"
	ListenPort                  = "listenPort"
	MaxIdleSeconds              = "serverChannelMaxIdleTimeSeconds"
	HighWaterMark               = "writeBufferHighWaterMark"
	LowWaterMark                = "writeBufferLowWaterMark"
	ShutdownGracefully          = "enableShutdownGracefully"
	ShutdownWaitSeconds         = "shutdownWaitTimeSeconds"
)

// Names of the server's own settings. Each is also a flag of the server, spelt
// with hyphens.
const (
	NodeID          = "nodeId"
	DataDir         = "dataDir"
	Advertise       = "advertise"
	PeerListen      = "peerListen"
	PeerAdvertise   = "peerAdvertise"
	AdminListen     = "adminListen"
	BootstrapExpect = "bootstrapExpect"
	Join            = "join"
	PeerCA          = "peerCa"
	PeerCert        = "peerCert"
	PeerKey         = "peerKey"
	AdminCert       = "adminCert"
	AdminKey        = "adminKey"
	AdminTokenFile  = "adminTokenFile"
	LogLevel        = "logLevel"
	LogJSON         = "logJson"
	RaftProfile     = "raftProfile"
	ReadConsistency = "readConsistency"
	OnNoLeader      = "onNoLeader"
)

// Names of the TLS settings. They are JVM system properties of the stock server (its TlsSystemConfig); here the file
// takes them too. Those of the server are for the port of clients and brokers, those of the client for connections that
// the server makes to brokers. What they mean is up to the server: here they are texts.
const (
	TLSServerMode       = "tls.server.mode"
	TLSConfigFile       = "tls.config.file"
	TLSTestMode         = "tls.test.mode.enable"
	TLSEnable           = "tls.enable"
	TLSServerKey        = "tls.server.keyPath"
	TLSServerPassword   = "tls.server.keyPassword"
	TLSServerCert       = "tls.server.certPath"
	TLSServerClientAuth = "tls.server.need.client.auth"
	TLSServerVerify     = "tls.server.authClient"
	TLSServerTrust      = "tls.server.trustCertPath"
	TLSClientKey        = "tls.client.keyPath"
	TLSClientPassword   = "tls.client.keyPassword"
	TLSClientCert       = "tls.client.certPath"
	TLSClientVerify     = "tls.client.authServer"
	TLSClientTrust      = "tls.client.trustCertPath"
)

// Upper bounds. They keep a mistyped value from using up the machine; the stock
// server has none.
const (
	maxThreads = 10_000
	maxQueue   = 1_000_000
	maxDay     = 24 * 60 * 60 // seconds
	maxDayMS   = maxDay * 1000
)

// table lists every known setting; byName finds one. Neither changes.
var (
	table  = slices.Concat(namesrvKeys(), nettyServerKeys(), ownKeys(), tlsKeys())
	byName = index(table)
)

// namesrvKeys are the properties of the stock NamesrvConfig (5.x).
func namesrvKeys() []Key {
	return []Key{
		text(RocketMQHome, ""),
		text(KVConfigPath, ""),
		text(ConfigStorePath, ""),
		text("productEnvName", "center"),
		boolean(ClusterTest, "false"),
		shared(boolean(OrderMessageEnable, "false")),
		shared(boolean(ReturnOrderConfig, "true")),
		number(ClientRequestThreads, "8", 1, maxThreads),
		number(ClientRequestQueue, "50000", 1, maxQueue),
		number(DefaultThreads, "16", 1, maxThreads),
		number(DefaultQueue, "10000", 1, maxQueue),
		long(ScanInterval, "5000", 1, maxDayMS),
		number("unRegisterBrokerQueueCapacity", "3000", 1, maxQueue),
		shared(boolean(SupportActingMaster, "false")),
		shared(boolean(EnableAllTopicList, "true")),
		shared(boolean(EnableTopicList, "true")),
		shared(boolean(NotifyMinBrokerIDChanged, "false")),
		boolean(EnableController, "false"),
		live(boolean(NeedWaitForService, "false")),
		live(number(WaitSecondsForService, "45", 0, maxDay)),
		shared(boolean(DeleteTopicWithRegistration, "false")),
		text(ConfigBlackList, "configBlackList;configStorePath;kvConfigPath"),
	}
}

// nettyServerKeys are the properties of the stock NettyServerConfig (5.x). Those
// about Netty itself are shown and checked but have nothing to act on here.
func nettyServerKeys() []Key {
	return []Key{
		text(BindAddress, "0.0.0.0"),
		number(ListenPort, "9876", 0, math.MaxUint16),
		number("serverWorkerThreads", "8", 1, maxThreads),
		number("serverCallbackExecutorThreads", "0", 0, maxThreads),
		number("serverSelectorThreads", "3", 0, maxThreads),
		number("serverOnewaySemaphoreValue", "256", 1, maxQueue),
		number("serverAsyncSemaphoreValue", "64", 1, maxQueue),
		live(number(MaxIdleSeconds, "120", 1, maxDay)),
		number("serverSocketSndBufSize", "0", 0, math.MaxInt32),
		number("serverSocketRcvBufSize", "0", 0, math.MaxInt32),
		number(HighWaterMark, "0", 0, math.MaxInt32),
		number(LowWaterMark, "0", 0, math.MaxInt32),
		number("serverSocketBacklog", "1024", 1, math.MaxUint16),
		boolean("serverNettyWorkerGroupEnable", "true"),
		boolean("serverPooledByteBufAllocatorEnable", "true"),
		boolean("useEpollNativeSelector", "false"),
		boolean(ShutdownGracefully, "false"),
		number(ShutdownWaitSeconds, "30", 0, maxDay),
	}
}

// ownKeys are texts; the server that takes their values from flags checks them.
func ownKeys() []Key {
	names := []string{NodeID, DataDir, Advertise, PeerListen, PeerAdvertise, AdminListen, BootstrapExpect, Join, PeerCA,
		PeerCert, PeerKey, AdminCert, AdminKey, AdminTokenFile, LogLevel, LogJSON, RaftProfile, ReadConsistency, OnNoLeader}
	keys := make([]Key, 0, len(names))
	for _, name := range names {
		keys = append(keys, Key{Name: name, Kind: Text, Own: true})
	}
	return keys
}

// tlsKeys are not shown unless they are given, as in the stock server, and cannot be changed over the wire.
func tlsKeys() []Key {
	names := []string{TLSServerMode, TLSConfigFile, TLSTestMode, TLSEnable, TLSServerKey, TLSServerPassword, TLSServerCert,
		TLSServerClientAuth, TLSServerVerify, TLSServerTrust, TLSClientKey, TLSClientPassword, TLSClientCert, TLSClientVerify,
		TLSClientTrust}
	keys := make([]Key, 0, len(names))
	for _, name := range names {
		secret := name == TLSServerPassword || name == TLSClientPassword
		keys = append(keys, Key{Name: name, Kind: Text, Own: true, Secret: secret})
	}
	return keys
}

func text(name, def string) Key    { return Key{Name: name, Kind: Text, Default: def} }
func boolean(name, def string) Key { return Key{Name: name, Kind: Bool, Default: def} }

func number(name, def string, least, most int64) Key {
	return Key{Name: name, Kind: Int, Default: def, min: least, max: most}
}

func long(name, def string, least, most int64) Key {
	return Key{Name: name, Kind: Long, Default: def, min: least, max: most}
}

func live(k Key) Key {
	k.Live = true
	return k
}

// shared marks a setting that changes answers: peers that differed in it would
// answer differently, so it is replicated, and thereby also live.
func shared(k Key) Key {
	k.Cluster, k.Live = true, true
	return k
}

func index(keys []Key) map[string]Key {
	named := make(map[string]Key, len(keys))
	for _, k := range keys {
		named[k.Name] = k
	}
	return named
}

// Lookup describes the setting of that name, and whether it is known.
func Lookup(name string) (Key, bool) {
	k, ok := byName[name]
	return k, ok
}
