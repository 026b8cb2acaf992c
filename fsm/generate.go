package fsm

// Needs protoc (Debian: protobuf-compiler) and
// go install google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.12.
//
//go:generate protoc --go_out=. --go_opt=paths=source_relative fsmpb/fsm.proto
