package nameserver

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"

	"namesrv/cluster"
	"namesrv/fsm"
	"namesrv/remoting"
	"namesrv/remoting/protocol"
)

// registerCounts tells what registrations cost: most change nothing and write
// nothing.
type registerCounts struct {
	logged, touched, unchanged, refused atomic.Uint64
}

// register answers REGISTER_BROKER.
func (s *Service) register(ctx context.Context, c *remoting.Conn, req *protocol.Command) *protocol.Command {
	limit := registrationLimit
	if req.Version < protocol.V5_0_0 {
		limit = oldRegistrationLimit
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	reg, err := registrationOf(req)
	if err != nil {
		s.registers.refused.Add(1)
		s.log.Warn("registration refused", "connection", c.RemoteAddr(), "broker", req.ExtFields["brokerName"], "error", err)
		return typed(failure(err.Error()))
	}
	outcome, err := s.registerBroker(ctx, c, reg)
	if err != nil {
		return typed(failureOf(err))
	}
	if outcome.Refused != "" {
		s.registers.refused.Add(1)
		return typed(failure(outcome.Refused))
	}
	return s.registerAnswer(reg, outcome.Conflict)
}

// typed marks an answer whose code has a header class on the stock server, which
// then sends an empty extFields object.
func typed(c *protocol.Command) *protocol.Command {
	c.ExtFields = map[string]string{}
	return c
}

// registerBroker finds out whether the registration changes anything, by the very
// function that the log applies, and logs it only then, or when it is the first
// of this address on its connection.
func (s *Service) registerBroker(ctx context.Context, c *remoting.Conn, reg *fsm.Registration) (fsm.RegisterOutcome, error) {
	key, conn := fsm.Key(reg.Cluster, reg.Addr), stateOf(c)
	reg.NewBirth = !conn.registered(key)
	s.sessions.opened(key, c.ID())
	conn.saw(key, conn.birthLimit(key)) // its end counts from now on
	expiring, err := s.group.Confirm(ctx, key)
	withoutLeader := errors.Is(err, cluster.ErrNoLeader)
	if err != nil && (!withoutLeader || s.cfg.RefuseWithoutLeader || !s.group.EverConfirmed()) {
		return fsm.RegisterOutcome{}, err
	}
	state := s.tables.State()
	_, outcome := state.Register(reg, 0)
	live := state.LiveByKey(key)
	switch {
	case outcome.Refused != "" && !withoutLeader:
		return outcome, nil
	case withoutLeader:
		if outcome.Changed || outcome.Conflict || outcome.Refused != "" || live == nil {
			return outcome, err
		}
		return outcome, nil // found as registered: nothing to write
	case !outcome.Changed && !outcome.Conflict && !expiring && live != nil:
		return s.renew(ctx, conn, key, live, reg, outcome)
	}
	return s.logRegistration(ctx, conn, key, reg)
}

// renew answers a registration that changes no table: without the log, or, for
// the first on its connection, with a small entry that begins a new birth.
func (s *Service) renew(ctx context.Context, conn *connState, key string, live *fsm.Live, reg *fsm.Registration, outcome fsm.RegisterOutcome) (fsm.RegisterOutcome, error) {
	if !reg.NewBirth {
		s.registers.unchanged.Add(1)
		conn.saw(key, live.Birth)
		return outcome, nil
	}
	res, err := s.propose(ctx, fsm.EncodeTouch(key, live.Registered), nil)
	if err != nil {
		return outcome, err
	}
	if res.Code != protocol.Success { // somebody registered it meanwhile
		return s.logRegistration(ctx, conn, key, reg)
	}
	s.registers.touched.Add(1)
	conn.saw(key, res.Birth)
	return outcome, nil
}

func (s *Service) logRegistration(ctx context.Context, conn *connState, key string, reg *fsm.Registration) (fsm.RegisterOutcome, error) {
	res, err := s.propose(ctx, fsm.EncodeRegister(reg), func(st *fsm.State) bool {
		_, out := st.Register(reg, 0)
		return !out.Changed && !out.Conflict && out.Refused == "" && st.LiveByKey(key) != nil
	})
	if err != nil {
		return fsm.RegisterOutcome{}, err
	}
	s.registers.logged.Add(1)
	if res.Code != protocol.Success && res.Code != 0 {
		return fsm.RegisterOutcome{Refused: res.Remark}, nil
	}
	if res.Birth == 0 { // known only by a look at the tables
		if live := s.tables.State().LiveByKey(key); live != nil {
			res.Birth = live.Birth
		}
	}
	conn.saw(key, res.Birth)
	if res.Changed {
		s.log.Info("broker registered", "broker", reg.Broker, "cluster", reg.Cluster, "id", reg.ID, "address", reg.Addr, "topics", len(reg.Topics), "index", s.group.Applied())
	}
	return fsm.RegisterOutcome{Conflict: res.Conflict, Changed: res.Changed, Birth: res.Birth}, nil
}

// registerAnswer tells a slave its master, and every broker the order table.
func (s *Service) registerAnswer(reg *fsm.Registration, conflict bool) *protocol.Command {
	state := s.tables.State()
	c := typed(protocol.NewResponse(protocol.Success, ""))
	if addr, ha, ok := state.Master(reg.Cluster, reg.Broker, reg.ID); ok && !conflict {
		c.ExtFields["masterAddr"], c.ExtFields["haServerAddr"] = addr, ha
	}
	if state.Options().ReturnOrderTopicConfigToBroker {
		if ns := state.Namespace(orderNamespace); ns != nil {
			c.Body = appendNamespace(nil, ns)
		}
	}
	return c
}

// registrationOf checks the header and decodes the body.
func registrationOf(req *protocol.Command) (*fsm.Registration, error) {
	f := req.ExtFields
	if req.Version < 0 {
		return nil, fmt.Errorf("version %d is none", req.Version)
	}
	for _, name := range []string{"brokerName", "brokerAddr", "clusterName"} {
		if f[name] == "" {
			return nil, fmt.Errorf("the header has no %s", name)
		}
	}
	id, err := strconv.ParseInt(f["brokerId"], 10, 64)
	if err != nil {
		return nil, fmt.Errorf("brokerId %q is no number", f["brokerId"])
	}
	if err := protocol.CheckCRC(req.Body, f); err != nil {
		return nil, err
	}
	body, err := protocol.DecodeRegisterBody(req.Body, req.Version, isTrue(f["compressed"]))
	if err != nil {
		return nil, err
	}
	timeout, _ := strconv.ParseInt(f["heartbeatTimeoutMillis"], 10, 64) // what is no number counts as absent
	return &fsm.Registration{
		Broker: f["brokerName"], Addr: f["brokerAddr"], Cluster: f["clusterName"], HAServerAddr: f["haServerAddr"],
		ID: id, TimeoutMillis: timeout, Acting: actingOf(f), Zone: f["__ZONE_NAME"],
		DataVersion: body.DataVersion, HasTable: body.HasTable, Topics: body.Topics, Mappings: body.Mappings,
		Filters: body.Filters, HasFilters: body.HasFilters,
	}, nil
}

// actingOf reads a field that has three values: 4.x brokers do not send it.
func actingOf(f map[string]string) fsm.Acting {
	v, ok := f["enableActingMaster"]
	switch {
	case !ok:
		return fsm.ActingAbsent
	case isTrue(v):
		return fsm.ActingTrue
	}
	return fsm.ActingFalse
}

// isTrue is Java's Boolean.parseBoolean.
func isTrue(v string) bool { return strings.EqualFold(v, "true") }
