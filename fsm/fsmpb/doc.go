// Package fsmpb is the generated form of fsm.proto: what package fsm writes into
// the Raft log and into snapshots. It holds data only; package fsm alone reads
// and writes it, and checks what the schema cannot say.
package fsmpb
