package rocketmq

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"namesrv/internal/process"
)

// JavaSender is a running Java producer that sends all the time and was told no name server.
type JavaSender struct {
	wishes string // the folder where it looks for what it is to do
	proc   *process.Process
}

// StartJavaSender starts a producer of the Java client 5.5.0 in dir that sends to a topic, which must exist, until it is
// told to finish, and returns when the first message was sent. The options for the JVM must lead it to name servers.
func StartJavaSender(ctx context.Context, dir, topic string, options ...string) (*JavaSender, error) {
	s := &JavaSender{wishes: filepath.Join(dir, "wishes")}
	if err := os.Mkdir(s.wishes, 0o755); err != nil {
		return nil, err
	}
	source, err := writeSource(dir, "Steady.java")
	if err != nil {
		return nil, err
	}
	s.proc, err = program{
		version: V550, name: "Java producer", dir: dir, class: source, args: []string{topic, "steady", s.wishes}, quiet: true,
		jvm: append(options, shortJVM...), ready: "first message sent",
	}.startService(ctx)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// SendTo has it send one message to another topic, which it tries again until that succeeds, and waits for that.
func (s *JavaSender) SendTo(ctx context.Context, topic string) error {
	if err := os.WriteFile(filepath.Join(s.wishes, topic), nil, 0o644); err != nil {
		return err
	}
	_, err := s.proc.WaitLine(ctx, "sent to "+topic)
	return err
}

// Finish ends it and gives how many messages were sent and how many failed.
func (s *JavaSender) Finish(ctx context.Context) (sent, failed int, err error) {
	if err := os.WriteFile(filepath.Join(s.wishes, "stop"), nil, 0o644); err != nil {
		return 0, 0, err
	}
	line, err := s.proc.WaitLine(ctx, "result: ")
	if err != nil {
		return 0, 0, err
	}
	if _, err := fmt.Sscanf(line, "result: %d sent, %d failed", &sent, &failed); err != nil {
		return 0, 0, fmt.Errorf("%q: %w", line, err)
	}
	return sent, failed, nil
}

// Kill ends it at once.
func (s *JavaSender) Kill() { s.proc.Kill() }

// Output is what it printed, for the message of a failed test.
func (s *JavaSender) Output() string { return s.proc.Stdout() + s.proc.Stderr() }
