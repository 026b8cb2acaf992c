package systemtest_test

import (
	"testing"
	"time"

	"namesrv/systemtest"
	"namesrv/systemtest/chaos/lab"
)

// TestWallClockStep promises that a wall clock that jumps by an hour, in either direction, at the leader or at another
// peer, removes no broker and holds nothing up.
func TestWallClockStep(t *testing.T) {
	mostlyWaits(t)
	c := startCluster(t)
	brokers := lab.NewBrokers("clock", 12, shortTimeout)
	f := fleet(t, c, brokers, 2*time.Second, c.Clients()...)
	seen := watch(t, brokers, c.Clients()...)
	leader, others := leaderOf(t, c)
	for _, at := range []*systemtest.Node{leader, others[0]} {
		for _, step := range []time.Duration{time.Hour, -2 * time.Hour} { // from one hour ahead to one hour back
			able(t, lab.StepClock(at.Process().Pid(), step))
			stepped := time.Now()
			put(t, others[1].Client, "clock", step.String())
			if took := time.Since(stepped); took > 2*time.Second {
				t.Errorf("a change took %v after a step of %v at %s", took, step, at.ID)
			}
			renewed := f.Renewed()
			waitFor(t, lasting(2500*time.Millisecond, 30*time.Second)) // in full: a scan
			if f.Renewed() == renewed {
				t.Errorf("nobody could renew after a step of %v at %s", step, at.ID)
			}
		}
	}
	waitFor(t, lasting(scanEvery+time.Second, 2*shortTimeout))
	seen()
	if now, _ := leaderOf(t, c); now != leader {
		t.Errorf("%s leads, %s did before", now.ID, leader.ID)
	}
}
