package systemtest_test

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"namesrv/systemtest"
)

// restoreTime is for a restore of the largest tables on a busy machine.
const restoreTime = 2 * time.Minute

// TestBackupIntoANewGroup promises that a backup that was saved at a follower brings all tables into another group:
// every peer of both groups then answers the same. It prints times, the size, and the most memory that a peer used.
func TestBackupIntoANewGroup(t *testing.T) {
	brokers, topics := 5, 1000
	if long() {
		brokers, topics = 100, 10000
	}
	old := startCluster(t)
	begin := time.Now()
	names := fillWith(t, old, brokers, topics)
	t.Logf("%d brokers × %d topics registered in %v", brokers, topics, since(begin))
	leader, followers := leaderOf(t, old)
	t.Logf("most memory of a peer before the save: %d MiB", peakMiB(t, old))

	file := filepath.Join(t.TempDir(), "namesrv.save")
	begin = time.Now()
	saved := save(t, followers[0], file)
	t.Logf("saved at %s, a follower (%s leads), in %v: %d bytes", followers[0].ID, leader.ID, since(begin), saved.Size)
	begin = time.Now()
	if inspected := inspect(t, file); inspected != saved {
		t.Errorf("save says %+v, inspect %+v", saved, inspected)
	}
	t.Logf("inspected in %v", since(begin))
	if saved.Topics != topics || saved.Brokers != brokers || saved.Addresses != brokers || saved.QueueEntries != brokers*topics || saved.Namespaces != 1 {
		t.Errorf("the backup holds %+v", saved)
	}

	fresh := startCluster(t)
	_, followers = leaderOf(t, fresh)
	refusedCommand(t, followers[0], 1, []string{"of cluster", saved.Cluster, "--force"}, "snapshot", "restore", file)
	begin = time.Now()
	mustCommand(t, followers[0], "snapshot", "restore", file, "--force", "--timeout", restoreTime.String())
	t.Logf("restored into a new group in %v", since(begin))

	all := slices.Concat(old.Nodes, fresh.Nodes)
	if got := equalTables(t, all...); got != saved.Digest {
		t.Errorf("digest %s, the backup has %s", got, saved.Digest)
	}
	sameBodies(t, slices.Concat(old.Clients(), fresh.Clients()), []string{names[0], names[topics/2], names[topics-1]})
	for _, n := range all {
		holds(t, n, "saved")
	}
	t.Logf("most memory of a peer: %d MiB of the old group, which saved, %d MiB of the new one, which restored", peakMiB(t, old), peakMiB(t, fresh))
	restoredIsKept(t, fresh, saved.Digest)
}

// restoredIsKept restarts all peers of a group at once and looks for what was restored.
func restoredIsKept(t *testing.T, c *systemtest.Cluster, want string) {
	t.Helper()
	c.Kill()
	begin := time.Now()
	if err := c.Start(within(t, restoreTime)); err != nil {
		t.Fatal(err)
	}
	t.Logf("all peers killed and started again in %v", since(begin))
	if got := equalTables(t, c.Nodes...); got != want {
		t.Errorf("digest %s after a restart of all peers, want %s", got, want)
	}
}

func since(begin time.Time) time.Duration { return time.Since(begin).Round(time.Millisecond) }

// peakMiB is the most memory that any peer of a group ever had.
func peakMiB(t *testing.T, c *systemtest.Cluster) int {
	t.Helper()
	peak := 0
	for _, n := range c.Nodes {
		b, err := systemtest.PeakResidentBytes(n.Process().Pid())
		if err != nil {
			t.Fatal(err)
		}
		peak = max(peak, b)
	}
	return peak >> 20
}
