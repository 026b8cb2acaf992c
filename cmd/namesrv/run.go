package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"namesrv/admin"
	"namesrv/cluster"
	"namesrv/nameserver"
	"namesrv/remoting"
	"namesrv/remoting/gate"
)

const (
	firstConfirm = 5 * time.Second // a restarted peer opens its port after this, confirmed or not
	handOverTime = 3 * time.Second
	drainTime    = 5 * time.Second
	cutTime      = time.Second
)

// runningPeer is everything a running server consists of, in the order of its start.
type runningPeer struct {
	cfg      *serverConfig
	fatal    chan error
	removed  chan struct{} // closed when the group has removed this peer; fatal follows
	tables   *nameserver.Tables
	sessions *nameserver.Sessions
	client   *remoting.Client // to brokers
	clock    *nameserver.Clock
	node     *cluster.Node
	service  *nameserver.Service
	metrics  *metrics
	gate     *gate.Gate
	wire     *remoting.Server
	http     *admin.Server
	served   chan error // what Serve of either server ended with
}

// runServer serves until ctx ends or the peer cannot go on.
func runServer(ctx context.Context, cfg *serverConfig) error {
	p, err := startPeer(cfg)
	if err != nil {
		return err
	}
	background, stopBackground := context.WithCancel(context.Background())
	var working sync.WaitGroup
	working.Go(func() { p.clock.Report(background, p.node) })
	working.Go(func() { p.service.Run(background) })
	working.Go(func() { cfg.warnOfLoopback(background, nil) })
	err = p.serve(ctx)
	stopBackground()
	if errors.Is(err, errFatal) {
		p.cut()
		return err
	}
	working.Wait()
	if errors.Is(err, errRemoved) {
		p.dismiss()
		err = <-p.fatal
		p.cut()
		return err
	}
	stopped := make(chan error, 1)
	go func() { stopped <- p.stop() }()
	select {
	case serr := <-stopped:
		return errors.Join(err, serr)
	case ferr := <-p.fatal: // a disk that fails now would hold up the polite way
		p.cut()
		return ferr
	}
}

var (
	errFatal   = errors.New("this peer cannot go on")
	errRemoved = errors.New("this peer was removed")
)

// startPeer opens everything but the client port, or nothing.
func startPeer(cfg *serverConfig) (_ *runningPeer, err error) {
	p := &runningPeer{cfg: cfg, fatal: make(chan error, 1), removed: make(chan struct{}), served: make(chan error, 2)}
	var opened closers
	defer func() {
		if err != nil {
			err = errors.Join(err, opened.close())
		}
	}()
	if err := prepareStart(cfg); err != nil {
		return nil, err
	}
	mode := tlsMode(cfg)
	if p.gate, err = clientGate(cfg, mode); err != nil {
		return nil, err
	}
	dial, err := brokerDial(cfg, mode)
	if err != nil {
		return nil, err
	}
	adminListener, err := listenAdmin(cfg)
	if err != nil {
		return nil, err
	}
	opened.add(adminListener.Close)
	peerListener, err := listen("--peer-listen", cfg.PeerListen)
	if err != nil {
		return nil, err
	}
	opened.add(func() error { return closeListener(peerListener) })
	p.tables, p.sessions = nameserver.NewTables(), nameserver.NewSessions()
	p.client = remoting.NewClient(remoting.ClientConfig{Dial: dial, Logger: cfg.Logger.Named("remoting")})
	opened.add(func() error { p.client.Close(); return nil })
	p.clock = nameserver.NewClock(nameserver.ClockConfig{Interval: cfg.Settings.ScanInterval(), Sender: p.client, Logger: cfg.Logger.Named("liveness")}, p.tables, p.sessions)
	conf, err := p.clusterConfig(peerListener, adminListener)
	if err != nil {
		return nil, err
	}
	if p.node, err = cluster.Open(conf); err != nil {
		return nil, explainOpen(err)
	}
	p.service = nameserver.NewService(p.serviceConfig(), p.tables, p.node, p.sessions)
	p.metrics = newMetrics(p.service.Codes())
	p.metrics.registry.MustRegister(p.node.Collectors()...)
	p.metrics.registry.MustRegister(p.service.Collectors()...)
	p.metrics.registry.MustRegister(p.clock.Collectors()...)
	p.wire = p.remotingServer()
	p.http = p.adminServer()
	go func() { p.served <- p.http.Serve(adminListener) }()
	return p, nil
}

// prepareStart finds what is wrong before anything is opened, the data directory first:
// a port that is taken may be free the next time.
func prepareStart(cfg *serverConfig) error {
	if err := checkDataDir(cfg.DataDir); err != nil {
		return err
	}
	l, err := listen(cfg.toldListen(), cfg.Listen) // it is opened last
	if err != nil {
		return err
	}
	return errors.Join(l.Close(), cfg.makeToken())
}

// closers are what has been opened so far.
type closers []func() error

func (c *closers) add(closer func() error) { *c = append(*c, closer) }

// close closes in the reverse order.
func (c closers) close() error {
	var errs []error
	for _, closer := range slices.Backward(c) {
		errs = append(errs, closer())
	}
	return errors.Join(errs...)
}

// explainOpen says what to do about a data directory that cannot be used.
func explainOpen(err error) error {
	if errors.Is(err, cluster.ErrInUse) {
		return fmt.Errorf("%w: stop that one, or choose another with --data-dir", err)
	}
	return err
}

// serve opens the client port when this peer may answer, and waits for the end.
func (p *runningPeer) serve(ctx context.Context) error {
	if err := p.awaitTables(ctx); err != nil {
		if ctx.Err() != nil {
			return nil // stopped while it waited
		}
		return err
	}
	l, err := listen(p.cfg.toldListen(), p.cfg.Listen)
	if err != nil {
		return err
	}
	go func() { p.served <- p.wire.Serve(l) }()
	fmt.Fprintf(p.cfg.Stdout, "The Name Server boot success. serializeType=%s, address %s\n", p.cfg.Serialize, shownAddress(l))
	p.cfg.Logger.Info("serving", "clients", l.Addr(), "peers", p.cfg.PeerListen, "admin", p.cfg.AdminListen, "member", p.node.MemberID())
	select {
	case <-ctx.Done():
		p.cfg.Logger.Info("stopping")
		return nil
	case <-p.removed:
		return errRemoved
	case err := <-p.fatal:
		return err
	case err := <-p.served:
		return err
	}
}

// shownAddress prints an IPv4 wildcard as the stock server does.
func shownAddress(l net.Listener) string {
	a, ok := l.Addr().(*net.TCPAddr)
	if !ok {
		return l.Addr().String()
	}
	if a.IP.IsUnspecified() {
		return fmt.Sprintf("0.0.0.0:%d", a.Port)
	}
	return a.String()
}

// awaitTables returns when this peer's tables show everything that was committed.
// A new group is waited for without end. A peer that was in one before waits five
// seconds: with the port closed clients try another peer, but some only move on
// when they are answered.
func (p *runningPeer) awaitTables(ctx context.Context) error {
	formed := make(chan error, 1)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	known := p.node.AdmittedAtOpen()
	go func() {
		if !known {
			if err := p.node.Formed(ctx); err != nil {
				formed <- err
				return
			}
		}
		limit, stop := context.WithTimeout(ctx, firstConfirm)
		defer stop()
		formed <- p.confirmFirst(limit)
	}()
	select {
	case err := <-formed:
		return err
	case err := <-p.fatal:
		return err
	}
}

func (p *runningPeer) confirmFirst(ctx context.Context) error {
	for ctx.Err() == nil {
		if _, err := p.node.Confirm(ctx); err == nil {
			return nil
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
		}
	}
	p.cfg.Logger.Warn("no leader yet: serving, but every answer is an error until one is reached")
	return nil
}

// stop ends a peer politely: nobody new is let in, leadership goes to another,
// what is in flight is answered, and only then connections close.
func (p *runningPeer) stop() error {
	errs := []error{p.wire.CloseListeners()}
	ctx, cancel := context.WithTimeout(context.Background(), handOverTime)
	if err := p.node.HandOver(ctx); err != nil {
		p.cfg.Logger.Warn("leadership was not handed over", "error", err)
	}
	cancel()
	if p.cfg.Settings.ShutdownGracefully() {
		p.service.Leave()
		p.awaitGone(p.cfg.Settings.ShutdownWait())
	}
	ctx, cancel = context.WithTimeout(context.Background(), drainTime)
	defer cancel()
	if err := p.wire.Shutdown(ctx); err != nil {
		p.cfg.Logger.Warn("some requests were cut", "error", err)
	}
	errs = append(errs, p.http.Shutdown(ctx), p.node.Close())
	p.client.Close()
	p.cfg.Logger.Info("stopped")
	return errors.Join(errs...)
}

// awaitGone gives clients time to follow a GO_AWAY.
func (p *runningPeer) awaitGone(limit time.Duration) {
	end := time.After(limit)
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	for p.wire.Conns() > 0 {
		select {
		case <-look.C:
		case <-end:
			return
		}
	}
}

// dismiss ends the clients' connections of a peer that was removed, so that they
// ask another one instead of being told that this one cannot answer.
func (p *runningPeer) dismiss() {
	ctx, cancel := context.WithTimeout(context.Background(), cutTime)
	defer cancel()
	err := p.wire.CloseListeners()
	p.service.Leave()
	if err = errors.Join(err, p.wire.Shutdown(ctx)); err != nil {
		p.cfg.Logger.Warn("some requests were cut", "error", err)
	}
}

// cut closes every socket and waits for little: handlers may hang on a disk, and
// with a thread in it the process may take long to end.
func (p *runningPeer) cut() {
	ctx, cancel := context.WithTimeout(context.Background(), cutTime)
	defer cancel()
	closed := make(chan struct{})
	go func() { defer close(closed); p.wire.Close() }()
	_ = p.http.Shutdown(ctx)
	select {
	case <-closed:
	case <-ctx.Done():
	}
}
