package fsm

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"namesrv/fsm/fsmpb"
)

// later is a command of a newer binary: of a kind that the schema lacks.
func later(version uint32, ignorable bool) []byte {
	known := marshal(&fsmpb.Command{Version: version, Ignorable: ignorable})
	return protowire.AppendBytes(protowire.AppendTag(known, 99, protowire.BytesType), []byte("payload"))
}

func TestNeeds(t *testing.T) {
	for _, tc := range []struct {
		name    string
		command []byte
		want    uint32
	}{
		{"of the first version", EncodeDeleteKV("n", "k"), 1},
		{"compressed", EncodeRegister(reg("x", 0, "A", topics(manyNames(200)...))), 1},
		{"newer", later(7, false), 7},
		{"newer, may be skipped", later(7, true), 1},
		{"without a version", later(0, false), 1},
		{"nothing", nil, 1},
		{"not a message", []byte("\xff\xff\xff"), 1},
		{"cut short", later(7, false)[:3], 7},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := Needs(tc.command); got != tc.want {
				t.Errorf("%d, want %d", got, tc.want)
			}
		})
	}
}

func manyNames(count int) (names []string) {
	for i := range count {
		names = append(names, strings.Repeat("n", i+1))
	}
	return names
}

func TestCommandThatMayBeSkipped(t *testing.T) {
	w := newWorld(t)
	w.apply(EncodePutKV("n", "k", "v"))
	before := w.f.State()
	for name, command := range map[string][]byte{"newer": later(Level+1, true), "unknown kind": later(Level, true)} {
		w.apply(command)
		if w.f.State() != before {
			t.Errorf("%s: a skipped command changed the tables", name)
		}
	}
	w.apply(EncodePutKV("n", "k", "after"))
	if v, _ := w.f.State().KV("n", "k"); v != "after" {
		t.Errorf("value %q after commands that were skipped", v)
	}
}

func TestUnknownCommandSaysWhich(t *testing.T) {
	err := Check(later(Level+1, false))
	if !errors.Is(err, ErrUnknownCommand) {
		t.Fatal(err)
	}
	for _, want := range []string{"kind 99", fmt.Sprint("version ", Level+1), "install a newer namesrv"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %q", err, want)
		}
	}
}
