package remoting

import (
	"testing"
	"time"
)

// Whatever a callback of a new connection waits for, it waits without the server's lock.
func TestAcceptAsksWithoutTheLock(t *testing.T) {
	tests := []struct {
		name string
		set  func(cfg *ServerConfig, wait func())
	}{
		{"idle timeout", func(cfg *ServerConfig, wait func()) {
			cfg.Idle = func() time.Duration { wait(); return time.Minute }
		}},
		{"first value", func(cfg *ServerConfig, wait func()) {
			cfg.OnAccept = func() any { wait(); return nil }
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			asked, answer := make(chan struct{}), make(chan struct{})
			var cfg ServerConfig
			tt.set(&cfg, func() { close(asked); <-answer })
			s := NewServer(cfg)
			p := dial(t, serve(t, s))
			<-asked
			counted := make(chan int, 1)
			go func() { counted <- s.Conns() }()
			select {
			case n := <-counted:
				if n != 0 {
					t.Errorf("%d connections before the first is there", n)
				}
			case <-time.After(10 * time.Second):
				t.Error("the server waits with the callback")
			}
			close(answer)
			eventually(t, "the connection served", func() bool { return s.Conns() == 1 })
			_ = p.nc.Close()
		})
	}
}
