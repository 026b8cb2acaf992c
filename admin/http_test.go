package admin

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"
)

// send makes one plain HTTP request.
func send(t *testing.T, method, url, body string, header http.Header) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name := range header {
		r.Header.Set(name, header.Get(name))
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Do(r)
	if err != nil {
		t.Fatalf("%s %s: %v", method, url, err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

func TestBadInput(t *testing.T) {
	tests := []struct {
		name, method, path, body string
		status                   int
		kind                     Kind
	}{
		{"no body", "PUT", "/v1/kv/a/b", "", 400, KindBadRequest},
		{"not JSON", "PUT", "/v1/kv/a/b", "value=1", 400, KindBadRequest},
		{"no value", "PUT", "/v1/kv/a/b", "{}", 400, KindBadRequest},
		{"null", "PUT", "/v1/kv/a/b", `{"value":null}`, 400, KindBadRequest},
		{"a number", "PUT", "/v1/kv/a/b", `{"value":1}`, 400, KindBadRequest},
		{"an unknown member", "PUT", "/v1/kv/a/b", `{"value":"1","ttl":1}`, 400, KindBadRequest},
		{"two values", "PUT", "/v1/kv/a/b", `{"value":"1"}{"value":"2"}`, 400, KindBadRequest},
		{"too long", "PUT", "/v1/kv/a/b", `{"value":"` + strings.Repeat("x", maxBody) + `"}`, 413, KindTooLarge},
		{"not UTF-8", "PUT", "/v1/kv/a/%FF", `{"value":"1"}`, 400, KindBadRequest},
		{"wrong method", "POST", "/v1/status", "", 404, KindNotFound},
		{"join without an address", "POST", "/v1/members", `{"id":"n4"}`, 400, KindBadRequest},
		{"a switch that is none", "DELETE", "/v1/members/n4?force=maybe", "", 400, KindBadRequest},
		{"unknown call", "GET", "/v1/nothing", "", 404, KindNotFound},
	}
	f := serve(t, nil)
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			status, text := send(t, tc.method, f.url+tc.path, tc.body, nil)
			if status != tc.status || !strings.Contains(text, `"kind":"`+string(tc.kind)+`"`) {
				t.Errorf("answered %d %s, want %d and kind %s", status, text, tc.status, tc.kind)
			}
		})
	}
	if len(f.tables.kv) > 0 {
		t.Errorf("bad input was stored: %v", f.tables.kv)
	}
}

func TestHealthAndMetrics(t *testing.T) {
	f := serve(t, func(cfg *Config) { cfg.Token = "secret" })
	f.cluster.notReady = []string{"no leader is known", "9 entries behind"}
	tests := []struct {
		path   string
		status int
		text   string
	}{
		{"/livez", 200, "ok\n"},
		{"/readyz", 503, "no leader is known\n9 entries behind\n"},
		{"/metrics", 200, "namesrv_test_gauge 0\n"},
	}
	for _, tc := range tests {
		if status, text := send(t, "GET", f.url+tc.path, "", nil); status != tc.status || !strings.HasSuffix(text, tc.text) {
			t.Errorf("%s answered %d %q", tc.path, status, text)
		}
	}
	client := f.client(t, "")
	if reasons, err := client.NotReady(t.Context()); err != nil || cmp.Diff(f.cluster.notReady, reasons) != "" {
		t.Errorf("NotReady = %q, %v", reasons, err)
	}
	f.cluster.notReady = nil
	if reasons, err := client.NotReady(t.Context()); err != nil || len(reasons) > 0 {
		t.Errorf("NotReady of a ready peer = %q, %v", reasons, err)
	}
}

func TestToken(t *testing.T) {
	f := serve(t, func(cfg *Config) { cfg.Token = "secret" })
	for name, token := range map[string]string{"none": "", "wrong": "secreT", "longer": "secret1", "shorter": "secre"} {
		err := f.client(t, token).PutKV(t.Context(), "ns", "k", "v")
		if !isKind(err, KindUnauthorized) {
			t.Errorf("token %s: %v", name, err)
		}
	}
	if len(f.tables.kv) > 0 {
		t.Error("stored without a token")
	}
	if log := f.log.String(); !strings.Contains(log, "change denied") || strings.Contains(log, "secre") {
		t.Errorf("audit of denied changes:\n%s", log)
	}
	if err := f.client(t, "secret").PutKV(t.Context(), "ns", "k", "v"); err != nil {
		t.Errorf("right token: %v", err)
	}
	if status, _ := send(t, "GET", f.url+"/v1/topics", "", http.Header{"Authorization": {"Basic secret"}}); status != 401 {
		t.Errorf("another scheme answered %d", status)
	}
}

func TestForeignPagesAreRefused(t *testing.T) {
	f := serve(t, nil)
	header := http.Header{"Origin": {"http://elsewhere.example"}, "Sec-Fetch-Site": {"cross-site"}}
	status, text := send(t, "POST", f.url+"/v1/brokers/b/wipe-write", "", header)
	if status != 403 || !strings.Contains(text, `"forbidden"`) {
		t.Errorf("a foreign page was answered %d %s", status, text)
	}
}

func TestClientAgainstSomethingElse(t *testing.T) {
	tests := []struct {
		name   string
		answer http.HandlerFunc
	}{
		{"an HTML page", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") }},
		{"a plain 404", http.NotFound},
		{"a redirect", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusFound)
		}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			server := httptest.NewServer(tc.answer)
			t.Cleanup(server.Close)
			f := &fixture{url: server.URL}
			if _, err := f.client(t, "secret").Topics(t.Context()); err == nil || !strings.Contains(err.Error(), "is this the HTTP port of a namesrv?") {
				t.Errorf("Topics: %v", err)
			}
		})
	}
}

func TestServerLife(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := NewServer(http.HandlerFunc(livez), hclog.NewNullLogger())
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	if status, _ := send(t, "GET", "http://"+listener.Addr().String()+"/livez", "", nil); status != 200 {
		t.Errorf("answered %d", status)
	}
	for range 2 {
		if err := server.Shutdown(t.Context()); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
	}
	if err := <-done; err != nil {
		t.Errorf("Serve: %v", err)
	}
	f := &fixture{url: "http://" + listener.Addr().String()}
	if _, err := f.client(t, "").Topics(t.Context()); !errors.Is(err, ErrUnreachable) {
		t.Errorf("Topics of a stopped server: %v", err)
	}
}

func TestShutdownCutsWhatDoesNotEnd(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	entered := make(chan struct{})
	server := NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(entered)
		<-r.Context().Done()
	}), nil)
	done := make(chan error, 2)
	go func() { done <- server.Serve(listener) }()
	go func() {
		client, err := NewClient(ClientConfig{URL: listener.Addr().String()})
		if err == nil {
			_, err = client.Topics(context.WithoutCancel(t.Context()))
		}
		if !errors.Is(err, ErrUnreachable) {
			t.Errorf("a call that was cut: %v", err)
		}
		done <- nil
	}()
	<-entered
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := server.Shutdown(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Shutdown: %v", err)
	}
	for range 2 {
		if err := <-done; err != nil {
			t.Errorf("Serve: %v", err)
		}
	}
}
