package main

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"
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
		edits := editDistance(name, command.Name)
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

// editDistance counts the letters that must be put in, taken out or changed to make one
// word of another (Levenshtein).
func editDistance(from, to string) int {
	row := make([]int, len(to)+1)
	for i := range row {
		row[i] = i
	}
	for i := range len(from) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(to) {
			changed := diagonal
			if from[i] != to[j] {
				changed++
			}
			diagonal = row[j+1]
			row[j+1] = min(changed, row[j]+1, diagonal+1)
		}
	}
	return row[len(to)]
}
