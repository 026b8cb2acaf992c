package nameserver

import (
	"testing"
	"time"

	"namesrv/cluster/liveness"
)

// TestClockKeepsTimeBetweenScans promises that a leader whose scans are far apart, and to which nobody reports, does not
// take the time between two of them for one in which it stood still: brokers that are silent would never go.
func TestClockKeepsTimeBetweenScans(t *testing.T) {
	t.Parallel() // the time that passes is what this is about
	r := newLedRig(t)
	for end := time.Now().Add(10 * time.Second); r.clock.current() == nil; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("no clock")
		}
	}
	passes := time.NewTimer(4 * liveness.Beat)
	defer passes.Stop()
	<-passes.C
	if moved := r.clock.current().Scan(r.lead.Node.MemberIDs()).Moved; moved >= 2*liveness.Beat {
		t.Errorf("%v of 4 s count as if the process had not run", moved)
	}
}
