package nameserver

import (
	"context"
	"testing"

	"namesrv/cluster"
)

// TestReadsTellThatTheyAreNotConfirmed promises that every read for people which answers from the last known state
// tells so, and none that was confirmed.
func TestReadsTellThatTheyAreNotConfirmed(t *testing.T) {
	b := master("t1", "t2")
	reads := map[string]func(context.Context, *Service) error{
		"topics":   func(ctx context.Context, s *Service) error { _, err := s.Topics(ctx); return err },
		"brokers":  func(ctx context.Context, s *Service) error { _, err := s.Brokers(ctx); return err },
		"route":    func(ctx context.Context, s *Service) error { _, _, err := s.Route(ctx, "t1"); return err },
		"settings": func(ctx context.Context, s *Service) error { _, err := s.Settings(ctx); return err },
		"value":    func(ctx context.Context, s *Service) error { _, _, err := s.GetKV(ctx, "NS", "k"); return err },
		"values":   func(ctx context.Context, s *Service) error { _, _, err := s.ListKV(ctx, "NS"); return err },
	}
	r := newRig(t)
	r.dial().register(b)
	if err := r.service.PutKV(t.Context(), "NS", "k", "v"); err != nil {
		t.Fatal(err)
	}
	for _, without := range []error{nil, cluster.ErrNoLeader} {
		r.group.set(func(g *fakeGroup) { g.confirm = without })
		for name, read := range reads {
			told := false
			if err := read(WithUnconfirmed(t.Context(), func() { told = true }), r.service); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if told != (without != nil) {
				t.Errorf("%s, confirmation %v: told %v", name, without, told)
			}
		}
	}
}
