package fsm

import "google.golang.org/protobuf/encoding/protowire"

const (
	// Level is the newest version of commands that this binary applies. It grows by
	// one with each change after which an older binary would not know some command.
	Level = 1

	// firstVersion is that of the commands that every binary knows.
	firstVersion = 1
)

// Numbers of the fields of a command that Needs reads.
const (
	fieldVersion   = 1
	fieldIgnorable = 100
)

// Needs returns the version of commands that every voter must know before this one
// is logged: the one it carries. One that may be skipped needs no more than the
// first, and one that cannot be read is for Apply to judge.
//
// Only the outermost fields are looked at, and nothing is copied.
func Needs(command []byte) uint32 {
	needs := uint32(firstVersion)
	for len(command) > 0 {
		number, kind, head := protowire.ConsumeTag(command)
		if head < 0 {
			return needs
		}
		size := protowire.ConsumeFieldValue(number, kind, command[head:])
		if size < 0 {
			return needs
		}
		if value, n := protowire.ConsumeVarint(command[head:]); n > 0 && kind == protowire.VarintType {
			switch {
			case number == fieldVersion:
				needs = max(needs, uint32(value))
			case number == fieldIgnorable && value != 0:
				return firstVersion
			}
		}
		command = command[head+size:]
	}
	return needs
}
