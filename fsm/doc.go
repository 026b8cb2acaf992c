// Package fsm holds the replicated tables of the name server (topics, brokers,
// live addresses, KV, cluster-wide options) and the commands that change them.
//
// It is a pure function of its log: no clock, no I/O beyond the snapshot streams
// it is handed, no goroutine, no log line, no random choice. Times, ids and
// settings come in the command; the same commands at the same indexes give the
// same tables and the same snapshot bytes on every peer. It does not know which
// peer leads, does not decide when an address is too old (it only checks that
// the one who decided saw the newest registration), does not build wire bodies
// and does not send notices; it says which are due.
//
// # Concurrency
//
// [State] and everything reachable from it is immutable: any number of
// goroutines may read it for as long as they like, without locks, and must not
// write through the slices and pointers they get. [FSM.State] and [FSM.Snapshot]
// may be called from any goroutine. [FSM.Apply] and [FSM.RestoreSnapshot] must
// be called by one goroutine at a time, which is how Raft calls them.
//
// # What always holds
//
//   - Every address listed in a [BrokerGroup] has exactly one [Live] entry that
//     names the group and the id, and every live entry is listed: what expires
//     or unregisters is therefore always found, and nothing else can linger.
//   - No group is without an address; a cluster exists while a group names it.
//   - Every queue entry belongs to a group that exists.
//   - A restore that is under way holds no more than it announced; nothing of it
//     shows in the tables before all of it was checked.
//
// # Where this differs from the stock server
//
// The rules are those of RocketMQ's RouteInfoManager, except that
//
//   - a refused registration (single-topic guard, lower state version) leaves no
//     trace in names, clusters, zones or ids;
//   - after a conflict the refused address loses the live entry it may have had
//     together with its listing, since neither would ever expire without the other;
//   - a group's cluster is that of its latest registration, and an address that
//     moved to another cluster or broker name leaves the old one at once;
//   - when an address takes over an id, the live entry of the one before goes;
//   - an unregistration must name the id under which the address is listed;
//   - a slave or DLedger candidate does not take the write bit off the topics of
//     a group whose master is present;
//   - the first registration of a broker name sends no notice, also with id -1;
//   - registering a topic (code 217) is all or nothing;
//   - static mappings go with their broker.
//
// # Stored forms
//
// Commands, results and snapshot records are the messages of fsmpb/fsm.proto. A
// command or record with a field this binary does not know is refused, never
// applied in part; a command that says that it may be skipped is skipped then. Each
// command carries the version it came with ([Needs]), so that a group logs none that
// one of its voters does not know ([Level]). A snapshot is
//
//	magic "NSRVSNAP", format version (4 bytes, big endian), applied index (8 bytes)
//	records: length (varint, never 0), one Record message
//	end: length 0, CRC-32C of all bytes before it (4 bytes, big endian)
//
// # Trade-offs
//
// Tables are immutable radix trees, which read more slowly than a hash map and
// copy a path on each write; in return a snapshot is a pointer and no reader ever
// waits. A topic holds its queues in one sorted slice: a change copies it, but a
// million entries fit in some tens of megabytes because names and settings are
// shared. Removing a broker name looks at every topic.
package fsm
