package main

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"
	"github.com/xrash/smetrics"
)

// similarTo names the command that was perhaps meant, of those that are shown: one that
// begins so, or differs in a third of its letters at most. The library's own has no such
// bound and finds something similar to everything.
func similarTo(name string, commands []*cli.Command) string {
	best, fewest := "", 0
	for _, command := range commands {
		if command.Hidden || command.Name == name {
			continue
		}
		edits := smetrics.WagnerFischer(name, command.Name, 1, 1, 1)
		if len(name) > 1 && strings.HasPrefix(command.Name, name) {
			edits = 1
		}
		if edits > max(len(name), len(command.Name))/3 {
			continue
		}
		if best == "" || edits < fewest {
			best, fewest = command.Name, edits
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", best)
}
