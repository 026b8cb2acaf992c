package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"text/tabwriter"
	"time"
)

// Rows of the table besides the workloads.
const (
	rowStart  = "start to first answer (ms)"
	rowEmpty  = "memory when empty (MiB)"
	rowMemory = "memory with the large tables (MiB)"
	rowFill   = "registering the large tables (s)"
)

// results are the figures of all measurements, by row and system.
type results struct {
	order  []string // rows as they first came
	values map[string]map[string][]float64
	p99    map[string]map[string][]float64 // in microseconds, of the rows that are rates
	cpu    map[string]map[string][]float64 // likewise, for an answer
}

func (r *results) add(row, system string, value float64) {
	if r.values == nil {
		r.values, r.p99, r.cpu = map[string]map[string][]float64{}, map[string]map[string][]float64{}, map[string]map[string][]float64{}
	}
	if r.values[row] == nil {
		r.values[row], r.p99[row], r.cpu[row] = map[string][]float64{}, map[string][]float64{}, map[string][]float64{}
		r.order = append(r.order, row)
	}
	r.values[row][system] = append(r.values[row][system], value)
}

func (r *results) addRate(row, system string, o outcome) {
	r.add(row, system, o.rate)
	r.p99[row][system] = append(r.p99[row][system], float64(o.p99.Microseconds()))
	r.cpu[row][system] = append(r.cpu[row][system], float64(o.cpu.Nanoseconds())/1e3)
}

// median is 0 when there is no value.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(values))
	if len(s)%2 == 1 {
		return s[len(s)/2]
	}
	return (s[len(s)/2-1] + s[len(s)/2]) / 2
}

func (r *results) of(row, system string) float64 { return median(r.values[row][system]) }

// ratio is the median of a system's figures as multiples of another's of the same round. A machine that grows slower in
// the middle of a run changes it less than the ratio of the medians.
func (r *results) ratio(row, system, to string) float64 {
	values, others := r.values[row][system], r.values[row][to]
	var ratios []float64
	for i := range min(len(values), len(others)) {
		ratios = append(ratios, values[i]/others[i])
	}
	return median(ratios)
}

// print writes the table, and below it the targets that are set for one node.
func (r *results) print(w io.Writer) {
	systems := []string{stock, ours, three, echo}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "median\t")
	for _, s := range systems {
		fmt.Fprintf(t, "%s\t", s)
	}
	fmt.Fprintln(t, "ours : stock\tours : echo\t")
	for _, row := range r.order {
		fmt.Fprintf(t, "%s\t", row)
		for _, s := range systems {
			fmt.Fprintf(t, "%s\t", number(r.of(row, s)))
		}
		fmt.Fprintf(t, "%s\t%s\t\n", ratio(r.ratio(row, ours, stock)), ratio(r.ratio(row, ours, echo)))
		if p99 := r.p99[row]; len(p99) > 0 {
			r.printDetail(t, systems, "its p99", p99, 10*time.Microsecond)
			r.printDetail(t, systems, "its processor time an answer", r.cpu[row], 10*time.Nanosecond)
		}
	}
	t.Flush()
	fmt.Fprintln(w)
	for _, target := range r.targets() {
		fmt.Fprintln(w, target)
	}
}

// printDetail writes a line of times below a row.
func (r *results) printDetail(t io.Writer, systems []string, what string, micros map[string][]float64, unit time.Duration) {
	fmt.Fprintf(t, "%s\t", what)
	for _, s := range systems {
		fmt.Fprintf(t, "%s\t", duration(median(micros[s]), unit))
	}
	fmt.Fprintln(t, "\t\t")
}

// targets compares one node with what is promised of it.
func (r *results) targets() []string {
	loads := workloads()
	deep, wide := loads[0].name, loads[1].name
	verdict := func(what string, got float64, ok bool) string {
		word := "met"
		if !ok {
			word = "MISSED"
		}
		return fmt.Sprintf("%-6s %s: %.2f", word, what, got)
	}
	vsStock, vsEcho := r.ratio(deep, ours, stock), r.ratio(wide, ours, echo)
	all := []string{
		verdict("16 × 16 route queries, times stock, at least 5", vsStock, vsStock >= 5),
		verdict("64 × 1 route queries, share of the bare echo, at least 0.80", vsEcho, vsEcho >= 0.8),
	}
	if r.values[rowMemory] == nil {
		return all
	}
	memory, begin := r.ratio(rowMemory, ours, stock), r.of(rowStart, ours)
	return append(all,
		verdict("memory with the large tables, share of stock, at most 0.25", memory, memory <= 0.25),
		verdict("start from an empty directory in ms, under 300", begin, begin < 300))
}

func number(v float64) string {
	switch {
	case v == 0:
		return "–"
	case v < 100:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 0, 64)
}

func duration(micros float64, unit time.Duration) string {
	if micros == 0 {
		return "–"
	}
	return time.Duration(micros * 1e3).Round(unit).String()
}

func ratio(v float64) string {
	if v == 0 {
		return "–"
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}
