package process

import (
	"bytes"
	"io"
	"os"
	"strings"
	"sync"
)

// maxKept bounds the output of one stream held in memory; the log file has all of it.
const maxKept = 4 << 20

// stream is the write end of one output stream: it copies to the log, keeps the text and tells watchers about lines.
type stream struct {
	log io.Writer // nil = none; shared by both streams, each write is one system call

	mu       sync.Mutex // guards the fields below
	kept     bytes.Buffer
	partial  []byte // the line that has no end yet
	watchers map[*watcher]struct{}
}

type watcher struct {
	text  string
	found chan string // buffered, gets one line
}

func newStream(log *os.File) *stream {
	s := &stream{watchers: map[*watcher]struct{}{}}
	if log != nil {
		s.log = log
	}
	return s
}

// Write implements io.Writer. It never fails: a child must not die because its log cannot be written.
func (s *stream) Write(b []byte) (int, error) {
	if s.log != nil {
		_, _ = s.log.Write(b)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kept.Len() < maxKept {
		s.kept.Write(b)
	}
	s.partial = append(s.partial, b...)
	for {
		i := bytes.IndexByte(s.partial, '\n')
		if i < 0 {
			return len(b), nil
		}
		s.lineLocked(string(s.partial[:i]))
		s.partial = s.partial[i+1:]
	}
}

// close treats what is left without a line end as a line.
func (s *stream) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.partial) > 0 {
		s.lineLocked(string(s.partial))
		s.partial = nil
	}
}

func (s *stream) lineLocked(line string) {
	for w := range s.watchers {
		if strings.Contains(line, w.text) {
			w.found <- line
			delete(s.watchers, w)
		}
	}
}

func (s *stream) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.kept.String()
}

func (s *stream) find(text string) (string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.findLocked(text)
}

func (s *stream) findLocked(text string) (string, bool) {
	for line := range strings.Lines(s.kept.String()) {
		if strings.Contains(line, text) && strings.HasSuffix(line, "\n") {
			return strings.TrimRight(line, "\r\n"), true
		}
	}
	return "", false
}

// watch gives a channel that receives the first line with text, at once when it was printed already.
func (s *stream) watch(text string) (<-chan string, func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := &watcher{text: text, found: make(chan string, 1)}
	if line, ok := s.findLocked(text); ok {
		w.found <- line
		return w.found, func() {}
	}
	s.watchers[w] = struct{}{}
	return w.found, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.watchers, w)
	}
}
