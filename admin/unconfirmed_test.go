package admin

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestUnconfirmedAnswersAreMarked promises the header on whatever is read of the tables without a leader, for clients
// other than the command line too, and on nothing else.
func TestUnconfirmedAnswersAreMarked(t *testing.T) {
	tests := []struct {
		name   string
		leader string
		old    bool // a read of the tables was not confirmed
		path   string
		status int
		marked bool
	}{
		{"confirmed", "n1", false, "/v1/topics", 200, false},
		{"not confirmed", "n1", true, "/v1/topics", 200, true},
		{"no leader is known", "", false, "/v1/brokers", 200, true},
		{"the members, without a leader", "", false, "/v1/members", 200, true},
		{"the status, without a leader", "", false, "/v1/status", 200, false},
		{"a failure", "", true, "/v1/kv/none", 404, false},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			f := serve(t, func(cfg *Config) {
				cfg.Reading = func(ctx context.Context, unconfirmed func()) context.Context {
					if tc.old {
						unconfirmed()
					}
					return ctx
				}
			})
			f.cluster.status.Leader = tc.leader
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, f.url+tc.path, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			answer, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer answer.Body.Close()
			if marked := answer.Header.Get(headerUnconfirmed) == "true"; answer.StatusCode != tc.status || marked != tc.marked {
				t.Errorf("answered %d, marked %v; want %d, %v", answer.StatusCode, marked, tc.status, tc.marked)
			}
		})
	}
}

// TestAnswersHaveABound promises an error, not the beginning of an answer.
func TestAnswersHaveABound(t *testing.T) {
	client := (&fixture{url: "http://127.0.0.1:1"}).client(t, "")
	for text, fits := range map[string]bool{"": true, "1234": true, "12345": false} {
		got, err := client.readUpTo(t.Context(), &http.Response{Body: io.NopCloser(strings.NewReader(text))}, 4)
		if fits && string(got) != text || (err == nil) != fits {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
}
