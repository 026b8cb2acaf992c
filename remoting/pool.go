package remoting

import (
	"slices"
	"sync"
	"time"
)

// workerLinger is how long a worker without work stays.
const workerLinger = 10 * time.Second

// Pool runs requests on a bounded number of goroutines, with a bounded queue before them. Goroutines are started on
// demand and end when they have been idle for 10 s. A pool may serve several processors of one server, which owns and
// closes it.
type Pool struct {
	name    string
	workers int
	limit   int
	wg      sync.WaitGroup

	mu      sync.Mutex // guards the fields below
	queue   []func()   // not empty only when all workers are at work
	running int        // goroutines
	idle    []*worker  // those of them that wait; the last to come is the first to go
	closed  bool
}

// worker is a goroutine of a pool. next takes one task from whoever removes the worker from the idle ones, and is closed
// when there will be none.
type worker struct{ next chan func() }

// NewPool returns a pool of at most workers goroutines whose queue holds queue requests. It starts nothing. Fewer than
// one worker counts as one.
func NewPool(name string, workers, queue int) *Pool {
	return &Pool{name: name, workers: max(1, workers), limit: queue}
}

// Name returns the name given to NewPool, for metrics.
func (p *Pool) Name() string { return p.name }

// Queued returns how many requests wait for a goroutine.
func (p *Pool) Queued() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.queue)
}

// Busy returns how many requests are being executed.
func (p *Pool) Busy() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.running - len(p.idle)
}

// submit has a task run, now or when a worker is free, and reports whether there was room for it.
func (p *Pool) submit(task func()) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.closed:
		return false
	case len(p.idle) > 0:
		last := len(p.idle) - 1
		p.idle[last].next <- task // has room: an idle worker has no other
		p.idle = p.idle[:last]
	case p.running < p.workers:
		p.running++
		p.wg.Go(func() { p.work(task) })
	case len(p.queue) < p.limit:
		p.queue = append(p.queue, task)
	default:
		return false
	}
	return true
}

// work is one worker; submit starts it, close waits for it.
func (p *Pool) work(task func()) {
	w := &worker{next: make(chan func(), 1)}
	linger := time.NewTimer(workerLinger)
	defer linger.Stop()
	for task != nil {
		task()
		if task = p.queued(w); task == nil {
			linger.Reset(workerLinger)
			task = p.await(w, linger)
		}
	}
}

// queued returns the next queued task. When there is none it counts the worker as idle, or as gone when the pool closes.
func (p *Pool) queued(w *worker) func() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.queue) > 0 {
		task := p.queue[0]
		p.queue[0] = nil
		p.queue = p.queue[1:]
		return task
	}
	if p.closed {
		p.running--
		close(w.next)
		return nil
	}
	p.queue = nil
	p.idle = append(p.idle, w)
	return nil
}

// await returns the task that an idle worker is given, nil when it has to end.
func (p *Pool) await(w *worker, linger *time.Timer) func() {
	select {
	case task := <-w.next:
		return task
	case <-linger.C:
	}
	p.retire(w)
	return <-w.next
}

// retire ends a worker that is still idle; one that has just been given a task has to run it.
func (p *Pool) retire(w *worker) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.Index(p.idle, w); i >= 0 {
		p.idle = slices.Delete(p.idle, i, i+1)
		p.running--
		close(w.next)
	}
}

// close refuses further tasks, lets the queued ones run, and waits until all have returned.
func (p *Pool) close() {
	p.mu.Lock()
	p.closed = true
	for _, w := range p.idle {
		p.running--
		close(w.next)
	}
	p.idle = nil
	p.mu.Unlock()
	p.wg.Wait()
}
