package gate

import (
	"crypto/tls"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
)

// lookEvery is the least time between two looks at the files: a change shows after that, and a storm of connections does
// not become one of system calls.
const lookEvery = 500 * time.Millisecond

// source holds what was made from files and makes it anew when they change.
type source struct {
	files []string // none: it never changes
	build func() (*tls.Config, error)
	log   hclog.Logger

	current atomic.Pointer[tls.Config] // nil until the files could be used

	mu     sync.Mutex // guards the fields below; held by the one who looks
	looked time.Time
	seen   []os.FileInfo // of the files when they were last read, nil for one that could not be looked at
	failed bool          // and whether they could not be used then
}

// config returns what is in use now, nil when there is nothing. Whoever comes while another one looks at the files does
// not wait for that.
func (s *source) config() *tls.Config {
	if len(s.files) > 0 && s.mu.TryLock() {
		defer s.mu.Unlock()
		s.lookLocked()
	}
	return s.current.Load()
}

// load reads the files for the first time.
func (s *source) load() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.looked, s.seen = time.Now(), s.stat()
	return s.loadLocked()
}

func (s *source) loadLocked() error {
	cfg, err := s.build()
	s.failed = err != nil
	if err != nil {
		return err
	}
	s.current.Store(cfg)
	return nil
}

// lookLocked reads the files again when they have changed. Files that could not be used are tried again without a
// change, since whoever writes them may not be done; that is logged once for each change.
func (s *source) lookLocked() {
	now := time.Now()
	if now.Sub(s.looked) < lookEvery {
		return
	}
	s.looked = now
	seen := s.stat() // before they are read: a change while they are shows next time
	changed := !sameFiles(s.seen, seen)
	if !changed && !s.failed {
		return
	}
	s.seen = seen
	switch err := s.loadLocked(); {
	case err == nil:
		s.log.Info("the TLS files have changed: new connections use them", "files", s.files)
	case changed:
		s.log.Warn("the TLS files have changed and cannot be used: what was in use stays", "error", err)
	}
}

func (s *source) stat() []os.FileInfo {
	infos := make([]os.FileInfo, len(s.files))
	for i, file := range s.files {
		if info, err := os.Stat(file); err == nil {
			infos[i] = info
		}
	}
	return infos
}

func sameFiles(a, b []os.FileInfo) bool {
	for i := range a {
		if !sameFile(a[i], b[i]) {
			return false
		}
	}
	return true
}

// sameFile also compares which file it is: one that was moved into place may be as old and as long as the former.
func sameFile(a, b os.FileInfo) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return a.ModTime().Equal(b.ModTime()) && a.Size() == b.Size() && os.SameFile(a, b)
}
