package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"
)

// All answers on a connection are timed up to allTimed, one in sampleEvery after that.
const (
	allTimed    = 1000
	sampleEvery = 16
)

// answerWait bounds the wait for one answer, so that a server that hangs ends the run.
const answerWait = 30 * time.Second

var errRefused = errors.New("the answer is not a success")

// line is one connection of the generator with the frames it sends over and over. One goroutine works it: it fills the
// window, waits for an answer, takes those that came with it, and fills again.
type line struct {
	nc     net.Conn
	r      *bufio.Reader
	w      *bufio.Writer
	frames [][]byte
	next   int
	plain  bool // the answers are not checked: they are an echo
}

// generator is a set of connections to one system, kept open from one measurement to the next: closing a connection
// tells a name server that its brokers are gone.
type generator struct {
	depth int // requests in flight on each connection
	lines []*line
}

// outcome is one measurement.
type outcome struct {
	rate float64       // answers a second
	p99  time.Duration // of the timed answers
	cpu  time.Duration // that the system's processes used for an answer
}

// newGenerator opens one connection for each element of frames.
func newGenerator(ctx context.Context, s *system, depth int, frames [][][]byte) (*generator, error) {
	g := &generator{depth: depth}
	var d net.Dialer
	for i, f := range frames {
		nc, err := d.DialContext(ctx, "tcp", s.addrs[i%len(s.addrs)])
		if err != nil {
			g.close()
			return nil, err
		}
		g.lines = append(g.lines, &line{
			nc: nc, r: bufio.NewReaderSize(nc, 256<<10), w: bufio.NewWriterSize(nc, 64<<10), frames: f, plain: s.name == echo,
		})
	}
	return g, nil
}

func (g *generator) close() {
	for _, l := range g.lines {
		l.nc.Close()
	}
}

// run makes load for d on s, which the generator's connections lead to.
func (g *generator) run(s *system, d time.Duration) (outcome, error) {
	before, err := s.cpu()
	if err != nil {
		return outcome{}, err
	}
	counts, samples, errs := make([]int, len(g.lines)), make([][]time.Duration, len(g.lines)), make([]error, len(g.lines))
	begin := time.Now()
	var wg sync.WaitGroup
	for i, l := range g.lines {
		wg.Go(func() { counts[i], samples[i], errs[i] = l.run(begin.Add(d), g.depth) })
	}
	wg.Wait()
	took := time.Since(begin)
	after, err := s.cpu()
	if err := errors.Join(append(errs, err)...); err != nil {
		return outcome{}, err
	}
	total := 0
	for _, n := range counts {
		total += n
	}
	all := slices.Concat(samples...)
	slices.Sort(all)
	return outcome{
		rate: float64(total) / took.Seconds(), p99: quantile(all, 0.99), cpu: (after - before) / time.Duration(max(total, 1)),
	}, nil
}

func quantile(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[int(q*float64(len(sorted)-1))]
}

// run sends and receives until the given time, then waits for what is in flight.
func (l *line) run(until time.Time, depth int) (count int, samples []time.Duration, err error) {
	if err := l.nc.SetDeadline(until.Add(answerWait)); err != nil {
		return 0, nil, err
	}
	sent := make([]time.Time, 0, depth) // of those in flight, oldest first
	for {
		now := time.Now()
		if now.Before(until) {
			for len(sent) < depth {
				if _, err := l.w.Write(l.frames[l.next%len(l.frames)]); err != nil {
					return count, samples, err
				}
				l.next++
				sent = append(sent, now)
			}
			if err := l.w.Flush(); err != nil {
				return count, samples, err
			}
		}
		if len(sent) == 0 {
			return count, samples, nil
		}
		got, err := l.takeSome(len(sent))
		if err != nil {
			return count, samples, err
		}
		now = time.Now()
		for _, t := range sent[:got] {
			if count++; count <= allTimed || count%sampleEvery == 0 {
				samples = append(samples, now.Sub(t))
			}
		}
		sent = append(sent[:0], sent[got:]...)
	}
}

// takeSome waits for one answer and takes those that have come whole with it, at most limit.
func (l *line) takeSome(limit int) (int, error) {
	for got := 0; ; got++ {
		if got == limit || got > 0 && !l.holdsFrame() {
			return got, nil
		}
		if err := l.take(); err != nil {
			return got, err
		}
	}
}

func (l *line) holdsFrame() bool {
	if l.r.Buffered() < 4 {
		return false
	}
	head, err := l.r.Peek(4)
	return err == nil && l.r.Buffered() >= 4+int(binary.BigEndian.Uint32(head))
}

// take reads one answer and checks that it is a success.
func (l *line) take() error {
	head, err := l.r.Peek(8)
	if err != nil {
		return err
	}
	total, header := int(binary.BigEndian.Uint32(head)), int(binary.BigEndian.Uint32(head[4:])&0xffffff)
	if !l.plain {
		text, err := l.r.Peek(8 + header)
		if err != nil {
			return err
		}
		if !bytes.Contains(text[8:], []byte(`"code":0,`)) {
			return fmt.Errorf("%w: %s", errRefused, text[8:])
		}
	}
	_, err = l.r.Discard(4 + total)
	return err
}
