package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode"

	"github.com/urfave/cli/v2"
)

// The values of -o.
const (
	outputTable = "table"
	outputJSON  = "json"
)

func outputFlag() cli.Flag {
	return withEnvironment([]cli.Flag{
		&cli.StringFlag{Name: flagOutput, Aliases: []string{"o"}, Usage: "`FORMAT` of what is printed: table, or json for scripts", Value: outputTable},
	})[0]
}

func checkOutput(c *cli.Context) error {
	switch output := c.String(flagOutput); output {
	case outputTable, outputJSON, "":
		return nil
	default:
		return usagef(c, "-o %q: use table or json", output)
	}
}

// show prints a value as JSON, or what table writes.
func show(c *cli.Context, value any, table func(w io.Writer)) error {
	if c.String(flagOutput) == outputJSON {
		encoder := json.NewEncoder(c.App.Writer)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		return encoder.Encode(value)
	}
	w := &checkedWriter{w: c.App.Writer}
	table(w)
	return w.err
}

// checkedWriter keeps the first error, so that a table need not look at each.
type checkedWriter struct {
	w   io.Writer
	err error
}

func (c *checkedWriter) Write(p []byte) (int, error) {
	if c.err != nil {
		return 0, c.err
	}
	n, err := c.w.Write(p)
	c.err = err
	return n, err
}

// columns prints rows under a heading, or without one when heading is nil.
func columns(w io.Writer, heading []string, rows [][]string) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if heading != nil {
		fmt.Fprintln(table, strings.Join(heading, "\t"))
	}
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, text := range row {
			cells[i] = cell(text)
		}
		fmt.Fprintln(table, strings.Join(cells, "\t"))
	}
	_ = table.Flush() // its writer keeps the error
}

// cell makes text fit for a terminal: names come from anyone who can reach the
// client port.
func cell(text string) string {
	switch {
	case text == "":
		return "-"
	case strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }):
		return strconv.Quote(text)
	}
	return text
}

func yesNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}

func number[T int | int32 | int64 | uint64](n T) string { return fmt.Sprint(n) }

// quantity is a number of things, one or many.
func quantity(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

func countedKeys(keys, namespaces int) string {
	return quantity(keys, "key", "keys") + " of " + quantity(namespaces, "namespace", "namespaces")
}

func joinLines(lines []string) string { return strings.Join(lines, "; ") }
