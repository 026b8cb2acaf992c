package rocketmq

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Version is a release of Apache RocketMQ whose artifacts are on Maven Central.
type Version string

// The releases that the tests use: the newest, and the last of the 4.x line that has a broker there.
const (
	V550 Version = "5.5.0"
	V497 Version = "4.9.7"
)

// CacheEnv names the environment variable that holds the folder of the artifacts. Without it they are kept in the
// user's cache folder.
const CacheEnv = "NAMESRV_TEST_CACHE"

const (
	fetchTries   = 3
	fetchTimeout = 10 * time.Minute // one try, on a slow line
)

// The modules to fetch; their dependencies come with them.
var (
	artifacts        = []string{"rocketmq-namesrv", "rocketmq-broker", "rocketmq-tools", "rocketmq-client"}
	furtherArtifacts = []string{"rocketmq-proxy", "rocketmq-container"}
)

// Missing names the programs that this package needs to run Java programs and that are not in PATH; "" when all are
// there.
func Missing() string { return missing("java", "mvn") }

// MissingForNode is [Missing] for [MessagesInNode].
func MissingForNode() string { return missing("node", "npm") }

func missing(programs ...string) string {
	var missing []string
	for _, name := range programs {
		if _, err := exec.LookPath(name); err != nil {
			missing = append(missing, name)
		}
	}
	return strings.Join(missing, ", ")
}

// Artifacts gives the folder with the jars of v, fetching them with Maven when they are not there yet. A folder that
// exists is complete: it is filled under another name and then renamed. Other processes that ask at the same time wait.
func Artifacts(ctx context.Context, v Version) (string, error) {
	return jars(ctx, "rocketmq-"+string(v), v, artifacts)
}

// FurtherArtifacts is [Artifacts] for the proxy and the broker container of 5.5.0.
func FurtherArtifacts(ctx context.Context) (string, error) {
	return jars(ctx, "rocketmq-further-"+string(V550), V550, furtherArtifacts)
}

func jars(ctx context.Context, name string, v Version, modules []string) (string, error) {
	return cached(ctx, name, func(ctx context.Context, tmp string) (string, error) {
		dir := filepath.Join(tmp, "jars")
		return dir, fetchJars(ctx, tmp, dir, v, modules)
	})
}

// cached gives the folder of that name in the cache. The first one to ask has it made by fetch, which works in a folder
// of its own and returns the one to keep; it gets more than one try.
func cached(ctx context.Context, name string, fetch func(ctx context.Context, tmp string) (string, error)) (string, error) {
	cache, err := cacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, name)
	if isDir(dir) {
		return dir, nil
	}
	unlock, err := lockFile(ctx, dir+".lock")
	if err != nil {
		return "", err
	}
	defer unlock()
	if isDir(dir) { // by the one who held the lock before us
		return dir, nil
	}
	for try := 1; ; try++ {
		err = fill(ctx, cache, dir, fetch)
		if err == nil {
			return dir, nil
		}
		if try == fetchTries || ctx.Err() != nil {
			return "", fmt.Errorf("fetch %s (%d tries): %w", name, try, err)
		}
	}
}

// fill makes one try: into a folder beside dir, renamed to dir when complete.
func fill(ctx context.Context, cache, dir string, fetch func(ctx context.Context, tmp string) (string, error)) error {
	tmp, err := os.MkdirTemp(cache, "fetch-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	made, err := fetch(ctx, tmp)
	if err != nil {
		return err
	}
	return os.Rename(made, dir)
}

// fetchJars copies the modules and all that they need into dir. The project file is made in tmp.
func fetchJars(ctx context.Context, tmp, dir string, v Version, modules []string) error {
	pom := filepath.Join(tmp, "pom.xml")
	if err := os.WriteFile(pom, []byte(pomFor(v, modules)), 0o644); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "mvn", "-q", "-B", "-f", pom, "dependency:copy-dependencies", "-DoutputDirectory="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("mvn: %w: %s", err, tail(string(out), 5))
	}
	for _, m := range modules {
		if _, err := os.Stat(filepath.Join(dir, m+"-"+string(v)+".jar")); err != nil {
			return errors.New("mvn ended well but left out " + m)
		}
	}
	return nil
}

func pomFor(v Version, modules []string) string {
	var b strings.Builder
	b.WriteString(`<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>` +
		`<groupId>test</groupId><artifactId>jars</artifactId><version>1</version><packaging>pom</packaging><dependencies>`)
	for _, m := range modules {
		fmt.Fprintf(&b, `<dependency><groupId>org.apache.rocketmq</groupId><artifactId>%s</artifactId><version>%s</version></dependency>`, m, v)
	}
	b.WriteString(`</dependencies></project>`)
	return b.String()
}

func cacheDir() (string, error) {
	dir := os.Getenv(CacheEnv)
	if dir == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("no cache folder, set %s: %w", CacheEnv, err)
		}
		dir = filepath.Join(user, "namesrv-test")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("make the cache folder: %w", err)
	}
	return filepath.Abs(dir)
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func tail(s string, lines int) string {
	all := strings.Split(strings.TrimSpace(s), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
