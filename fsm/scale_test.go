//go:build !race

// Memory and time say nothing beside the race detector.

package fsm

import (
	"fmt"
	"io"
	"runtime"
	"testing"

	"namesrv/remoting/protocol"
)

const (
	manyBrokers = 100
	manyTopics  = 10_000
)

// fullTable is the registration of one of many brokers that have all topics.
func fullTable(n int) *Registration {
	r := reg(fmt.Sprintf("broker-%03d", n), 0, fmt.Sprintf("192.0.2.%d:10911", n))
	r.Topics = make([]protocol.TopicConfig, manyTopics)
	for i := range r.Topics {
		r.Topics[i] = protocol.TopicConfig{
			Name:          fmt.Sprintf("orders-of-region-%05d", i*7919%manyTopics),
			ReadQueueNums: 8, WriteQueueNums: 8, Perm: 6, SysFlag: int32(i % 4),
		}
	}
	return r
}

func fill(tb testing.TB, brokers int) *world {
	w := newWorld(tb)
	for n := range brokers {
		w.register(fullTable(n))
	}
	return w
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func TestMillionQueueEntriesStaySmall(t *testing.T) {
	before := heap()
	w := fill(t, manyBrokers)
	after := heap()
	if got := w.state().Counts().QueueEntries; got != manyBrokers*manyTopics {
		t.Fatalf("%d queue entries", got)
	}
	const limit = 100 << 20
	if used := after - before; used > limit {
		t.Errorf("%d MiB for a million queue entries, want less than %d", used>>20, limit>>20)
	} else {
		t.Logf("%d MiB", used>>20)
	}
	checkSharing(t, w.state())

	restored := New()
	r, wr := io.Pipe()
	go func() { wr.CloseWithError(w.state().WriteSnapshot(wr, w.index)) }()
	if _, err := restored.RestoreSnapshot(r); err != nil {
		t.Fatal(err)
	}
	checkSharing(t, restored.State())
}

// checkSharing counts the distinct entries in memory: four settings a broker.
func checkSharing(t *testing.T, s *State) {
	t.Helper()
	entries := make(map[*QueueEntry]bool)
	for topic := range s.Topics() {
		for _, e := range topic.Queues {
			entries[e] = true
		}
	}
	if limit := 4 * manyBrokers; len(entries) > limit {
		t.Errorf("%d queue entries in memory, want at most %d", len(entries), limit)
	}
}

func BenchmarkRegister(b *testing.B) {
	w := fill(b, manyBrokers)
	b.Run("unchanged", func(b *testing.B) {
		r, s := fullTable(3), w.state()
		for b.Loop() {
			if _, out := s.Register(r, 1); out.Changed {
				b.Fatal("changed")
			}
		}
	})
	b.Run("one_changed", func(b *testing.B) {
		r, s := fullTable(3), w.state()
		r.Topics[5].Perm = 4
		r.DataVersion.Counter++
		for b.Loop() {
			s.Register(r, 1)
		}
	})
	b.Run("all_changed", func(b *testing.B) {
		r, s := fullTable(3), w.state()
		perms(4)(r)
		r.DataVersion.Counter++
		for b.Loop() {
			s.Register(r, 1)
		}
	})
	b.Run("encode", func(b *testing.B) {
		r := fullTable(3)
		size := 0
		for b.Loop() {
			size = len(EncodeRegister(r))
		}
		b.ReportMetric(float64(size), "bytes")
	})
	b.Run("decode", func(b *testing.B) {
		command := EncodeRegister(fullTable(3))
		for b.Loop() {
			if err := Check(command); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkMillion(b *testing.B) {
	w := fill(b, manyBrokers)
	s := w.state()
	b.Run("unregister", func(b *testing.B) {
		u := unreg(fullTable(3))
		for b.Loop() {
			s.unregister(u)
		}
	})
	b.Run("expire_half", func(b *testing.B) {
		var list []Expired
		for key, l := range s.Lives() {
			if len(list) < manyBrokers/2 {
				list = append(list, Expired{Key: key, Registered: l.Registered})
			}
		}
		for b.Loop() {
			s.expire(list)
		}
	})
	b.Run("touch", func(b *testing.B) {
		l := s.Live("c", "192.0.2.3:10911")
		for b.Loop() {
			s.touch(l.key(), l.Registered, 1)
		}
	})
	b.Run("write_snapshot", func(b *testing.B) {
		for b.Loop() {
			if err := s.WriteSnapshot(io.Discard, 1); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("restore_snapshot", func(b *testing.B) {
		for b.Loop() {
			r, wr := io.Pipe()
			go func() { wr.CloseWithError(s.WriteSnapshot(wr, 1)) }()
			if _, err := New().RestoreSnapshot(r); err != nil {
				b.Fatal(err)
			}
		}
	})
}
