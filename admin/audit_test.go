package admin

import (
	"context"
	"strings"
	"testing"
)

// changes are all calls of the API that change something, and what their audit line
// names beside who asked, the result and the index.
var changes = []struct {
	name  string
	call  func(ctx context.Context, c *Client) error
	line  string // after "audit: "
	parts []string
}{
	{"join", func(ctx context.Context, c *Client) error {
		_, err := c.Join(ctx, JoinRequest{ID: "n4", Address: "ns4:9875", Replace: true})
		return err
	}, "join", []string{"id=n4 address=ns4:9875 replace=true"}},
	{"remove", func(ctx context.Context, c *Client) error { _, err := c.Remove(ctx, "n4", true); return err }, "remove member", []string{"id=n4 force=true"}},
	{"transfer", func(ctx context.Context, c *Client) error { _, err := c.Transfer(ctx, "n2"); return err }, "transfer leadership", []string{"to=n2"}},
	{"kv put", func(ctx context.Context, c *Client) error { return c.PutKV(ctx, "ns", "k", "hidden") }, "put kv", []string{"namespace=ns key=k"}},
	{"kv delete", func(ctx context.Context, c *Client) error { return c.DeleteKV(ctx, "ns", "k") }, "delete kv", []string{"namespace=ns key=k"}},
	{"topic delete", func(ctx context.Context, c *Client) error { return c.DeleteTopic(ctx, "T", "C") }, "delete topic", []string{"topic=T cluster=C"}},
	{"wipe-write", func(ctx context.Context, c *Client) error { _, err := c.WipeWrite(ctx, "broker-a"); return err }, "wipe write permission", []string{"broker=broker-a"}},
	{"add-write", func(ctx context.Context, c *Client) error { _, err := c.AddWrite(ctx, "broker-a"); return err }, "add write permission", []string{"broker=broker-a"}},
	{"config set", func(ctx context.Context, c *Client) error {
		return c.SetSettings(ctx, map[string]string{"b": "hidden", "a": "1"})
	}, "set config", []string{`settings="a,b"`}},
	{"restore", func(ctx context.Context, c *Client) error {
		_, err := c.RestoreSnapshot(ctx, "r1", Snapshot{Data: []byte("hidden")}, true)
		return err
	}, "restore snapshot", []string{"force=true"}},
}

// auditOf runs one change and returns the only audit line it left.
func auditOf(t *testing.T, f *fixture, call func(ctx context.Context, c *Client) error, token string) string {
	t.Helper()
	_ = call(t.Context(), f.client(t, token)) // what came of it stands in the line
	text := f.log.String()
	if strings.Count(text, "\n") != 1 || !strings.Contains(text, " audit: ") {
		t.Fatalf("not one audit line:\n%s", text)
	}
	if strings.Contains(text, "hidden") {
		t.Errorf("it tells a value: %s", text)
	}
	return text
}

func TestEveryChangeLeavesOneAuditLine(t *testing.T) {
	for _, tc := range changes {
		t.Run(tc.name, func(t *testing.T) {
			f := serve(t, nil)
			f.cluster.status = Status{AppliedIndex: 42}
			line := auditOf(t, f, tc.call, "")
			for _, part := range append(tc.parts, "audit: "+tc.line+": who=127.0.0.1:", "result=", "index=42") {
				if !strings.Contains(line, part) {
					t.Errorf("no %q in: %s", part, line)
				}
			}
		})
		t.Run(tc.name+", failed", func(t *testing.T) {
			f := serve(t, nil)
			f.tables.err, f.cluster.err = ErrNoLeader, ErrNoLeader
			if line := auditOf(t, f, tc.call, ""); !strings.Contains(line, "result=no_leader") || strings.Contains(line, "index=") {
				t.Errorf("it does not say so: %s", line)
			}
		})
		t.Run(tc.name+", without the token", func(t *testing.T) {
			f := serve(t, func(cfg *Config) { cfg.Token = "secret" })
			if line := auditOf(t, f, tc.call, "guess"); !strings.Contains(line, "change denied: who=127.0.0.1:") || !strings.Contains(line, "result=unauthorized") {
				t.Errorf("it does not say so: %s", line)
			}
		})
	}
}

func TestReadsLeaveNoAuditLine(t *testing.T) {
	f := serve(t, nil)
	if _, err := f.client(t, "").Topics(t.Context()); err != nil || f.log.String() != "" {
		t.Errorf("%v, %s", err, f.log)
	}
}
