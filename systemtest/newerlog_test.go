package systemtest_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
	"google.golang.org/protobuf/encoding/protowire"

	"namesrv/internal/rocketmq"
	"namesrv/systemtest"
)

// newerEntry is a log entry with a command of kind 99, as a newer binary might write it: field numbers are those of the
// envelope and of the command in it.
func newerEntry(ignorable bool) []byte {
	command := varint(nil, 1, 2)                                                                                    // version
	command = protowire.AppendBytes(protowire.AppendTag(command, 99, protowire.BytesType), []byte("of the future")) // kind
	if ignorable {
		command = varint(command, 100, 1)
	}
	envelope := varint(varint(nil, 1, 1), 2, 1) // version, kind: a command of the tables
	return protowire.AppendBytes(protowire.AppendTag(envelope, 3, protowire.BytesType), command)
}

func varint(to []byte, field protowire.Number, value uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(to, field, protowire.VarintType), value)
}

// openLog opens the log of a node that does not run.
func openLog(t *testing.T, n *systemtest.Node) *raftboltdb.BoltStore {
	t.Helper()
	log, err := raftboltdb.NewBoltStore(filepath.Join(n.DataDir(), "raft.db"))
	if err != nil {
		t.Fatal(err)
	}
	return log
}

// lastEntry is the newest entry of a log.
func lastEntry(t *testing.T, log *raftboltdb.BoltStore) raft.Log {
	t.Helper()
	var entry raft.Log
	last, err := log.LastIndex()
	if err == nil {
		err = log.GetLog(last, &entry)
	}
	if err != nil {
		t.Fatal(err)
	}
	return entry
}

// appendEntry adds one to the log of a node that does not run, in the term of the one before it.
func appendEntry(t *testing.T, n *systemtest.Node, data []byte) (index uint64) {
	t.Helper()
	log := openLog(t, n)
	defer log.Close()
	last := lastEntry(t, log)
	if err := log.StoreLog(&raft.Log{Index: last.Index + 1, Term: last.Term, Type: raft.LogCommand, Data: data}); err != nil {
		t.Fatal(err)
	}
	return last.Index + 1
}

// TestCommandOfANewerBinary promises that a server which meets a command it does not know ends and says which, and that
// its data directory is as good as before for a binary that knows it; one that says that it may be skipped is skipped.
func TestCommandOfANewerBinary(t *testing.T) {
	n := startNode(t, "newer")
	put(t, n.Client, "before", "kept")
	n.Stop()

	appendEntry(t, n, newerEntry(true))
	if err := n.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	holds(t, n, "before")
	put(t, n.Client, "after", "kept")
	n.Stop()

	index := appendEntry(t, n, newerEntry(false))
	refused(t, n, "log entry", "kind 99", "version 2", "install a newer namesrv")
	refused(t, n, "log entry") // again, and it is still there
	log := openLog(t, n)
	entry := new(raft.Log)
	if err := log.GetLog(index, entry); err != nil || string(entry.Data) != string(newerEntry(false)) {
		t.Errorf("entry %d is %q (%v) after two starts", index, entry.Data, err)
	}
	// What a newer binary would do with it is tested where there are two; here all before it must still be there.
	last := lastEntry(t, log)
	if err := log.DeleteRange(index, last.Index); err != nil {
		t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	if err := n.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	holds(t, n, "before", "after")
}

// holds checks that keys of the namespace of these tests have the value "kept".
func holds(t *testing.T, n *systemtest.Node, keys ...string) {
	t.Helper()
	eventually(t, 10*time.Second, "values of "+n.ID, func() error {
		for _, key := range keys {
			answer, err := tryCall(t.Context(), n.Client, rocketmq.GetKV("fault", key), 3*time.Second)
			if err := refusal(answer, err); err != nil {
				return err
			}
			if value := answer.Fields["value"]; value != "kept" {
				t.Fatalf("%s is %q", key, value)
			}
		}
		return nil
	})
}
