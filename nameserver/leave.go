package nameserver

import (
	"context"
	"sync"
	"time"
	"unicode/utf8"

	"namesrv/remoting"
	"namesrv/remoting/protocol"
)

const remarkGoAway = "please go away"

// Leave makes every request of a peer that understands it be answered with
// GO_AWAY: open another connection and ask again. It is to be called once the
// listener is closed, or that other connection comes here and goes on failing.
func (s *Service) Leave() { s.leaving.Store(true) }

// leaves says whether a request is to be answered with GO_AWAY.
func (s *Service) leaves(req *protocol.Command) bool {
	return s.leaving.Load() && req.Version > protocol.V5_3_1
}

// polite wraps a processor so that it says good-bye after Leave.
func (s *Service) polite(p remoting.Processor) remoting.Processor {
	handle, inline := p.Handle, p.Inline
	p.Handle = func(ctx context.Context, c *remoting.Conn, req *protocol.Command) *protocol.Command {
		if s.leaves(req) {
			return protocol.NewResponse(protocol.GoAway, remarkGoAway)
		}
		return handle(ctx, c, req)
	}
	if inline != nil {
		p.Inline = func(c *remoting.Conn, req *protocol.Command) (*protocol.Command, bool) {
			if s.leaves(req) {
				return nil, false
			}
			return inline(c, req)
		}
	}
	return p
}

const (
	printFirst = time.Minute
	printEvery = 10 * time.Minute
)

// Run does what a service does beside answering, until ctx ends: it notices when
// this process was stopped, and prints the KV table to the log, a minute after the
// start and then every ten, where operators of the stock server look for it.
func (s *Service) Run(ctx context.Context) {
	var watching sync.WaitGroup
	defer watching.Wait()
	watching.Go(func() { s.stall.watch(ctx) })
	t := time.NewTimer(printFirst)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		s.printKV()
		t.Reset(printEvery)
	}
}

// Bounds of the table print, a namespace: the log is for people.
const (
	printKeys  = 50
	printValue = 200 // bytes
)

func (s *Service) printKV() {
	for ns := range s.tables.State().Namespaces() {
		s.log.Info("kv namespace", "namespace", ns.Name, "keys", ns.Len())
		n := 0
		for k, v := range ns.All() {
			if n++; n > printKeys {
				s.log.Info("kv: more keys are not printed", "namespace", ns.Name, "keys", ns.Len()-printKeys)
				break
			}
			s.log.Info("kv", "namespace", ns.Name, "key", k, "value", cutAt(printValue, v))
		}
	}
}

// cutAt shortens a text to so many bytes, never within a character.
func cutAt(limit int, text string) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit] + "…"
}
