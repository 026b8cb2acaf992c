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

// registering is one REGISTER_BROKER on its way through.
type registering struct {
	req    *protocol.Command
	who    header
	conn   *connState
	first  bool // of this address on this connection
	digest uint64
	reg    *fsm.Registration // nil while its bytes are known not to need decoding
}

// register answers REGISTER_BROKER.
func (s *Service) register(ctx context.Context, c *remoting.Conn, req *protocol.Command) *protocol.Command {
	limit := registrationLimit
	if req.Version < protocol.V5_0_0 {
		limit = oldRegistrationLimit
	}
	if s.stall.longer(limit) {
		return failure(remarkStale)
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	r, err := s.newRegistering(c, req)
	if err != nil {
		s.refused(c, req, err.Error())
		if errors.Is(err, protocol.ErrCRC) {
			return typed(failure(err.Error()))
		}
		return failure(err.Error()) // thrown on the stock server, which then sends no typed header
	}
	outcome, err := s.registerBroker(ctx, c, r)
	if err != nil {
		return failureOf(err)
	}
	if outcome.Refused != "" {
		s.refused(c, req, outcome.Refused)
		return typed(failure(outcome.Refused))
	}
	return s.registerAnswer(r.who, outcome.Conflict)
}

// refused counts a refusal, and writes it to the log unless the one before it on this connection was the same: a broker
// comes again every thirty seconds.
func (s *Service) refused(c *remoting.Conn, req *protocol.Command, remark string) {
	s.registers.refused.Add(1)
	f := req.ExtFields
	if stateOf(c).complains(f["brokerName"] + " " + f["brokerAddr"] + " " + remark) {
		s.log.Warn("registration refused", "broker", f["brokerName"], "address", f["brokerAddr"], "connection", c.RemoteAddr(), "because", remark)
	}
}

// typed marks an answer whose code has a header class on the stock server, which
// then sends an empty extFields object.
func typed(c *protocol.Command) *protocol.Command {
	c.ExtFields = map[string]string{}
	return c
}

func (s *Service) newRegistering(c *remoting.Conn, req *protocol.Command) (*registering, error) {
	who, err := headerOf(req)
	if err != nil {
		return nil, err
	}
	r := &registering{req: req, who: who, conn: stateOf(c), digest: s.digest(req)}
	r.first = !r.conn.born(who.key())
	if m, ok := r.conn.memo(who.key()); ok && m.digest == r.digest {
		return r, nil
	}
	return r, r.decode()
}

func (r *registering) decode() (err error) {
	if r.reg == nil {
		r.reg, err = registrationOf(r.req, r.who)
	}
	if err == nil {
		r.reg.NewBirth = r.first
	}
	return err
}

// registerBroker finds out whether the registration changes anything, by the very
// function that the log applies, and logs it only then, or when it is the first
// of this address on its connection.
func (s *Service) registerBroker(ctx context.Context, c *remoting.Conn, r *registering) (fsm.RegisterOutcome, error) {
	key := r.who.key()
	s.sessions.opened(key, c.ID())
	joined := r.conn.joined(key)
	outcome, err := s.judge(ctx, r)
	if joined && (err != nil || outcome.Refused != "" || outcome.Conflict) { // nothing came of it, nor of one before it
		s.sessions.left(key, c.ID())
		r.conn.forget(key)
	}
	return outcome, err
}

func (s *Service) judge(ctx context.Context, r *registering) (fsm.RegisterOutcome, error) {
	key := r.who.key()
	expiring, err := s.group.Confirm(ctx, key)
	withoutLeader := errors.Is(err, cluster.ErrNoLeader)
	if err != nil && (!withoutLeader || s.cfg.RefuseWithoutLeader || !s.group.EverConfirmed()) {
		return fsm.RegisterOutcome{}, err
	}
	state := s.tables.State()
	live := state.LiveByKey(key)
	outcome, derr := s.compare(state, live, r)
	switch {
	case derr != nil:
		return fsm.RegisterOutcome{Refused: derr.Error()}, nil
	case withoutLeader && (outcome.Changed || outcome.Conflict || outcome.Refused != ""):
		return outcome, err
	case withoutLeader:
		return outcome, nil // found as registered: nothing to write
	case outcome.Refused != "":
		return outcome, nil
	case outcome.Changed || outcome.Conflict || expiring || live == nil:
		return s.logRegistration(ctx, r)
	}
	return s.renew(ctx, live, r, outcome)
}

// compare says what a registration would change. Nothing is looked at topic by
// topic where the answer is known: the same bytes on the same tables change
// nothing, another DataVersion changes something.
func (s *Service) compare(state *fsm.State, live *fsm.Live, r *registering) (fsm.RegisterOutcome, error) {
	key, basis := r.who.key(), state.Basis(r.who.cluster, r.who.addr, r.who.broker)
	if m, ok := r.conn.memo(key); ok && live != nil && r.reg == nil && m.basis == basis {
		return fsm.RegisterOutcome{Birth: live.Birth}, nil
	}
	if err := r.decode(); err != nil {
		return fsm.RegisterOutcome{}, err
	}
	if few := len(r.reg.Topics) <= 1; !few && (live == nil || live.DataVersion != r.reg.DataVersion) {
		return fsm.RegisterOutcome{Changed: true}, nil // or refused: the log decides
	}
	_, outcome := state.Register(r.reg, 0)
	if !outcome.Changed && !outcome.Conflict && outcome.Refused == "" {
		r.conn.remember(key, memo{digest: r.digest, basis: basis})
	}
	return outcome, nil
}

// renew answers a registration that changes no table: without the log, or, for
// the first on its connection, with a small entry that begins a new birth.
func (s *Service) renew(ctx context.Context, live *fsm.Live, r *registering, outcome fsm.RegisterOutcome) (fsm.RegisterOutcome, error) {
	key := r.who.key()
	if !r.first {
		s.registers.unchanged.Add(1)
		r.conn.saw(key, live.Birth)
		return outcome, nil
	}
	res, err := s.change(ctx, fsm.EncodeTouch(key, live.Registered), nil)
	if err != nil {
		return outcome, err
	}
	if res.Code != protocol.Success { // somebody registered it meanwhile
		return s.logRegistration(ctx, r)
	}
	s.registers.touched.Add(1)
	r.conn.saw(key, res.Birth)
	return outcome, nil
}

func (s *Service) logRegistration(ctx context.Context, r *registering) (fsm.RegisterOutcome, error) {
	if err := r.decode(); err != nil {
		return fsm.RegisterOutcome{Refused: err.Error()}, nil
	}
	key := r.who.key()
	what := "broker registered"
	if s.tables.State().LiveByKey(key) != nil {
		what = "a broker's registration changed"
	}
	res, err := s.change(ctx, fsm.EncodeRegister(r.reg), func(st *fsm.State) bool {
		_, out := st.Register(r.reg, 0)
		return !out.Changed && !out.Conflict && out.Refused == "" && st.LiveByKey(key) != nil
	})
	if err != nil {
		return fsm.RegisterOutcome{}, err
	}
	s.registers.logged.Add(1)
	if res.Code != protocol.Success {
		return fsm.RegisterOutcome{Refused: res.Remark}, nil
	}
	if res.Birth == 0 && !res.Conflict { // known only by a look at the tables
		if live := s.tables.State().LiveByKey(key); live != nil {
			res.Birth = live.Birth
		}
	}
	r.conn.saw(key, res.Birth)
	if res.Changed {
		s.log.Info(what, "broker", r.who.broker, "cluster", r.who.cluster, "id", r.who.id, "address", r.who.addr, "topics", len(r.reg.Topics), "index", s.group.Applied())
	}
	return fsm.RegisterOutcome{Conflict: res.Conflict, Changed: res.Changed, Birth: res.Birth}, nil
}

// registerAnswer tells a slave its master, and every broker the order table.
func (s *Service) registerAnswer(who header, conflict bool) *protocol.Command {
	state := s.tables.State()
	c := typed(protocol.NewResponse(protocol.Success, ""))
	if addr, ha, ok := state.Master(who.cluster, who.broker, who.id); ok && !conflict {
		c.ExtFields["masterAddr"], c.ExtFields["haServerAddr"] = addr, ha
	}
	if state.Options().ReturnOrderTopicConfigToBroker {
		if ns := state.Namespace(orderNamespace); ns != nil {
			c.Body = appendNamespace(nil, ns)
		}
	}
	return c
}

// headerOf checks who registers.
func headerOf(req *protocol.Command) (header, error) {
	f := req.ExtFields
	if req.Version < 0 {
		return header{}, fmt.Errorf("version %d is none", req.Version)
	}
	for _, name := range []string{"brokerName", "brokerAddr", "clusterName"} {
		if f[name] == "" {
			return header{}, fmt.Errorf("the header has no %s", name)
		}
	}
	id, err := strconv.ParseInt(f["brokerId"], 10, 64)
	if err != nil {
		return header{}, fmt.Errorf("brokerId %q is no number", f["brokerId"])
	}
	return header{cluster: f["clusterName"], broker: f["brokerName"], addr: f["brokerAddr"], id: id}, nil
}

// registrationOf checks and decodes the body.
func registrationOf(req *protocol.Command, who header) (*fsm.Registration, error) {
	f := req.ExtFields
	if err := protocol.CheckCRC(req.Body, f); err != nil {
		return nil, err
	}
	body, err := protocol.DecodeRegisterBody(req.Body, req.Version, isTrue(f["compressed"]))
	if err != nil {
		return nil, err
	}
	timeout, _ := strconv.ParseInt(f["heartbeatTimeoutMillis"], 10, 64) // what is no number counts as absent
	return &fsm.Registration{
		Broker: who.broker, Addr: who.addr, Cluster: who.cluster, HAServerAddr: f["haServerAddr"],
		ID: who.id, TimeoutMillis: timeout, Acting: actingOf(f), Zone: f["__ZONE_NAME"],
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
