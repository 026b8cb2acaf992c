package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// maxAnswer bounds what a client reads, in bytes.
const maxAnswer = 256 << 20

// request is one call: body, when there is one, is sent as JSON.
type request struct {
	method string
	path   string // escaped, with its query
	body   any
	upload *upload // sent as it is when there is no body
}

// get makes a call that reads one value.
func get[T any](ctx context.Context, c *Client, segments ...string) (value T, err error) {
	err = c.call(ctx, request{method: http.MethodGet, path: path(segments...)}, &value)
	return value, err
}

// call makes a call of the API and decodes its answer, if the caller wants one.
func (c *Client) call(ctx context.Context, req request, into any) error {
	status, text, err := c.do(ctx, req)
	if err != nil {
		return err
	}
	if status < 200 || status > 299 {
		return c.answeredError(status, text)
	}
	if into == nil {
		return nil
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("%s%s answered what cannot be read (%w): is this the HTTP port of a namesrv?", c.base, req.path, err)
	}
	return nil
}

// answeredError reads a failure. Something else than a server of ours may have
// answered, then the status is all there is.
func (c *Client) answeredError(status int, text []byte) error {
	var failed Error
	if json.Unmarshal(text, &failed) == nil && failed.Kind != "" {
		return &failed
	}
	if strings.Contains(string(text), "HTTP request to an HTTPS server") { // as net/http says it
		return notTaken{errors.New("the port speaks HTTPS: begin the URL with https://")}
	}
	err := fmt.Errorf("%s answered %d %s: is this the HTTP port of a namesrv?", c.base, status, http.StatusText(status))
	if status < http.StatusInternalServerError {
		return notTaken{err}
	}
	return err // of a proxy perhaps, that has passed the call on
}

// http makes the request as it is sent.
func (req request) http(ctx context.Context, base string) (*http.Request, error) {
	var body io.Reader
	switch {
	case req.body != nil:
		encoded, err := json.Marshal(req.body)
		if err != nil {
			return nil, fmt.Errorf("encode request: %w", err)
		}
		body = bytes.NewReader(encoded)
	case req.upload != nil:
		body = req.upload
	}
	r, err := http.NewRequestWithContext(ctx, req.method, base+req.path, body)
	if err != nil {
		return nil, fmt.Errorf("make request: %w", err)
	}
	if req.upload != nil {
		r.ContentLength = req.upload.size
		r.Header.Set("Expect", "100-continue") // so that a refusal is read, not cut off by what nobody takes
	}
	return r, nil
}

// send makes a call; the answer's body is for the caller to close.
func (c *Client) send(ctx context.Context, req request) (*http.Response, error) {
	r, err := req.http(ctx, c.base)
	if err != nil {
		return nil, err
	}
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	answer, err := c.http.Do(r)
	if err != nil {
		return nil, c.unreachable(ctx, err)
	}
	if c.unconfirmed != nil && answer.Header.Get(headerUnconfirmed) != "" {
		c.unconfirmed()
	}
	return answer, nil
}

func (c *Client) do(ctx context.Context, req request) (status int, text []byte, err error) {
	answer, err := c.send(ctx, req)
	if err != nil {
		return 0, nil, err
	}
	defer answer.Body.Close()
	text, err = c.readUpTo(ctx, answer, maxAnswer)
	if err != nil {
		return 0, nil, err
	}
	return answer.StatusCode, text, nil
}

// readUpTo reads an answer that has limit bytes at most.
func (c *Client) readUpTo(ctx context.Context, answer *http.Response, limit int64) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(answer.Body, limit+1))
	switch {
	case err != nil:
		return nil, c.unreachable(ctx, err)
	case int64(len(text)) > limit:
		return nil, fmt.Errorf("%s answered more than %d bytes: is this the HTTP port of a namesrv?", c.base, limit)
	}
	return text, nil
}

// unreachable keeps the end of a context apart from a broken connection.
func (c *Client) unreachable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", c.base, ctx.Err())
	}
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err // without it the whole URL and verb stand in the message
	}
	return fmt.Errorf("%w: %s: %w", ErrUnreachable, c.base, err)
}

// path joins names into an escaped path below /v1. Dots are escaped too where a
// server would take the segment for a step up.
func path(segments ...string) string {
	var joined strings.Builder
	joined.WriteString("/v1")
	for _, segment := range segments {
		escaped := url.PathEscape(segment)
		if segment == "." || segment == ".." {
			escaped = strings.ReplaceAll(segment, ".", "%2E")
		}
		joined.WriteString("/" + escaped)
	}
	return joined.String()
}
