// Package clusterpb holds the messages of the peer port and of the replicated
// log's envelope, generated from cluster.proto. It is data only: it opens
// nothing, starts nothing and keeps no state, so its values follow protobuf's
// own rule (a message may be read by many goroutines, or changed by one).
package clusterpb

//go:generate protoc --go_out=. --go_opt=paths=source_relative cluster.proto
