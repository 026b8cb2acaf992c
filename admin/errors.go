package admin

import (
	"context"
	"errors"
	"fmt"
	"net/http"
)

// Kind is the machine-readable word of a failed call.
type Kind string

// The kinds of failures and the HTTP status each comes with.
const (
	KindBadRequest   Kind = "bad_request"  // 400
	KindUnauthorized Kind = "unauthorized" // 401: token missing or wrong
	KindForbidden    Kind = "forbidden"    // 403: a browser, from a foreign page
	KindNotFound     Kind = "not_found"    // 404
	KindTooLarge     Kind = "too_large"    // 413
	KindInternal     Kind = "internal"     // 500
	KindNoLeader     Kind = "no_leader"    // 503: nothing was changed
	KindRefused      Kind = "refused"      // 409: it would do harm or makes no sense; nothing was changed
	KindTimeout      Kind = "timeout"      // 504: a change may or may not have been made
)

// status returns the HTTP status of a kind.
func (k Kind) status() int {
	switch k {
	case KindBadRequest:
		return http.StatusBadRequest
	case KindUnauthorized:
		return http.StatusUnauthorized
	case KindForbidden:
		return http.StatusForbidden
	case KindNotFound:
		return http.StatusNotFound
	case KindRefused:
		return http.StatusConflict
	case KindTooLarge:
		return http.StatusRequestEntityTooLarge
	case KindNoLeader:
		return http.StatusServiceUnavailable
	case KindTimeout:
		return http.StatusGatewayTimeout
	default:
		return http.StatusInternalServerError
	}
}

// Error is a call that a server answered with a failure.
type Error struct {
	Kind    Kind   `json:"kind"`
	Message string `json:"error"`
}

// Error implements error.
func (e *Error) Error() string { return e.Message }

// Is makes errors.Is find ErrNoLeader and context.DeadlineExceeded on the
// client's side as they were on the server's.
func (e *Error) Is(target error) bool {
	switch target {
	case ErrNoLeader:
		return e.Kind == KindNoLeader
	case ErrRefused:
		return e.Kind == KindRefused
	case context.DeadlineExceeded:
		return e.Kind == KindTimeout
	}
	return false
}

// failure makes an Error of a kind.
func failure(kind Kind, format string, args ...any) *Error {
	return &Error{Kind: kind, Message: fmt.Sprintf(format, args...)}
}

// asError gives any error its kind; what is not known to be anything else is internal.
func asError(err error) *Error {
	var known *Error
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &tooLarge):
		return failure(KindTooLarge, "the body is longer than %d bytes", tooLarge.Limit)
	case errors.Is(err, ErrNoLeader):
		return failure(KindNoLeader, "%v", err)
	case errors.Is(err, ErrRefused):
		return failure(KindRefused, "%v", err)
	case errors.Is(err, context.DeadlineExceeded):
		return failure(KindTimeout, "no answer in time: %v", err)
	}
	return failure(KindInternal, "%v", err)
}
