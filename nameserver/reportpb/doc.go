// Package reportpb holds the report that a peer sends to the leader about its
// brokers' connections, generated from report.proto. Data only; a message may be
// read by many goroutines, or changed by one.
package reportpb

//go:generate protoc --go_out=. --go_opt=paths=source_relative report.proto
