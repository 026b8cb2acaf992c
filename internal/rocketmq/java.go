package rocketmq

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"namesrv/internal/process"
)

const (
	bootTimeout = 2 * time.Minute  // a JVM and its program, on a busy machine
	stopGrace   = 15 * time.Second // a broker flushes and unregisters first
)

// logback is any valid configuration: 4.9.x programs refuse to start without one in their home.
const logback = `<configuration><appender name="A" class="ch.qos.logback.core.FileAppender"><file>%s</file>` +
	`<encoder><pattern>%%d %%p %%c{1} - %%m%%n</pattern></encoder></appender>` +
	`<root level="INFO"><appender-ref ref="A"/></root></configuration>`

// opens are the packages that a broker reaches into; without these flags Java 17 refuses.
var opens = []string{
	"--add-exports", "java.base/jdk.internal.ref=ALL-UNNAMED",
	"--add-exports", "java.base/sun.nio.ch=ALL-UNNAMED",
	"--add-opens", "java.base/java.nio=ALL-UNNAMED",
	"--add-opens", "java.base/java.lang=ALL-UNNAMED",
}

// program is one Java program of a release, with a home of its own.
type program struct {
	version Version
	name    string   // of its log files
	class   string   // main class, or a source file that java compiles and runs
	jvm     []string // options for the JVM
	args    []string // of the program
	dir     string   // its home: configuration, logs, stores
	further bool     // needs the artifacts of the proxy and the container
	quiet   bool     // logs warnings only: setting up the default logs of 5.x takes a good part of a short program's time
	ready   string   // what it prints when it is up; "" = what brokers and name servers print
}

// start prepares the home and starts the program.
func (p program) start(ctx context.Context) (*process.Process, error) {
	classpath, err := p.classpath(ctx)
	if err != nil {
		return nil, err
	}
	if err := p.writeLogback(); err != nil {
		return nil, err
	}
	args := append([]string{"-Duser.home=" + p.dir, "-Djava.io.tmpdir=" + p.dir, "-cp", classpath}, p.jvm...)
	args = append(append(args, p.class), p.args...)
	return process.Start(process.Config{
		Path: "java",
		Args: args,
		Env:  []string{"ROCKETMQ_HOME=" + p.dir},
		Hide: []string{"NAMESRV_ADDR"}, // even when it is empty a broker takes it for its list and asks no address server
		Dir:  p.dir,
		Log:  filepath.Join(p.dir, p.name+".out"),
	})
}

func (p program) classpath(ctx context.Context) (string, error) {
	jars, err := Artifacts(ctx, p.version)
	if p.further {
		jars, err = FurtherArtifacts(ctx)
	}
	if err != nil {
		return "", err
	}
	path := filepath.Join(jars, "*")
	if p.quiet {
		path = p.conf() + string(filepath.ListSeparator) + path
	}
	return path, nil
}

// conf is where a program looks for its logging configuration.
func (p program) conf() string { return filepath.Join(p.dir, "conf") }

// startService is start, waiting for the line that a RocketMQ server prints when it is up.
func (p program) startService(ctx context.Context) (*process.Process, error) {
	proc, err := p.start(ctx)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, bootTimeout)
	defer cancel()
	if _, err := proc.WaitLine(ctx, cmp.Or(p.ready, "boot success")); err != nil {
		proc.Kill()
		return nil, fmt.Errorf("start %s %s: %w", p.name, p.version, err)
	}
	return proc, nil
}

func (p program) writeLogback() error {
	conf := p.conf()
	if err := os.MkdirAll(conf, 0o755); err != nil {
		return err
	}
	if p.quiet {
		text := strings.Replace(fmt.Sprintf(logback, filepath.Join(p.dir, p.name+".log")), "INFO", "WARN", 1)
		if err := os.WriteFile(filepath.Join(conf, "rmq.logback.xml"), []byte(text), 0o644); err != nil {
			return err
		}
	}
	for _, part := range []string{"broker", "namesrv", "tools"} {
		text := fmt.Sprintf(logback, filepath.Join(p.dir, part+".log"))
		if err := os.WriteFile(filepath.Join(conf, "logback_"+part+".xml"), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// writeProperties writes a Java properties file into the program's home and gives its path. Values are written as they
// are: none of ours has a backslash or a line end.
func (p program) writeProperties(lines ...string) (string, error) {
	if err := os.MkdirAll(p.dir, 0o755); err != nil {
		return "", err
	}
	path := filepath.Join(p.dir, p.name+".properties")
	return path, os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o644)
}

// run starts a program, waits for its end, and returns what it printed. One that does not end with 0 is an error.
func (p program) run(ctx context.Context) (string, error) {
	proc, err := p.start(ctx)
	if err != nil {
		return "", err
	}
	return await(ctx, proc, p.name)
}

// await waits for the end of a program, which is killed when ctx ends first.
func await(ctx context.Context, proc *process.Process, name string) (string, error) {
	defer proc.Kill()
	code, err := proc.ExitCode(ctx)
	out := proc.Stdout() + proc.Stderr()
	if err != nil {
		return out, fmt.Errorf("%s: %w", name, err)
	}
	if code != 0 {
		return out, fmt.Errorf("%s ended with %d: %s", name, code, tail(out, 3))
	}
	return out, nil
}
