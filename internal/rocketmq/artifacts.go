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

// artifacts are the modules to fetch; their dependencies come with them.
var artifacts = []string{"rocketmq-namesrv", "rocketmq-broker", "rocketmq-tools", "rocketmq-client"}

// Missing names the programs that this package needs and that are not in PATH; "" when all are there.
func Missing() string {
	var missing []string
	for _, name := range []string{"java", "mvn"} {
		if _, err := exec.LookPath(name); err != nil {
			missing = append(missing, name)
		}
	}
	return strings.Join(missing, ", ")
}

// Artifacts gives the folder with the jars of v, fetching them with Maven when they are not there yet. A folder that
// exists is complete: it is filled under another name and then renamed. Other processes that ask at the same time wait.
func Artifacts(ctx context.Context, v Version) (string, error) {
	cache, err := cacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "rocketmq-"+string(v))
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
		err = fetch(ctx, v, cache, dir)
		if err == nil {
			return dir, nil
		}
		if try == fetchTries || ctx.Err() != nil {
			return "", fmt.Errorf("fetch RocketMQ %s with Maven (%d tries): %w", v, try, err)
		}
	}
}

// fetch makes one try: into a folder beside dir, renamed to dir when complete.
func fetch(ctx context.Context, v Version, cache, dir string) error {
	tmp, err := os.MkdirTemp(cache, "fetch-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	pom := filepath.Join(tmp, "pom.xml")
	if err := os.WriteFile(pom, []byte(pomFor(v)), 0o644); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	jars := filepath.Join(tmp, "jars")
	cmd := exec.CommandContext(ctx, "mvn", "-q", "-B", "-f", pom, "dependency:copy-dependencies", "-DoutputDirectory="+jars)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("mvn: %w: %s", err, tail(string(out), 5))
	}
	for _, a := range artifacts {
		if _, err := os.Stat(filepath.Join(jars, a+"-"+string(v)+".jar")); err != nil {
			return errors.New("mvn ended well but left out " + a)
		}
	}
	return os.Rename(jars, dir)
}

func pomFor(v Version) string {
	var b strings.Builder
	b.WriteString(`<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>` +
		`<groupId>test</groupId><artifactId>jars</artifactId><version>1</version><packaging>pom</packaging><dependencies>`)
	for _, a := range artifacts {
		fmt.Fprintf(&b, `<dependency><groupId>org.apache.rocketmq</groupId><artifactId>%s</artifactId><version>%s</version></dependency>`, a, v)
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
