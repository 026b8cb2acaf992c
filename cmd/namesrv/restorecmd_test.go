package main

import (
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
)

// Where a restore cannot have been taken, the command says that nothing was changed, and what to mend.
func TestRestoreThatNobodyTook(t *testing.T) {
	p := servePeer(t, "")
	p.snapshot = tablesOf(t)
	file := filepath.Join(t.TempDir(), "x.save")
	runProgram(t, "snapshot", "save", file)
	plain := httpServer(t, http.NotFound)
	secure := httptest.NewUnstartedServer(http.HandlerFunc(http.NotFound))
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	t.Cleanup(secure.Close)
	tests := []struct{ name, url, next string }{
		{"nobody there", "http://127.0.0.1:1", "is the server running?"},
		{"a certificate of an unknown CA", secure.URL, "--admin-ca names the file"},
		{"HTTPS asked by http", strings.Replace(secure.URL, "https", "http", 1), "begin the URL with https://"},
		{"HTTP asked by https", strings.Replace(plain, "http", "https", 1), "--admin names another peer"},
		{"no HTTP", "http://" + talker(t, "SSH-2.0-x\r\n"), "--admin names another peer"},
		{"ends connections", "http://" + talker(t, ""), "--admin names another peer"},
		{"another web server", plain, "is this the HTTP port of a namesrv?"},
		{"another web server that reads all first", httpServer(t, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			w.WriteHeader(http.StatusBadRequest)
		}), "is this the HTTP port of a namesrv?"},
		{"a proxy without a server", httpServer(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }),
			"is this the HTTP port of a namesrv?"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			runProgram(t, "snapshot", "restore", file, "--admin", tc.url).oneLine(t, exitFailed, "nothing was changed", tc.next)
		})
	}
	lost := httpServer(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusBadGateway)
	})
	runProgram(t, "snapshot", "restore", file, "--admin", lost).oneLine(t, exitTimeout, "not known", "answered 502")
}

func httpServer(t *testing.T, h http.HandlerFunc) (url string) {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return server.URL
}

// talker says the same to whoever connects, and ends the connection when something was said to it.
func talker(t *testing.T, words string) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(conn, words)
			_, _ = conn.Read(make([]byte, 1))
			conn.Close()
		}
	}()
	return l.Addr().String()
}
