package lab

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"namesrv/internal/process"
	"namesrv/internal/rocketmq"
	"namesrv/systemtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve is a name server that answers every request as it is told, until the test ends.
func serve(t *testing.T, answer func(*rocketmq.Frame) *rocketmq.Frame) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer nc.Close()
				for {
					f, err := rocketmq.ReadFrame(nc)
					if err != nil {
						return
					}
					if a := answer(f); a != nil {
						a.Opaque, a.Flag = f.Opaque, 1
						_, _ = nc.Write(a.Encode())
					}
				}
			}()
		}
	}()
	return l.Addr().String()
}

// TestWatchFindsWhatIsWrong holds the watcher itself: one that finds nothing looks like a server without faults.
func TestWatchFindsWhatIsWrong(t *testing.T) {
	brokers := NewBrokers("w", 2, time.Second)
	full := []byte(`{"0":"` + brokers[0].Addr + `","1":"` + brokers[1].Addr + `"}`)
	tests := []struct {
		name   string
		answer *rocketmq.Frame
		found  func(Seen) int
	}{
		{"all there", &rocketmq.Frame{Body: full}, func(s Seen) int { return s.Good }},
		{"one is absent", &rocketmq.Frame{Body: bytes.Replace(full, []byte(brokers[1].Addr), []byte("10.0.0.1:1"), 1)}, func(s Seen) int { return s.Missed }},
		{"no such topic", &rocketmq.Frame{Code: rocketmq.TopicNotExist}, func(s Seen) int { return s.Missed }},
		{"refused", &rocketmq.Frame{Code: rocketmq.SystemError}, func(s Seen) int { return s.Refused }},
		{"silent", nil, func(s Seen) int { return s.Silent }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			addr := serve(t, func(*rocketmq.Frame) *rocketmq.Frame {
				if tt.answer == nil {
					return nil
				}
				copied := *tt.answer
				return &copied
			})
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			w := StartWatch(ctx, brokers, time.Millisecond, addr)
			err := systemtest.Poll(ctx, func() error {
				if tt.found(w.Seen()) == 0 {
					return errors.New("nothing found yet")
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
			cancel()
			seen := w.Wait()
			if tt.name == "all there" && (seen.Missed > 0 || seen.Refused > 0) || len(seen.Misses) != min(seen.Missed, keptMisses) {
				t.Errorf("%v %q", seen, seen.Misses)
			}
		})
	}
}

// TestFleetComesBack promises that brokers register again after their connection was lost.
func TestFleetComesBack(t *testing.T) {
	times := make(chan struct{}, 1000)
	addr := serve(t, func(f *rocketmq.Frame) *rocketmq.Frame {
		times <- struct{}{}
		return &rocketmq.Frame{}
	})
	f := StartFleet(t.Context(), NewBrokers("f", 2, time.Second), 5*time.Millisecond, addr)
	defer f.Stop()
	for range 10 {
		select {
		case <-times:
		case <-time.After(10 * time.Second):
			t.Fatal("no registration came")
		}
	}
	if f.Refused() > 0 {
		t.Errorf("%d refused", f.Refused())
	}
}

// TestStepClock promises that only one process's wall clock moves, on a Go program built for the purpose.
func TestStepClock(t *testing.T) {
	dir := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-o", dir+"/clock", "./testdata/clock")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	p, err := process.Start(process.Config{Path: dir + "/clock"})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Kill()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if _, err := p.WaitLine(ctx, "wall +0h, elapsed right"); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		by   time.Duration
		want string
	}{{time.Hour, "wall +1h, elapsed right"}, {-2 * time.Hour, "wall -2h, elapsed right"}} {
		err := StepClock(p.Pid(), step.by)
		if errors.Is(err, ErrUnable) && (os.Geteuid() != 0 || os.Getenv("NAMESRV_SYSTEMTEST") != "1") {
			t.Skip(err)
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.WaitLine(ctx, step.want); err != nil {
			t.Errorf("after a step of %v: %v\n%s", step.by, err, strings.TrimSpace(p.Stdout()))
		}
	}
}
