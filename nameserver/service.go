package nameserver

import (
	"context"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"namesrv/fsm"
	"namesrv/internal/settings"
	"namesrv/remoting"
	"namesrv/remoting/protocol"
)

// Group is what the service needs of the Raft group.
type Group interface {
	Propose(ctx context.Context, command []byte) ([]byte, error)
	Confirm(ctx context.Context, heard ...string) (expiring bool, err error)
	Confirmed() bool
	EverConfirmed() bool
	Applied() uint64
}

// Config is how a Service answers. It is not changed afterwards.
type Config struct {
	// LocalReads answers what is found from this peer's tables without asking
	// whether they are the newest.
	LocalReads bool
	// RefuseWithoutLeader answers SystemError instead of the last known state
	// when no leader was reached for two seconds.
	RefuseWithoutLeader bool
	// Settings are those in force at the start.
	Settings settings.Settings
	// SaveSettings keeps what is changed of this peer's own settings for the next
	// start; nil where they have no file.
	SaveSettings SaveSettings
	// Overruled says why what SaveSettings has kept of a setting does not decide it
	// at the next start, "" where it does; nil where it does for all.
	Overruled func(name string) string

	Logger hclog.Logger
}

// Service answers the requests of brokers, clients and tools.
type Service struct {
	cfg      Config
	tables   *Tables
	group    Group
	sessions *Sessions
	settings *liveSettings
	log      hclog.Logger
	audit    hclog.Logger
	started  time.Time
	seed     maphash.Seed
	stall    *stall

	routes  *routeCache
	topics  sharedBody
	cluster sharedBody

	leaving atomic.Bool
	// unconfirmed counts answers that were given from the last known state.
	unconfirmed atomic.Uint64
	registers   registerCounts
}

// NewService makes the handlers of one peer.
func NewService(cfg Config, tables *Tables, group Group, sessions *Sessions) *Service {
	return &Service{cfg: cfg, tables: tables, group: group, sessions: sessions, log: cfg.Logger,
		settings: newLiveSettings(cfg.Settings, cfg.SaveSettings),
		audit:    cfg.Logger.Named("audit"), started: time.Now(), seed: maphash.MakeSeed(), stall: newStall(), routes: newRouteCache(routeCacheBytes)}
}

// Pools are the two queues in which requests wait, as on the stock server: route
// queries have their own, so that nothing else delays them.
type Pools struct {
	Routes  *remoting.Pool
	Default *remoting.Pool
}

// Default answers every code that Processors does not list.
func (s *Service) Default(pools Pools) remoting.Processor {
	return s.polite(remoting.Processor{Pool: pools.Default, Handle: func(_ context.Context, _ *remoting.Conn, req *protocol.Command) *protocol.Command {
		return protocol.NewResponse(protocol.RequestCodeNotSupported, fmt.Sprintf(" request type %d not supported", req.Code))
	}})
}

// Processors says how each request code is answered.
func (s *Service) Processors(pools Pools) map[protocol.Code]remoting.Processor {
	plain := func(h remoting.Handler) remoting.Processor {
		return s.polite(remoting.Processor{Handle: s.within(requestLimit, h), Pool: pools.Default})
	}
	ordered := func(h remoting.Handler) remoting.Processor {
		return s.polite(remoting.Processor{Handle: h, Pool: pools.Default, Ordered: true})
	}
	return map[protocol.Code]remoting.Processor{
		protocol.GetRouteInfoByTopic:          s.polite(remoting.Processor{Handle: s.route, Inline: s.routeNow, Pool: pools.Routes}),
		protocol.RegisterBroker:               ordered(s.register),
		protocol.UnregisterBroker:             ordered(s.within(requestLimit, s.unregister)),
		protocol.BrokerHeartbeat:              plain(s.heartbeat),
		protocol.QueryDataVersion:             plain(s.queryDataVersion),
		protocol.PutKVConfig:                  plain(s.putKV),
		protocol.GetKVConfig:                  plain(s.getKV),
		protocol.DeleteKVConfig:               plain(s.deleteKV),
		protocol.GetKVListByNamespace:         plain(s.listKV),
		protocol.GetBrokerClusterInfo:         plain(s.clusterInfo),
		protocol.GetBrokerMemberGroup:         plain(s.memberGroup),
		protocol.GetAllTopicList:              plain(s.allTopics),
		protocol.GetTopicsByCluster:           plain(s.topicsByCluster),
		protocol.GetSystemTopicList:           plain(s.systemTopics),
		protocol.GetUnitTopicList:             plain(s.unitTopics(func(f int32) bool { return f&unitFlag != 0 })),
		protocol.GetHasUnitSubTopicList:       plain(s.unitTopics(func(f int32) bool { return f&unitSubFlag != 0 })),
		protocol.GetHasUnitSubUnunitTopicList: plain(s.unitTopics(func(f int32) bool { return f&(unitFlag|unitSubFlag) == unitSubFlag })),
		protocol.DeleteTopicInNamesrv:         plain(s.deleteTopic),
		protocol.RegisterTopicInNamesrv:       plain(s.registerTopic),
		protocol.UpdateNamesrvConfig:          plain(s.updateConfig),
		protocol.GetNamesrvConfig:             plain(s.getConfig),
		protocol.WipeWritePermOfBroker:        plain(s.wipeWrite),
		protocol.AddWritePermOfBroker:         plain(s.addWrite),
	}
}

// Codes are the request codes that Processors answers.
func (s *Service) Codes() []protocol.Code {
	return slices.Sorted(maps.Keys(s.Processors(Pools{})))
}

// OnAccept is remoting.ServerConfig.OnAccept: it notes what this peer had applied
// when the connection was made. By the time of its first request that may be more.
func (s *Service) OnAccept() any { return newConnState(s.group.Applied()) }

// OnEvent follows the connections of the client port.
func (s *Service) OnEvent(kind remoting.EventKind, c *remoting.Conn) {
	switch kind {
	case remoting.Connected:
	case remoting.Stopped: // this peer's own stop says nothing about brokers
	default:
		for key := range stateOf(c).keys() {
			if s.sessions.closed(key, c.ID()) {
				s.log.Debug("a broker's connection ended", "broker", describe(key), "connection", c.RemoteAddr(), "how", kind)
			}
		}
	}
}

func describe(key string) string {
	cluster, addr, ok := fsm.SplitKey(key)
	if !ok {
		return key
	}
	return cluster + "/" + addr
}
