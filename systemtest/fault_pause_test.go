package systemtest_test

import (
	"syscall"
	"testing"
	"time"

	"namesrv/internal/rocketmq"
	"namesrv/systemtest/chaos/lab"
)

// TestStoppedLeaderExpiresNobody promises that a leader which stood still for longer than any broker's timeout, while
// the brokers renewed at the others, removes none of them when it goes on, and that nobody else does meanwhile.
func TestStoppedLeaderExpiresNobody(t *testing.T) {
	mostlyWaits(t)
	c := startCluster(t)
	leader, others := leaderOf(t, c)
	brokers := lab.NewBrokers("paused", 12, shortTimeout)
	fleet(t, c, brokers, 2*time.Second, others[0].Client, others[1].Client)
	seen := watch(t, brokers, c.Clients()...)

	signal(t, leader, syscall.SIGSTOP)
	waitFor(t, lasting(shortTimeout+time.Second, 3*time.Minute))
	signal(t, leader, syscall.SIGCONT)
	waitFor(t, lasting(scanEvery+time.Second, time.Minute)) // at least one scan
	ready(t, c)
	seen()
	for _, n := range c.Nodes {
		shows(t, n, time.Second, brokers...)
	}
}

// TestResumedLeaderAnswersNothingStale promises that a leader which did not see that it was replaced gives no answer
// from before: the first answers after it goes on show what was written meanwhile, or are errors.
func TestResumedLeaderAnswersNothingStale(t *testing.T) {
	c := startCluster(t)
	for round := range lastingRounds() {
		old, others := leaderOf(t, c)
		put(t, old.Client, "value", "old")
		conn := dial(t, old.Client)
		signal(t, old, syscall.SIGSTOP)
		leaderOf(t, c, old)
		put(t, others[0].Client, "value", "new")

		answers := make(chan *rocketmq.Frame, 50)
		for range cap(answers) { // they wait in its socket when it goes on
			go func() {
				answer, err := conn.Call(within(t, 10*time.Second), rocketmq.GetKV("fault", "value"))
				if err != nil {
					answer = &rocketmq.Frame{Code: -1, Remark: err.Error()}
				}
				answers <- answer
			}()
		}
		waitFor(t, 50*time.Millisecond)
		signal(t, old, syscall.SIGCONT)
		good := 0
		for range cap(answers) {
			switch answer := <-answers; {
			case answer.Code == rocketmq.Success && answer.Fields["value"] != "new":
				t.Errorf("round %d: the resumed leader says %q", round, answer.Fields["value"])
			case answer.Code == rocketmq.Success:
				good++
			case answer.Code == rocketmq.QueryNotFound:
				t.Errorf("round %d: the resumed leader denies a key", round)
			}
		}
		t.Logf("round %d: %d of %d questions were answered with the new value, the others refused", round, good, cap(answers))
		ready(t, c)
	}
}

func lastingRounds() int {
	if long() {
		return 20
	}
	return 2
}

// put stores a value in the namespace of these tests and fails the test when that is not acknowledged in time.
func put(t *testing.T, addr, key, value string) {
	t.Helper()
	eventually(t, 10*time.Second, "put at "+addr, func() error {
		answer, err := tryCall(t.Context(), addr, rocketmq.PutKV("fault", key, value), 3*time.Second)
		return refusal(answer, err)
	})
}
