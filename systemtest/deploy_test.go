package systemtest_test

import (
	"bufio"
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// deployed is the path of a file that operators start from.
func deployed(t *testing.T, parts ...string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(append([]string{"..", "deploy"}, parts...)...))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// output runs a program and fails the test when it fails.
func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute) // the first time Go compiles what it runs
	defer cancel()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s %s: %v\n%s%s", name, strings.Join(args, " "), err, &stdout, &stderr)
	}
	return stdout.String()
}

// TestPrometheusFiles promises that Prometheus takes the scrape configuration and the alerts of deploy/prometheus, that
// the alerts fire when they should and not when they should not, and that they and docs/metrics.md name each other.
func TestPrometheusFiles(t *testing.T) {
	promtool(t, nil, "check", "config", deployed(t, "prometheus", "prometheus.yml"))
	promtool(t, nil, "test", "rules", deployed(t, "prometheus", "rules_test.yml"))
	rules := readFile(t, deployed(t, "prometheus", "rules.yml"))
	docs := readFile(t, filepath.Join("..", "docs", "metrics.md"))
	documented := documentedMetrics(t)
	for _, name := range regexp.MustCompile(`\bnamesrv_[a-z_]+`).FindAllString(rules, -1) {
		if _, ok := documented[familyOf(name, documented)]; !ok {
			t.Errorf("rules.yml uses %s, which docs/metrics.md does not have", name)
		}
	}
	for _, alert := range regexp.MustCompile("`(Namesrv[A-Za-z]+)`").FindAllStringSubmatch(docs, -1) {
		if !strings.Contains(rules, "alert: "+alert[1]+"\n") {
			t.Errorf("docs/metrics.md names the alert %s, which rules.yml does not have", alert[1])
		}
	}
}

// TestSystemdUnit promises that systemd takes the unit, that it is locked down, and that the server takes what the unit
// and the sample of its environment tell it.
func TestSystemdUnit(t *testing.T) {
	needProgram(t, "systemd-analyze", "systemd")
	binary := binaryPath(t)
	text := readFile(t, deployed(t, "systemd", "namesrv.service"))
	unit := filepath.Join(t.TempDir(), "namesrv.service") // with a program that is there
	if err := os.WriteFile(unit, []byte(strings.ReplaceAll(text, "/usr/local/bin/namesrv", binary)), 0o644); err != nil {
		t.Fatal(err)
	}
	if complaints := output(t, "systemd-analyze", "verify", "--man=no", "--recursive-errors=no", unit); complaints != "" {
		t.Errorf("systemd-analyze verify: %s", complaints)
	}
	output(t, "systemd-analyze", "security", "--offline=yes", "--no-pager", "--threshold=25", unit) // of 100, which is no protection

	var env []string
	for _, pair := range regexp.MustCompile(`(?m)^Environment=(.*)$`).FindAllStringSubmatch(text, -1) {
		env = append(env, strings.Fields(strings.ReplaceAll(pair[1], "%S", t.TempDir()))...)
	}
	env = append(env, assignments(readFile(t, deployed(t, "systemd", "namesrv.env")))...)
	takes(t, env)
}

// TestKubernetesManifests promises that the manifests have no field that Kubernetes does not know, that what they name is
// there, and that the server takes what they tell it.
func TestKubernetesManifests(t *testing.T) {
	env := output(t, "go", "run", "-C", filepath.Join("..", "tools", "manifests"), ".", deployed(t, "kubernetes", "namesrv.yaml"))
	dir := t.TempDir() // for the volume, which the image names as the data directory
	takes(t, append(assignments(strings.ReplaceAll(env, "/data/", dir+"/")), "NAMESRV_DATA_DIR="+dir))
}

// TestDeployPage promises that what docs/deploy.md leads to is there: files, commands of ours, and the names that its
// commands for Compose and Kubernetes use.
func TestDeployPage(t *testing.T) {
	page := readFile(t, filepath.Join("..", "docs", "deploy.md"))
	for _, link := range regexp.MustCompile(`\]\(([^)#]+)\)`).FindAllStringSubmatch(page, -1) {
		if _, err := os.Stat(filepath.Join("..", "docs", link[1])); err != nil {
			t.Error(err)
		}
	}
	for _, c := range regexp.MustCompile(`(?m)\bnamesrv ((?:cluster|server|snapshot)(?: [a-z]+)?)`).FindAllStringSubmatch(page, -1) {
		output(t, binaryPath(t), append(strings.Fields(c[1]), "--help")...)
	}
	compose := readFile(t, filepath.Join("..", "docker-compose.yml"))
	for _, profile := range regexp.MustCompile(`--profile (\w+)`).FindAllStringSubmatch(page, -1) {
		if !strings.Contains(compose, `profiles: ["`+profile[1]+`"]`) {
			t.Errorf("docker-compose.yml has no profile %s", profile[1])
		}
	}
	manifests := readFile(t, deployed(t, "kubernetes", "namesrv.yaml"))
	for _, name := range regexp.MustCompile(`\bNAMESRV_[A-Z_]+`).FindAllString(page, -1) {
		if name != "NAMESRV_IMAGE" && !strings.Contains(compose+manifests, name) {
			t.Errorf("neither docker-compose.yml nor the manifests know %s", name)
		}
	}
}

// takes checks that the server understands its environment: all of it is meant for something, and none is wrong.
func takes(t *testing.T, env []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, binaryPath(t), "server", "-p")
	cmd.Env = slices.Concat([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}, env)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("server -p with %q: %v\n%s", env, err, out)
	}
	help := output(t, binaryPath(t), "server", "--help")
	for _, pair := range env {
		name, value, _ := strings.Cut(pair, "=")
		if !strings.HasPrefix(name, "NAMESRV_") {
			continue
		}
		if !strings.Contains(help, "$"+name) {
			t.Errorf("no flag of the server takes %s", name)
		}
		if name == "NAMESRV_LISTEN" { // shown under its two stock names
			value = "listenPort=" + value[strings.LastIndex(value, ":")+1:]
		}
		if !strings.Contains(string(out), value) {
			t.Errorf("%s is not in force:\n%s", pair, out)
		}
	}
}

// assignments are the lines NAME=VALUE of a text, without comments.
func assignments(text string) []string {
	var list []string
	lines := bufio.NewScanner(strings.NewReader(text))
	for lines.Scan() {
		if line := strings.TrimSpace(lines.Text()); line != "" && !strings.HasPrefix(line, "#") {
			list = append(list, line)
		}
	}
	return list
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
