package systemtest_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"namesrv/internal/rocketmq"
	"namesrv/systemtest"
)

// backupSummary is what save and inspect print of a backup.
type backupSummary struct {
	Cluster      string `json:"cluster"`
	Index        uint64 `json:"index"`
	Size         int    `json:"size"`
	Topics       int    `json:"topics"`
	QueueEntries int    `json:"queue_entries"`
	Brokers      int    `json:"brokers"`
	Addresses    int    `json:"addresses"`
	Namespaces   int    `json:"namespaces"`
	Digest       string `json:"digest"`
}

func parsed[T any](t *testing.T, text string) (value T) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return value
}

// save backs up the tables as one peer has them.
func save(t *testing.T, at *systemtest.Node, file string) backupSummary {
	t.Helper()
	return parsed[backupSummary](t, mustCommand(t, at, "snapshot", "save", file, "-o", "json"))
}

// inspect looks into a backup and asks nobody.
func inspect(t *testing.T, file string) backupSummary {
	t.Helper()
	code, stdout, stderr := run(t, "snapshot", "inspect", file, "-o", "json")
	if code != 0 {
		t.Fatalf("inspect: exit code %d: %s", code, stderr)
	}
	return parsed[backupSummary](t, stdout)
}

// digest is the digest of the tables of one peer.
func digest(t *testing.T, n *systemtest.Node) string {
	t.Helper()
	return save(t, n, filepath.Join(t.TempDir(), "x.save")).Digest
}

// equalTables checks that all peers hold the same tables, which must not change meanwhile, and returns their digest.
func equalTables(t *testing.T, nodes ...*systemtest.Node) string {
	t.Helper()
	first := digest(t, nodes[0])
	for _, n := range nodes[1:] {
		if other := digest(t, n); other != first {
			t.Errorf("the tables of %s (%s) have digest %s, those of %s (%s) %s", nodes[0].ID, nodes[0].Client, first, n.ID, n.Client, other)
		}
	}
	return first
}

// fillWith registers brokers that all have the same topics, each on a connection of its own that stays, and puts a key.
func fillWith(t *testing.T, c *systemtest.Cluster, brokers, topics int) []string {
	t.Helper()
	names := make([]string, topics)
	for i := range names {
		names[i] = fmt.Sprintf("saved-topic-%05d", i)
	}
	for i := range brokers {
		b := rocketmq.Registration{Cluster: "saved", Broker: fmt.Sprintf("saved-b%03d", i), Addr: fmt.Sprintf("10.7.%d.%d:10911", i/250, i%250+1),
			Topics: names, Counter: 1, TimeoutMS: 3600000}
		conn := dial(t, c.Nodes[i%len(c.Nodes)].Client)
		eventually(t, time.Minute, b.Broker, func() error { // so much at once may cost a busy machine its leader
			return refusal(conn.Call(within(t, time.Minute), b.Frame()))
		})
	}
	put(t, c.Nodes[0].Client, "saved", "kept")
	return names
}
