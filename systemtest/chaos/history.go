package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"
)

// input is what a client asked.
type input struct {
	op    string // put, get, delete; register, unregister, route
	key   string // of the KV table, or a broker's name: each has a history of its own
	value string // put or registered
	maybe bool   // an unregistration that need not find anything that it may remove
}

// output is what it was answered. A get or route that found nothing has value "".
type output struct {
	value   string
	unknown bool // no answer, or one that says so: the operation may have had its effect at any time since
}

// history holds the operations of all clients.
type history struct {
	began time.Time

	mu     sync.Mutex // guards the fields below
	ops    map[string][]porcupine.Operation
	counts map[string]*tally
}

// tally counts the outcomes of one sort of operation.
type tally struct{ done, refused, unknown int }

func newHistory() *history {
	return &history{began: time.Now(), ops: map[string][]porcupine.Operation{}, counts: map[string]*tally{}}
}

func (h *history) now() int64 { return int64(time.Since(h.began)) }

// verdict on one call, as its caller found it.
type outcome int

const (
	done    outcome = iota
	refused         // surely without effect
	unknown
)

// add takes one operation that began at call and ended now.
func (h *history) add(client int, call int64, in input, value string, how outcome) {
	end := h.now()
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.counts[in.op]
	if c == nil {
		c = &tally{}
		h.counts[in.op] = c
	}
	read := in.op == "get" || in.op == "route"
	switch how {
	case done:
		c.done++
	case refused:
		c.refused++
		return
	case unknown:
		c.unknown++
		end = math.MaxInt64
		if read {
			return // a question without an answer says nothing
		}
	}
	h.ops[in.key] = append(h.ops[in.key], porcupine.Operation{ClientId: client, Input: in, Call: call, Output: output{value: value, unknown: how == unknown}, Return: end})
}

// register is the sequential rule of one key or one broker: a value, "" for none.
var register = porcupine.NondeterministicModel{
	Init:  func() []any { return []any{""} },
	Step:  func(state, in, out any) []any { return step(state.(string), in.(input), out.(output)) },
	Equal: func(a, b any) bool { return a == b },
}

func step(state string, in input, out output) (next []any) {
	switch in.op {
	case "get", "route":
		if out.value == state {
			return []any{state}
		}
		return nil
	case "put", "register":
		return []any{in.value}
	}
	if in.maybe {
		return []any{"", state}
	}
	return []any{""}
}

// judged is what came of all histories.
type judged struct {
	keys, ops int
	undecided []string
	broken    []string
}

// judge looks at each key on its own; together they may take as long as limit.
func (h *history) judge(limit time.Duration) judged {
	var j judged
	model := register.ToModel()
	end := time.Now().Add(limit)
	for _, key := range slices.Sorted(mapKeys(h.ops)) {
		ops := h.ops[key]
		j.keys++
		j.ops += len(ops)
		switch porcupine.CheckOperationsTimeout(model, ops, max(time.Until(end), time.Millisecond)) {
		case porcupine.Illegal:
			j.broken = append(j.broken, fmt.Sprintf("no order of these operations explains the answers about %s:\n%s", key, describe(ops)))
		case porcupine.Unknown:
			j.undecided = append(j.undecided, key)
		}
	}
	return j
}

func describe(ops []porcupine.Operation) string {
	slices.SortFunc(ops, func(a, b porcupine.Operation) int { return int(a.Call - b.Call) })
	var text strings.Builder
	for _, op := range ops {
		in, out := op.Input.(input), op.Output.(output)
		end := fmt.Sprintf("%.4f", time.Duration(op.Return).Seconds())
		if out.unknown {
			end = "?"
		}
		fmt.Fprintf(&text, "  %.4f..%s client %d: %s %q -> %q", time.Duration(op.Call).Seconds(), end, op.ClientId, in.op, in.value, out.value)
		if in.maybe {
			text.WriteString(" (may have meant nothing)")
		}
		text.WriteString("\n")
	}
	return text.String()
}
