package admin

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// ErrUnreachable is wrapped when no HTTP answer came at all.
var ErrUnreachable = errors.New("server unreachable")

// ClientConfig tells a client whom to ask.
type ClientConfig struct {
	URL   string // of a peer's HTTP port, like http://127.0.0.1:9874; the scheme may be left out
	Token string // "" sends none
	// RootCAs are what the certificate behind an https URL is checked by; nil means
	// those of the system.
	RootCAs *x509.CertPool
	// Unconfirmed is called for each answer that comes from the last known state of the
	// peer, for want of a leader, and may be old; nil ignores it.
	Unconfirmed func()
}

// Client calls the API of one peer. Its errors are *Error when the server
// answered; see there for errors.Is. Every call waits as long as its context says.
type Client struct {
	base        string // without a trailing slash
	token       string
	unconfirmed func()
	http        *http.Client
}

// continueTimeout is how long a client waits to be asked for a large body before it
// sends it unasked.
const continueTimeout = 5 * time.Second

// NewClient returns a client. It refuses an address that is no HTTP URL.
func NewClient(cfg ClientConfig) (*Client, error) {
	base, err := baseURL(cfg.URL)
	if err != nil {
		return nil, err
	}
	return &Client{
		base:        base,
		token:       cfg.Token,
		unconfirmed: cfg.Unconfirmed,
		http: &http.Client{
			Transport: &http.Transport{Proxy: nil, DisableKeepAlives: true, ExpectContinueTimeout: continueTimeout, TLSClientConfig: &tls.Config{RootCAs: cfg.RootCAs, MinVersion: tls.VersionTLS12}},
			// A redirect would take the token elsewhere.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

func baseURL(given string) (string, error) {
	base := given
	if !strings.Contains(given, "://") {
		base = "http://" + given
	}
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") || u.RawQuery != "" || u.Fragment != "" {
		return "", fmt.Errorf("%q is no URL of the form http://HOST:PORT", given)
	}
	return strings.TrimSuffix(base, "/"), nil
}

// Members lists the peers of the group.
func (c *Client) Members(ctx context.Context) ([]Member, error) {
	return get[[]Member](ctx, c, "members")
}

// Status describes the peer that is asked.
func (c *Client) Status(ctx context.Context) (Status, error) {
	return get[Status](ctx, c, "status")
}

// GetKV returns one value. Its error is of KindNotFound when there is none.
func (c *Client) GetKV(ctx context.Context, namespace, key string) (KV, error) {
	return get[KV](ctx, c, "kv", namespace, key)
}

// ListKV returns all keys of a namespace.
func (c *Client) ListKV(ctx context.Context, namespace string) (map[string]string, error) {
	return get[map[string]string](ctx, c, "kv", namespace)
}

// PutKV stores a value.
func (c *Client) PutKV(ctx context.Context, namespace, key, value string) error {
	return c.call(ctx, request{method: http.MethodPut, path: path("kv", namespace, key), body: putBody{Value: &value}}, nil)
}

// DeleteKV removes a key. Its error is of KindNotFound when there is none.
func (c *Client) DeleteKV(ctx context.Context, namespace, key string) error {
	return c.call(ctx, request{method: http.MethodDelete, path: path("kv", namespace, key)}, nil)
}

// Topics returns the names of all topics.
func (c *Client) Topics(ctx context.Context) ([]string, error) {
	return get[[]string](ctx, c, "topics")
}

// Route returns the route of a topic as the server wrote it.
func (c *Client) Route(ctx context.Context, topic string) (json.RawMessage, error) {
	return get[json.RawMessage](ctx, c, "topics", topic, "route")
}

// DeleteTopic removes a topic from one cluster, or from all when cluster is "". Its
// error is of KindNotFound when there is none.
func (c *Client) DeleteTopic(ctx context.Context, topic, cluster string) error {
	target := path("topics", topic)
	if cluster != "" {
		target += "?cluster=" + url.QueryEscape(cluster)
	}
	return c.call(ctx, request{method: http.MethodDelete, path: target}, nil)
}

// Brokers lists every registered broker address.
func (c *Client) Brokers(ctx context.Context) ([]Broker, error) {
	return get[[]Broker](ctx, c, "brokers")
}

// WipeWrite takes the write permission from a broker's queues and returns how
// many topics were changed. Its error is of KindNotFound for an unknown broker.
func (c *Client) WipeWrite(ctx context.Context, broker string) (int, error) {
	return c.permission(ctx, broker, "wipe-write")
}

// AddWrite gives the write permission back and returns how many topics were changed.
// Its error is of KindNotFound for an unknown broker.
func (c *Client) AddWrite(ctx context.Context, broker string) (int, error) {
	return c.permission(ctx, broker, "add-write")
}

func (c *Client) permission(ctx context.Context, broker, verb string) (int, error) {
	var counted countBody
	err := c.call(ctx, request{method: http.MethodPost, path: path("brokers", broker, verb)}, &counted)
	return counted.Count, err
}

// NotReady asks /readyz: no reasons mean that the peer is ready.
func (c *Client) NotReady(ctx context.Context) (reasons []string, err error) {
	status, text, err := c.do(ctx, request{method: http.MethodGet, path: "/readyz"})
	switch {
	case err != nil:
		return nil, err
	case status == http.StatusOK:
		return nil, nil
	case status == http.StatusServiceUnavailable:
		return strings.Split(strings.TrimSpace(string(text)), "\n"), nil
	}
	return nil, fmt.Errorf("%s/readyz answered %d: is this the HTTP port of a namesrv?", c.base, status)
}
