package nameserver

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestWhatIsReadAfterALongStopIsNotWorkedOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStall()
		if time.Sleep(time.Hour); s.longer(time.Second) {
			t.Error("stopped, though nobody watched")
		}
		ctx, cancel := context.WithCancel(t.Context())
		go s.watch(ctx)
		time.Sleep(time.Minute)
		if s.longer(2500 * time.Millisecond) {
			t.Error("stopped, though every tick came")
		}
		cancel()
		synctest.Wait()
		time.Sleep(25 * time.Second) // no tick: the process stands still
		for limit, want := range map[time.Duration]bool{20 * time.Second: true, 30 * time.Second: false} {
			if got := s.longer(limit); got != want {
				t.Errorf("longer than %v: %v, want %v", limit, got, want)
			}
		}
		s.ticked.Store(int64(time.Since(s.start)))
		if time.Sleep(500 * time.Millisecond); !s.longer(20 * time.Second) {
			t.Error("what comes half a second later was sent before the stop ended, too")
		}
		s.ticked.Store(int64(time.Since(s.start)))
		if time.Sleep(2 * time.Second / 3); s.longer(20 * time.Second) {
			t.Error("still refused after the backlog is read")
		}
	})
}
