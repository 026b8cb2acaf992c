package systemtest_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path"
	"sync"
	"testing"
	"time"

	"namesrv/internal/process"
	"namesrv/internal/rocketmq"
	"namesrv/systemtest"
)

// join makes a waiting peer a member, at the word of one that is, and waits until it votes and serves.
func join(t *testing.T, at, newcomer *systemtest.Node) {
	t.Helper()
	eventually(t, 20*time.Second, newcomer.ID+" listens", func() error { // it was started a moment ago
		c, err := net.DialTimeout("tcp", newcomer.Peer, time.Second)
		if err != nil {
			return err
		}
		return c.Close()
	})
	mustCommand(t, at, "cluster", "join", newcomer.ID, newcomer.Peer)
	if err := newcomer.AwaitStart(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// removeMember takes a peer out, at the word of another, and waits until its process has ended by itself.
func removeMember(t *testing.T, at, gone *systemtest.Node) {
	t.Helper()
	mustCommand(t, at, "cluster", "remove", gone.ID)
	endsRemoved(t, gone)
}

// relay is a stable address that leads to one server or another, or to none. It stands for a name, or for a load balancer.
type relay struct {
	addr string

	mu       sync.Mutex // guards the fields below
	target   string
	listener net.Listener // nil while it is cut
	conns    map[net.Conn]bool
}

// newRelay starts a relay to the server at target that ends with the test.
func newRelay(t *testing.T, target string) *relay {
	t.Helper()
	addr, err := rocketmq.FreeAddr()
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{addr: addr, target: target, conns: map[net.Conn]bool{}}
	r.heal(t)
	t.Cleanup(r.cut)
	return r
}

// point makes new connections lead to another server; those there are go on.
func (r *relay) point(target string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.target = target
}

// heal lets connections through again.
func (r *relay) heal(t *testing.T) {
	t.Helper()
	l, err := net.Listen("tcp", r.addr)
	if err != nil {
		t.Fatal(err)
	}
	r.mu.Lock()
	r.listener = l
	r.mu.Unlock()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go r.pass(c)
		}
	}()
}

// cut ends all connections and refuses new ones.
func (r *relay) cut() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.listener != nil {
		r.listener.Close()
		r.listener = nil
	}
	for c := range r.conns {
		c.Close()
	}
}

// hold notes a connection, or closes it when the relay is cut; the returned function ends it.
func (r *relay) hold(c net.Conn) (release func(), ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.listener == nil {
		c.Close()
		return nil, false
	}
	r.conns[c] = true
	return func() {
		c.Close()
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.conns, c)
	}, true
}

// pass copies both ways until one side ends.
func (r *relay) pass(c net.Conn) {
	release, ok := r.hold(c)
	if !ok {
		return
	}
	defer release()
	r.mu.Lock()
	target := r.target
	r.mu.Unlock()
	server, err := net.Dial("tcp", target)
	if err != nil {
		return
	}
	defer server.Close()
	ended := make(chan struct{}, 2)
	for _, way := range [][2]net.Conn{{server, c}, {c, server}} {
		go func() {
			_, _ = io.Copy(way[0], way[1])
			ended <- struct{}{}
		}()
	}
	<-ended
}

// frontDoor is one name for the HTTP ports of several peers, as a load balancer gives it, that remembers what it handed out.
type frontDoor struct {
	host string // HOST:PORT

	mu    sync.Mutex // guards the fields below
	peers []string   // HTTP addresses, tried in this order
	last  map[string]string
}

func newFrontDoor(t *testing.T, peers ...string) *frontDoor {
	t.Helper()
	d := &frontDoor{peers: peers, last: map[string]string{}}
	server := httptest.NewServer(d)
	t.Cleanup(server.Close)
	d.host = server.Listener.Addr().String()
	return d
}

// ServeHTTP asks one peer after the other until one knows the answer.
func (d *frontDoor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	peers := d.peers
	d.mu.Unlock()
	for _, peer := range peers {
		body, err := fetch(r.Context(), "http://"+peer+r.URL.RequestURI())
		if err != nil {
			continue
		}
		d.mu.Lock()
		d.last[path.Base(r.URL.Path)] = body
		d.mu.Unlock()
		_, _ = io.WriteString(w, body)
		return
	}
	w.WriteHeader(http.StatusBadGateway)
}

// lead makes it ask these peers from now on.
func (d *frontDoor) lead(peers ...string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.peers = peers
}

// told is what was last handed out under /rocketmq/NAME.
func (d *frontDoor) told(name string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.last[name]
}

func fetch(ctx context.Context, url string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", resp.Status, body)
	}
	return string(body), err
}

// scriptTime is for one run of a script, which may build the binary.
const scriptTime = 5 * time.Minute

// script runs one of the scripts of this tree and gives its exit code and what it printed on standard error.
func script(t *testing.T, env []string, name string, args ...string) (code int, stderr string) {
	t.Helper()
	p, err := process.Start(process.Config{Path: "../scripts/" + name, Args: args, Env: env})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Kill()
	ctx, cancel := context.WithTimeout(context.Background(), scriptTime) // not of the test: it also cleans up
	defer cancel()
	code, err = p.ExitCode(ctx)
	if err != nil {
		t.Fatalf("scripts/%s %v: %v\n%s", name, args, err, p.Stderr())
	}
	return code, p.Stderr()
}
