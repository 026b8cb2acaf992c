package conformance

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"namesrv/internal/rocketmq"
	"namesrv/systemtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	leastAnswers = 400 // compared with each of our two targets
	atOnce       = 6   // scenarios at one target
	fetchTime    = 15 * time.Minute
)

// settingsFile is given to all servers: they look for silent brokers often, and end without cutting connections.
const settingsFile = "scanNotActiveBrokerInterval=500\nenableShutdownGracefully=true\nshutdownWaitTimeSeconds=3\nunknownKeyOfTheFile=kept\n"

// TestConformance promises that whatever is asked, the answer is the stock server's or a listed deviation: at a server
// alone, and with every change made at one follower and every question asked at another peer.
func TestConformance(t *testing.T) {
	needJava(t)
	for _, problem := range tableProblems() {
		t.Error("deviations: " + problem)
	}
	stock, ours := startTargets(t)
	transcripts := map[string][][]line{}
	var mu sync.Mutex // guards transcripts
	var all sync.WaitGroup
	for _, at := range append([]target{stock}, ours...) {
		all.Go(func() {
			lines := runAll(at)
			mu.Lock()
			defer mu.Unlock()
			transcripts[at.name] = lines
		})
	}
	all.Wait()
	used := map[string]int{} // answers that needed a row
	for _, at := range ours {
		t.Run(at.name, func(t *testing.T) {
			c := comparison{used: used}
			for i, s := range scenarios {
				for _, difference := range c.compare(s.name, transcripts[stock.name][i], transcripts[at.name][i]) {
					t.Error(difference)
				}
			}
			t.Logf("%s: %d scenarios, %d answers compared, %d alike, %d in the table of deviations, %d not alike",
				at.name, len(scenarios), c.compared, c.alike, c.listed, c.compared-c.alike-c.listed)
			if c.compared < leastAnswers {
				t.Errorf("%d answers compared, want %d at least", c.compared, leastAnswers)
			}
		})
	}
	for _, d := range deviations {
		if used[d.key] == 0 {
			t.Errorf("deviation %s: no answer needs this row", d.key)
		}
		t.Logf("deviation %s: %d answers: %s", d.key, used[d.key], d.reason)
	}
}

// runAll runs every scenario at one target and gives their transcripts in the order of the list.
func runAll(at target) [][]line {
	lines := make([][]line, len(scenarios))
	for _, phase := range []when{fresh, together, exclusive, aged, last} {
		places := make(chan struct{}, 1)
		if phase == together {
			places = make(chan struct{}, atOnce)
		}
		var running sync.WaitGroup
		for i, s := range scenarios {
			if s.when != phase {
				continue
			}
			places <- struct{}{}
			running.Go(func() {
				lines[i] = s.at(at, i)
				<-places
			})
		}
		running.Wait()
	}
	return lines
}

// comparison counts the answers of one target.
type comparison struct {
	compared, alike, listed int

	used map[string]int // answers that needed a deviation, by its key
}

// compare returns what is not alike and not listed.
func (c *comparison) compare(scenario string, stock, ours []line) []string {
	if len(stock) != len(ours) {
		return []string{fmt.Sprintf("[%s] %d answers from the stock server, %d from ours:\nstock %s\nours  %s", scenario, len(stock), len(ours), tail(stock), tail(ours))}
	}
	var differences []string
	for i, want := range stock {
		c.compared++
		got := ours[i]
		if want.label == got.label && want.text == got.text {
			c.alike++
			continue
		}
		at := slices.IndexFunc(deviations, func(d deviation) bool {
			return want.label == got.label && d.covers(scenario, want.label, want.text, got.text)
		})
		if at >= 0 {
			c.listed++
			c.used[deviations[at].key]++
			continue
		}
		a, b := whereDifferent(want.text, got.text)
		differences = append(differences, fmt.Sprintf("[%s] %s\nstock %s %s\nours  %s", scenario, got.label, a, want.exception, b))
	}
	return differences
}

// whereDifferent leaves out what two answers have in common, but for what stands around the difference.
func whereDifferent(a, b string) (string, string) {
	const around = 60
	start := 0
	for start < min(len(a), len(b)) && a[start] == b[start] {
		start++
	}
	end := 0
	for end < min(len(a), len(b))-start && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	part := func(s string) string {
		from, to := max(0, start-around), min(len(s), len(s)-end+around)
		return strings.Repeat("…", min(1, from)) + s[from:to] + strings.Repeat("…", min(1, len(s)-to))
	}
	return part(a), part(b)
}

func tail(lines []line) string {
	if len(lines) == 0 {
		return "nothing"
	}
	end := lines[len(lines)-1]
	return end.label + ": " + end.text
}

// startTargets starts the stock server, one of ours alone, and a group of three, all with the same settings.
func startTargets(t *testing.T) (stock target, ours []target) {
	t.Helper()
	binary, err := systemtest.Build(within(t, 10*time.Minute), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "namesrv.properties")
	if err := os.WriteFile(file, []byte(settingsFile), 0o644); err != nil {
		t.Fatal(err)
	}
	var group, alone target
	var all sync.WaitGroup
	var errs [3]error
	all.Go(func() { stock, errs[0] = startStock(t) })
	all.Go(func() { alone, errs[1] = startAlone(t, binary, file) })
	all.Go(func() { group, errs[2] = startGroup(t, binary, file) })
	all.Wait()
	if err := errors.Join(errs[:]...); err != nil {
		t.Fatal(err)
	}
	return stock, []target{alone, group}
}

func startStock(t *testing.T) (target, error) {
	s, err := rocketmq.StartStock(within(t, time.Minute), rocketmq.StockConfig{Dir: t.TempDir(), Properties: strings.Fields(settingsFile)})
	if err != nil {
		return target{}, err
	}
	t.Cleanup(s.Kill)
	return target{name: "stock", write: s.Addr, read: s.Addr, stop: func() { _ = syscall.Kill(s.Pid(), syscall.SIGTERM) }}, nil
}

func startAlone(t *testing.T, binary, file string) (target, error) {
	n, err := systemtest.NewNode(binary, "alone", t.TempDir(), "-c", file)
	if err != nil {
		return target{}, err
	}
	t.Cleanup(n.Kill)
	return target{name: "single", write: n.Client, read: n.Client, stop: polite(n)}, n.Start(within(t, time.Minute))
}

func startGroup(t *testing.T, binary, file string) (target, error) {
	c, err := systemtest.NewCluster(binary, t.TempDir(), 3, "-c", file)
	if err != nil {
		return target{}, err
	}
	t.Cleanup(c.Kill)
	ctx := within(t, time.Minute)
	if err := c.Start(ctx); err != nil {
		return target{}, err
	}
	leader, followers, err := c.Leader(ctx)
	if err != nil {
		return target{}, fmt.Errorf("leader %v: %w", leader, err)
	}
	return target{name: "followers", write: followers[0].Client, read: followers[1].Client, stop: polite(followers[0])}, nil
}

func polite(n *systemtest.Node) func() {
	return func() { _ = syscall.Kill(n.Process().Pid(), syscall.SIGTERM) }
}

// needJava skips the test where Java or Maven is missing, or fails it where skipping is not allowed, and makes sure of
// the artifacts.
func needJava(t *testing.T) {
	t.Helper()
	if missing := rocketmq.Missing(); missing != "" {
		if os.Getenv("NAMESRV_SYSTEMTEST") == "1" {
			t.Fatal("not installed: " + missing)
		}
		t.Skip("not installed: " + missing)
	}
	if _, err := rocketmq.Artifacts(within(t, fetchTime), rocketmq.V550); err != nil {
		t.Fatal(err)
	}
}

func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// rowKey finds the key of a row in the table for people.
var rowKey = regexp.MustCompile("(?m)^\\| `([a-z0-9-]+)` \\|")

// TestDeviationsAreDocumented promises that the table for people has the same rows, each with every column filled.
func TestDeviationsAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/deviations.md")
	if err != nil {
		t.Fatal(err)
	}
	var documented, listed []string
	for _, found := range rowKey.FindAllStringSubmatch(string(text), -1) {
		documented = append(documented, found[1])
	}
	for _, d := range deviations {
		listed = append(listed, d.key)
	}
	slices.Sort(documented)
	slices.Sort(listed)
	if !slices.Equal(documented, listed) {
		t.Errorf("rows of docs/deviations.md: %q\nrows of the comparison:    %q", documented, listed)
	}
	if strings.Contains(string(text), "|  |") || strings.Contains(string(text), "| |") {
		t.Error("docs/deviations.md has an empty column")
	}
}
