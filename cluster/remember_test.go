package cluster

import (
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"
)

// TestOtherJoinList promises a word about a --join list that was changed since the group was formed, and none about the
// old one, also after the group has grown.
func TestOtherJoinList(t *testing.T) {
	nodes := three(t)
	last := nodes[2]
	list := slices.Sorted(slices.Values(last.cfg.Join))
	eventually(t, "the list was written down", func() bool { return slices.Equal(peek(last.cfg.DataDir).Join, list) })
	n4 := waiting(t, "n4", nil)
	join(t, nodes[0], n4, false)
	wantVoters(t, last, nodes[0], nodes[1], last, n4)
	tests := map[string]struct {
		list []string
		told bool
	}{
		"as it was":           {list, false},
		"in another order":    {[]string{list[2], list[0], list[1]}, false},
		"that of the members": {append(slices.Clone(list), n4.cfg.Advertise), false},
		"another":             {[]string{list[0], list[1], "127.0.0.1:1"}, true},
		"shorter":             {list[:2], true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var text strings.Builder
			n := &Node{cfg: last.cfg, log: hclog.New(&hclog.LoggerOptions{Output: &text}), ctx: t.Context(), machine: last.Node.machine}
			n.cfg.Expect, n.cfg.Join = len(tt.list), tt.list
			id := last.identity()
			n.ids.Store(&id)
			n.rt.Store(last.rt.Load())
			n.compareList()
			if told := strings.Contains(text.String(), "the members count"); told != tt.told {
				t.Errorf("told %v, want %v", told, tt.told)
			}
		})
	}
}
