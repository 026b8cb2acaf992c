// Package cluster is one member of a Raft group of name servers.
//
// It proposes commands (here, or with one hop to the leader), confirms that what
// this peer shows is not older than the question ([Node.Confirm]), forms a group,
// keeps its log and snapshots on disk, and tells when this peer leads. Commands
// and results are opaque bytes: it does not know the name server's tables, the
// RocketMQ protocol, or who is registered.
//
// # On the disk
//
// The data directory holds identity.json (node id, member id, cluster UUID),
// raft.db (log and term, bbolt) and snapshots/. The member id is the node id
// plus a random id made with the directory: an emptied disk is another member
// and can never vote with a shorter log under the old name.
//
// # On the peer port
//
// Every connection starts with one kind byte ('R' Raft, 'C' commands) and a
// length-prefixed Hello {version, cluster UUID, sender, intended receiver} that
// is answered by a HelloReply. After that an R connection is what Raft's network
// transport makes of it, and a C connection carries frames of
// {length, id, kind, milliseconds left, payload}, many at once. Nothing is
// believed before the handshake; an empty UUID or receiver is allowed for the
// form and admit exchanges only.
//
// # Feature level
//
// Each handshake tells the newest feature level that a binary knows. Once all voters
// of a complete cluster know a higher one than it has, the leader logs it; it never
// goes down. A command that asks for more than the level is refused with
// [ErrTooNew] before it is logged, so that peers can be upgraded one after another;
// a binary that knows less than the level is let in by nobody, and stops where its
// own log says so. An entry of a kind that a binary does not know stops it, unless
// the entry says that it may be skipped.
//
// # Concurrency
//
// All methods of a Node may be called from any goroutine. Apply, Snapshot and
// Restore of the StateMachine are called from one goroutine, one at a time;
// writing a snapshot runs beside later Apply calls. Config.Lead runs in its own
// goroutine, never twice at once. Nothing here holds a lock while it waits for
// the network, the disk or a callback.
package cluster
