package admin

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

func TestCheckKV(t *testing.T) {
	const around = len(`{"value":""}`)
	tests := map[string]struct{ namespace, key, value, want string }{
		"fine":               {"NS", "k", "v", ""},
		"no value":           {"NS", "k", "", ""},
		"dots":               {"..", ".", "v", ""},
		"empty namespace":    {"", "k", "v", "namespace is empty"},
		"empty key":          {"NS", "", "v", "key is empty"},
		"namespace no UTF-8": {"\xff", "k", "v", "UTF-8"},
		"key no UTF-8":       {"NS", "\xff", "v", "UTF-8"},
		"value no UTF-8":     {"NS", "k", "\xff", "UTF-8"},
		"long key":           {"NS", strings.Repeat("k", maxHeaderBytes), "v", "of a URL"},
		"longest value":      {"NS", "k", strings.Repeat("v", maxBody-around), ""},
		"longer value":       {"NS", "k", strings.Repeat("v", maxBody-around+1), "of JSON"},
		"escaped value":      {"NS", "k", strings.Repeat("\n", maxBody/2), "of JSON"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			err := CheckKV(tc.namespace, tc.key, tc.value)
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v, want %q", err, tc.want)
			}
		})
	}
}

// TestCheckKVIsWhatTheServerTakes stores the longest value and the longest key.
func TestCheckKVIsWhatTheServerTakes(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	tables := &fakeTables{kv: make(map[string]map[string]string)}
	server := NewServer(NewHandler(Config{Cluster: &fakeCluster{}, Tables: tables, Gatherer: prometheus.NewRegistry()}), nil)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		if err := errors.Join(server.Shutdown(context.Background()), <-served); err != nil {
			t.Error(err)
		}
	})
	client := (&fixture{url: "http://" + listener.Addr().String()}).client(t, "")
	for name, kv := range map[string][2]string{
		"key":   {strings.Repeat("k", maxHeaderBytes-len("/v1/kv/NS/")), "v"},
		"value": {"k", strings.Repeat("v", maxBody-len(`{"value":""}`))},
	} {
		if err := CheckKV("NS", kv[0], kv[1]); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := client.PutKV(t.Context(), "NS", kv[0], kv[1]); err != nil {
			t.Errorf("%s: the server: %v", name, err)
		}
	}
}
