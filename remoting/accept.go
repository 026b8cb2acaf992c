package remoting

import (
	"errors"
	"net"
	"syscall"
	"time"
)

// Bounds of the pause after an accept that failed for want of something that may come back.
const (
	minAcceptPause = 5 * time.Millisecond
	maxAcceptPause = time.Second
)

// Serve accepts connections from l until the server is stopped, and then returns ErrServerClosed. It returns any other
// error when l is beyond use; a shortage of descriptors or memory only makes it pause. l is closed in every case.
func (s *Server) Serve(l net.Listener) error {
	defer func() { _ = l.Close() }()
	if !s.track(l) {
		return ErrServerClosed
	}
	defer s.untrack(l)
	pause := minAcceptPause
	for {
		nc, err := l.Accept()
		switch {
		case err == nil:
			pause = minAcceptPause
			s.accept(nc)
		case s.isRefusing():
			return ErrServerClosed
		case !passing(err):
			return err
		default:
			s.cfg.Logger.Warn("cannot accept connections for now", "error", err, "pause", pause)
			if !s.sleep(pause) {
				return ErrServerClosed
			}
			pause = min(2*pause, maxAcceptPause)
		}
	}
}

// passing reports whether accepting may work again after err.
func passing(err error) bool {
	for _, errno := range []syscall.Errno{
		syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.ECONNABORTED, syscall.ECONNRESET, syscall.EINTR,
	} {
		if errors.Is(err, errno) {
			return true
		}
	}
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

// sleep pauses, and returns false when the server refuses connections by then.
func (s *Server) sleep(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-s.refused:
		return false
	}
}

func (s *Server) track(l net.Listener) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refusing {
		return false
	}
	s.listeners[l] = struct{}{}
	return true
}

func (s *Server) untrack(l net.Listener) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.listeners, l)
}

func (s *Server) isRefusing() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refusing
}

// accept starts the goroutine of a new connection, which Close and Shutdown wait for. The callbacks that newConn asks
// are asked without the lock: whatever they wait for, requests and connections that are there do not.
func (s *Server) accept(nc net.Conn) {
	c := newConn(s, nc)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping {
		_ = nc.Close()
		return
	}
	s.conns[c] = struct{}{}
	s.serving.Go(c.serve)
}

// forget is the last thing that a connection's goroutine does.
func (s *Server) forget(c *Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
}
