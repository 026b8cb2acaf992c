package remoting

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestPoolBounds(t *testing.T) {
	p := NewPool("p", 2, 3)
	release := make(chan struct{})
	var ran atomic.Int64
	task := func() { <-release; ran.Add(1) }
	for i := range 5 {
		if !p.submit(task) {
			t.Fatalf("task %d refused", i)
		}
	}
	if p.submit(task) {
		t.Error("a task beyond the bounds was taken")
	}
	if p.Name() != "p" || p.Busy() != 2 || p.Queued() != 3 {
		t.Errorf("%s: %d busy, %d queued", p.Name(), p.Busy(), p.Queued())
	}
	close(release)
	p.close()
	if n := ran.Load(); n != 5 || p.Busy() != 0 || p.Queued() != 0 {
		t.Errorf("%d tasks ran before close returned; %d busy, %d queued", n, p.Busy(), p.Queued())
	}
	if p.submit(task) {
		t.Error("a closed pool took a task")
	}
}

// Whatever the interleaving, a task never waits while a worker could be had.
func TestPoolUsesAllWorkers(t *testing.T) {
	p := NewPool("p", 8, 100)
	defer p.close()
	for range 300 {
		var busy atomic.Int64
		release := make(chan struct{})
		done := make(chan struct{}, 8)
		for range 8 {
			p.submit(func() { busy.Add(1); <-release; done <- struct{}{} })
		}
		eventually(t, "all workers busy", func() bool { return busy.Load() == 8 })
		close(release)
		for range 8 {
			<-done
		}
	}
}

func TestPoolWorkersRetire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPool("p", 4, 10)
		for range 4 {
			p.submit(func() { time.Sleep(time.Second) })
		}
		time.Sleep(2 * time.Second)
		for range 20 { // one worker has something to do from time to time
			p.submit(func() {})
			time.Sleep(workerLinger / 2)
		}
		if n := workers(p); n != 1 {
			t.Errorf("%d workers, want the one that is used", n)
		}
		time.Sleep(2 * workerLinger)
		if n := workers(p); n != 0 {
			t.Errorf("%d workers after a long rest", n)
		}
		done := make(chan struct{})
		p.submit(func() { close(done) })
		<-done
		p.close()
	})
}

// workers returns how many goroutines p has once all have settled.
func workers(p *Pool) int {
	synctest.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.running
}
