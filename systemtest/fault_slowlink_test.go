package systemtest_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"namesrv/internal/rocketmq"
	"namesrv/systemtest"
	"namesrv/systemtest/chaos/lab"
)

const (
	slowMbit    = 20
	slowTopics  = 10_000
	slowBrokers = 10 // each registers again and again with a changed table
)

// bigBroker has so many topics, whose names do not compress to nothing; each registration of another turn differs in one
// of them and in its version.
func bigBroker(i int) rocketmq.Registration {
	name := fmt.Sprintf("big-%d", i)
	r := rocketmq.Registration{Cluster: "big", Broker: name, Addr: fmt.Sprintf("10.9.202.%d:10911", i+1), TimeoutMS: time.Hour.Milliseconds()}
	for t := range slowTopics {
		mixed := uint64(i*slowTopics+t+1) * 0x9e3779b97f4a7c15
		r.Topics = append(r.Topics, fmt.Sprintf("%s-orders-%05d-%08x", name, t, uint32(mixed>>32)))
	}
	return r
}

func (s *slowLink) turn(i, turn int) *rocketmq.Frame {
	r := s.brokers[i]
	r.Counter, r.Queues = int64(turn+1), turn%16+1
	return r.Frame()
}

// slowLink is a group of which one follower has a slow link.
type slowLink struct {
	c       *systemtest.Cluster
	network *lab.Network
	victim  *systemtest.Node
	host    int
	alive   []*systemtest.Node
	brokers []rocketmq.Registration
}

// TestCatchUpOverASlowLink promises that a follower which was down gets all that was registered meanwhile over a link of
// 20 Mbit/s: in about the time that the bytes take, without an election, and with at most one snapshot.
func TestCatchUpOverASlowLink(t *testing.T) {
	turns := 3
	if long() {
		turns = 30
	}
	c, network := networkCluster(t)
	leader, others := leaderOf(t, c)
	s := &slowLink{c: c, network: network, victim: others[0], host: slices.Index(c.Nodes, others[0]), alive: []*systemtest.Node{leader, others[1]}}
	for i := range slowBrokers {
		s.brokers = append(s.brokers, bigBroker(i))
	}
	able(t, network.Slow(s.host, slowMbit))
	s.victim.Kill()
	began := time.Now()
	s.register(t, turns)
	t.Logf("%d changed registrations of %d topics each in %v", turns*slowBrokers, slowTopics, time.Since(began).Round(time.Millisecond))

	term, want := gaugeOf(t, leader, systemtest.MetricTerm), gaugeOf(t, leader, systemtest.MetricLogIndex)
	before, behind := s.received(t), want-s.lastIndexOnDisk(t)
	began = time.Now()
	if err := s.victim.Launch(); err != nil {
		t.Fatal(err)
	}
	eventually(t, 9*time.Minute, "the follower has caught up", func() error {
		applied, err := s.victim.Metric(t.Context(), metricApplied)
		if err == nil && applied < want {
			err = fmt.Errorf("applied %v of %v", applied, want)
		}
		return err
	})
	took, bytes := time.Since(began), s.received(t)-before
	snapshots := s.snapshots(t)
	t.Logf("%v entries behind; caught up in %v with %.1f MB over the link (%.1f Mbit/s of %d), %d snapshots",
		behind, took.Round(time.Millisecond), float64(bytes)/1e6, float64(bytes)*8/1e6/took.Seconds(), slowMbit, snapshots)
	if snapshots > 1 {
		t.Errorf("%d snapshots were sent, want at most one", snapshots)
	}
	if now, _ := leaderOf(t, c); now != leader || gaugeOf(t, leader, systemtest.MetricTerm) != term {
		t.Errorf("%s leads in term %v, before it was %s in term %v", now.ID, gaugeOf(t, now, systemtest.MetricTerm), leader.ID, term)
	}
	if limit := 3*time.Duration(float64(bytes)*8/slowMbit/1e6*float64(time.Second)) + 15*time.Second; took > limit {
		t.Errorf("it took %v, want below %v for so many bytes", took, limit)
	}
	s.check(t, turns)
}

// metricApplied is the index of the last entry that the tables of a peer show.
const metricApplied = "namesrv_raft_applied_index"

func gaugeOf(t *testing.T, n *systemtest.Node, name string) float64 {
	t.Helper()
	value, err := n.Metric(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// register sends each broker's changed tables, one after the other, all brokers at the same time.
func (s *slowLink) register(t *testing.T, turns int) {
	t.Helper()
	var wg sync.WaitGroup
	for i := range s.brokers {
		conn := dial(t, s.alive[i%len(s.alive)].Client)
		wg.Go(func() {
			for turn := range turns {
				ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
				err := refusal(conn.Call(ctx, s.turn(i, turn)))
				cancel()
				if err != nil {
					t.Errorf("registration %d of %s: %v", turn, s.brokers[i].Broker, err)
					return
				}
			}
		})
	}
	wg.Wait()
}

func (s *slowLink) received(t *testing.T) int64 {
	t.Helper()
	n, err := s.network.Received(s.host)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// lastIndexOnDisk is where the log of the stopped follower ends.
func (s *slowLink) lastIndexOnDisk(t *testing.T) float64 {
	t.Helper()
	log := openLog(t, s.victim)
	defer log.Close()
	return float64(lastEntry(t, log).Index)
}

// snapshots is how many the follower was sent.
func (s *slowLink) snapshots(t *testing.T) int {
	t.Helper()
	log, err := os.ReadFile(s.victim.LogFile())
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(log), "Installed remote snapshot")
}

// check compares what the follower shows with the last registrations.
func (s *slowLink) check(t *testing.T, turns int) {
	t.Helper()
	want := fmt.Sprintf(`"readQueueNums":%d,`, (turns-1)%16+1)
	for _, b := range s.brokers {
		eventually(t, 10*time.Second, "the last table of "+b.Broker, func() error {
			answer, err := tryCall(t.Context(), s.victim.Client, rocketmq.RouteOf(b.Topics[0], 513), 3*time.Second)
			if err := refusal(answer, err); err != nil {
				return err
			}
			return has(answer.Body, want)
		})
	}
}
