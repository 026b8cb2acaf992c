package systemtest_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"namesrv/internal/rocketmq"
	"namesrv/systemtest"
)

// TestMetricsAreDocumented promises that docs/metrics.md has every metric that a peer of a group shows, with its type
// and its labels, and none that it does not show, and that all of it is text that Prometheus takes.
func TestMetricsAreDocumented(t *testing.T) {
	c := startCluster(t)
	useEverything(t, c)
	documented := documentedMetrics(t)
	for _, n := range c.Nodes {
		text, err := n.Scrape(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		shown := shownMetrics(t, text)
		for _, name := range slices.Sorted(maps.Keys(shown)) {
			switch want, ok := documented[name]; {
			case !ok:
				t.Errorf("node %s shows %s, which docs/metrics.md does not have", n.ID, name)
			case want != shown[name]:
				t.Errorf("node %s shows %s as %v, docs/metrics.md says %v", n.ID, name, shown[name], want)
			}
		}
		for name := range documented {
			if _, ok := shown[name]; !ok {
				t.Errorf("docs/metrics.md has %s, which node %s does not show", name, n.ID)
			}
		}
		promtool(t, text, "check", "metrics")
	}
}

// useEverything makes requests of all kinds, so that nothing that is counted later stays away.
func useEverything(t *testing.T, c *systemtest.Cluster) {
	t.Helper()
	ctx := within(t, 30*time.Second)
	for i, n := range c.Nodes {
		conn := dial(t, n.Client)
		r := rocketmq.Registration{Cluster: "c", Broker: "b" + n.ID, Addr: fmt.Sprintf("10.1.1.%d:10911", i), Topics: []string{"t1", "t2"}}
		for _, f := range []*rocketmq.Frame{r.Frame(), r.Heartbeat(), rocketmq.PutKV("ns", "key", n.ID), rocketmq.RouteOf("t1", 513)} {
			if a, err := conn.Call(ctx, f); err != nil || a.Code != rocketmq.Success {
				t.Fatalf("request %d at %s: %+v, %v", f.Code, n.ID, a, err)
			}
		}
		for _, f := range []*rocketmq.Frame{rocketmq.RouteOf("none", 513), {Code: 31999}} {
			if a, err := conn.Call(ctx, f); err != nil || a.Code == rocketmq.Success {
				t.Fatalf("request %d at %s: %+v, %v", f.Code, n.ID, a, err)
			}
		}
	}
}

// metric is what its documentation must say: the type, and the labels in order.
type metric struct{ kind, labels string }

var (
	metricType   = regexp.MustCompile(`(?m)^# TYPE (\S+) (\S+)$`)
	metricSample = regexp.MustCompile(`(?m)^([a-z_]+)(?:\{(.*)\})? `)
	metricLabel  = regexp.MustCompile(`([a-z_]+)="`)
	metricRow    = regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| (\\w+) \\| [^|]+ \\|([^|]*)\\|[^|]+\\|")
)

// shownMetrics are those of a scrape, without the ones of Prometheus' own library.
func shownMetrics(t *testing.T, text []byte) map[string]metric {
	t.Helper()
	shown := make(map[string]metric)
	for _, m := range metricType.FindAllSubmatch(text, -1) {
		if name := string(m[1]); !strings.HasPrefix(name, "go_") && !strings.HasPrefix(name, "process_") {
			shown[name] = metric{kind: string(m[2])}
		}
	}
	for _, m := range metricSample.FindAllSubmatch(text, -1) {
		name := familyOf(string(m[1]), shown)
		known, ok := shown[name]
		if !ok {
			continue
		}
		var labels []string
		for _, l := range metricLabel.FindAllSubmatch(m[2], -1) {
			if string(l[1]) != "le" {
				labels = append(labels, string(l[1]))
			}
		}
		known.labels = strings.Join(slices.Sorted(slices.Values(labels)), " ")
		shown[name] = known
	}
	if len(shown) == 0 {
		t.Fatalf("no metric in:\n%s", text)
	}
	return shown
}

// familyOf is the metric that a sample belongs to: a histogram has samples of three names.
func familyOf(sample string, known map[string]metric) string {
	for _, suffix := range []string{"_bucket", "_sum", "_count"} {
		if name, ok := strings.CutSuffix(sample, suffix); ok && known[name].kind == "histogram" {
			return name
		}
	}
	return sample
}

// documentedMetrics are the rows of the tables in docs/metrics.md.
func documentedMetrics(t *testing.T) map[string]metric {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "docs", "metrics.md"))
	if err != nil {
		t.Fatal(err)
	}
	documented := make(map[string]metric)
	for _, m := range metricRow.FindAllSubmatch(text, -1) {
		if _, twice := documented[string(m[1])]; twice {
			t.Errorf("docs/metrics.md has %s twice", m[1])
		}
		labels := strings.FieldsFunc(string(m[3]), func(r rune) bool { return strings.ContainsRune("`, ", r) })
		documented[string(m[1])] = metric{kind: string(m[2]), labels: strings.Join(slices.Sorted(slices.Values(labels)), " ")}
	}
	if len(documented) == 0 {
		t.Fatal("docs/metrics.md has no row of a metric")
	}
	return documented
}

// promtool runs it over a text, and fails the test with what it complains about.
func promtool(t *testing.T, stdin []byte, args ...string) {
	t.Helper()
	needProgram(t, "promtool", "prometheus")
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "promtool", args...)
	cmd.Stdin = bytes.NewReader(stdin)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// needProgram skips the test where a program is missing, or fails it where skipping is not allowed.
func needProgram(t *testing.T, name, debianPackage string) {
	t.Helper()
	if _, err := exec.LookPath(name); err == nil {
		return
	}
	missing := fmt.Sprintf("not installed: %s (Debian package %s)", name, debianPackage)
	if os.Getenv("NAMESRV_SYSTEMTEST") == "1" {
		t.Fatal(missing)
	}
	t.Skip(missing)
}
