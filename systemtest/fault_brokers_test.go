package systemtest_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"namesrv/internal/rocketmq"
	"namesrv/systemtest/chaos/lab"
)

// TestPeerWithTheNewestRegistrationDies promises that the death of a peer is not the death of a broker that was
// connected to that one only: it stays until it has been silent for its own time.
func TestPeerWithTheNewestRegistrationDies(t *testing.T) {
	mostlyWaits(t)
	c := startCluster(t)
	for _, leads := range []bool{true, false} {
		t.Run(fmt.Sprintf("leader %v", leads), func(t *testing.T) {
			ready(t, c)
			victim, others := leaderOf(t, c)
			if !leads {
				victim, others[0] = others[0], victim
			}
			b := lab.NewBrokers(fmt.Sprintf("widow%v", leads), 1, 2*time.Minute)[0]
			must(t, dial(t, victim.Client), b.Frame())
			for _, n := range others {
				shows(t, n, 5*time.Second, b)
			}
			seen := watch(t, []rocketmq.Registration{b}, clientsBut(c, victim)...)
			victim.Kill()
			waitFor(t, lasting(8*time.Second, 90*time.Second)) // scans, and a new leader
			seen()
			if err := victim.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			shows(t, victim, 5*time.Second, b)
		})
	}
}

// TestAllConnectionsLostForAMoment promises that a broker which lost its connections to all peers, and is back at one of
// them at once, is on all of them in the end, and stays.
func TestAllConnectionsLostForAMoment(t *testing.T) {
	mostlyWaits(t)
	c := startCluster(t)
	b := lab.NewBrokers("moment", 1, 2*time.Minute)[0]
	for turn := range 3 {
		conns := dialEach(t, c)
		for _, conn := range conns {
			must(t, conn, b.Frame())
		}
		for _, conn := range conns {
			conn.Close()
		}
		waitFor(t, 200*time.Millisecond)
		back := dial(t, c.Nodes[turn].Client)
		must(t, back, b.Frame())
		answered := time.Now()
		seen := watch(t, []rocketmq.Registration{b}, c.Clients()...)
		waitFor(t, 2*time.Second) // reports of the ends come within a second
		seen()
		t.Logf("back at %s, there for %v", c.Nodes[turn].ID, time.Since(answered).Round(time.Millisecond))
	}
}

// TestTwoBrokersUnderOneID promises that while two processes claim one broker id, each registering at another peer, all
// peers show the one that was acknowledged last, and never both.
func TestTwoBrokersUnderOneID(t *testing.T) {
	c := startCluster(t)
	first := lab.NewBrokers("split", 1, 2*time.Minute)[0]
	second := first
	second.Addr = "10.9.203.2:10911"
	claims := []struct {
		conn *rocketmq.Conn
		r    rocketmq.Registration
	}{{dial(t, c.Nodes[0].Client), first}, {dial(t, c.Nodes[1].Client), second}}
	for turn := range 20 {
		mine, other := claims[turn%2], claims[(turn+1)%2]
		must(t, mine.conn, mine.r.Frame())
		for _, n := range c.Nodes {
			body := ask(t, n.Client, rocketmq.RouteOf(first.Topics[0], 513)).Body
			if err := has(body, mine.r.Addr); err != nil {
				t.Fatalf("turn %d: %s does not show the owner that was acknowledged: %v", turn, n.ID, err)
			}
			if err := lacks(body, other.r.Addr); err != nil {
				t.Fatalf("turn %d: %s shows two owners: %v", turn, n.ID, err)
			}
		}
	}
}

// TestStopUnderQuestions promises that a peer which is told to stop with questions under way denies nothing, cuts no
// answer in the middle, and ends; the others answer on.
func TestStopUnderQuestions(t *testing.T) {
	const connections = 200
	c := startCluster(t)
	brokers := lab.NewBrokers("stopping", 4, 2*time.Minute)
	fleet(t, c, brokers, time.Second, c.Clients()...)
	victim, _ := leaderOf(t, c)
	q := &questions{stop: make(chan struct{})}
	for i := range connections {
		q.ask(t, victim.Client, brokers[i%len(brokers)].Topics[0])
	}
	waitFor(t, 300*time.Millisecond)
	seen := watch(t, brokers, clientsBut(c, victim)...)
	signal(t, victim, syscall.SIGTERM)
	told := time.Now()
	close(q.stop)
	q.wg.Wait()
	if code, err := victim.Process().ExitCode(within(t, 15*time.Second)); code != 0 || err != nil {
		t.Errorf("it ended with code %d, %v", code, err)
	}
	t.Logf("it ended after %v; %d answers, %d refusals, %d questions that nobody read",
		time.Since(told).Round(time.Millisecond), q.good.Load(), q.refused.Load(), q.unread.Load())
	if q.good.Load() < connections {
		t.Errorf("only %d answers over %d connections", q.good.Load(), connections)
	}
	seen()
}

// questions are asked over many connections, one after the other on each, until stop and once more.
type questions struct {
	stop                  chan struct{}
	wg                    sync.WaitGroup
	good, refused, unread atomic.Int64
}

func (q *questions) ask(t *testing.T, addr, topic string) {
	t.Helper()
	var d net.Dialer
	conn, err := d.DialContext(t.Context(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	q.wg.Go(func() {
		defer conn.Close()
		for ended := false; !ended; {
			select {
			case <-q.stop:
				ended = true // one more is under way while the peer stops
			default:
			}
			switch answer, err := exchange(conn, rocketmq.RouteOf(topic, 513)); {
			case errors.Is(err, io.ErrUnexpectedEOF):
				t.Errorf("an answer was cut: %v", err)
				return
			case err != nil:
				q.unread.Add(1) // it was sent when nobody read any more
				return
			case answer.Code == rocketmq.Success:
				q.good.Add(1)
			case answer.Code == rocketmq.TopicNotExist:
				t.Errorf("a peer that stops denies a topic: %+v", answer)
				return
			default:
				q.refused.Add(1)
			}
		}
	})
}
