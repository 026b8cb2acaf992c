package main

import (
	"context"
	"fmt"
	"time"

	"namesrv/internal/rocketmq"
)

const (
	startRounds = 5
	settle      = 5 * time.Second // after the last registration, before memory is read
)

// measureStart takes the time from the start of the process, in an empty directory, to its first answer: the process
// is started, says that it is up, and is asked a question.
func measureStart(ctx context.Context, o options, dir string, r *results) error {
	for range min(startRounds, o.rounds) {
		for _, name := range []string{stock, ours} {
			begin := time.Now()
			s, err := start(ctx, o, dir, name)
			if err != nil {
				return err
			}
			answer, err := rocketmq.Ask(ctx, s.addrs[0], &rocketmq.Frame{Code: rocketmq.CodeClusterInfo})
			took := time.Since(begin)
			s.stop()
			if err != nil || answer.Code != rocketmq.Success {
				return fmt.Errorf("first question to %s: %+v: %w", name, answer, err)
			}
			r.add(rowStart, name, float64(took.Microseconds())/1000)
		}
	}
	return nil
}

// measureMemory fills one fresh server after the other with large tables and reads how much memory it has then. Of
// three peers the largest counts.
func measureMemory(ctx context.Context, o options, dir string, r *results) error {
	for _, name := range []string{stock, ours, three} {
		progress("memory of %s with %d brokers × %d topics", name, o.large.brokers, o.large.topics)
		if err := memoryOf(ctx, o, dir, name, r); err != nil {
			return err
		}
	}
	return nil
}

func memoryOf(ctx context.Context, o options, dir, name string, r *results) error {
	s, err := start(ctx, o, dir, name)
	if err != nil {
		return err
	}
	defer s.stop()
	empty, err := s.resident()
	if err != nil {
		return err
	}
	begin := time.Now()
	release, err := fill(ctx, s, o.large)
	if err != nil {
		return err
	}
	defer release()
	r.add(rowFill, name, time.Since(begin).Seconds())
	select {
	case <-time.After(settle):
	case <-ctx.Done():
		return ctx.Err()
	}
	full, err := s.resident()
	if err != nil {
		return err
	}
	r.add(rowEmpty, name, float64(empty)/(1<<20))
	r.add(rowMemory, name, float64(full)/(1<<20))
	return nil
}
