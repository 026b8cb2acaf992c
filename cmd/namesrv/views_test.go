package main

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"namesrv/admin"
	"namesrv/cluster"
	"namesrv/nameserver"
)

// Errors of the group keep their words, each of them once, and get a kind.
func TestErrorsOfTheGroup(t *testing.T) {
	late := context.DeadlineExceeded
	tests := []struct {
		name string
		err  error
		kind admin.Kind
	}{
		{"no leader", fmt.Errorf("%w: %w", cluster.ErrNoLeader, late), admin.KindNoLeader},
		{"absent", nameserver.ErrAbsent, admin.KindNotFound},
		{"refused", fmt.Errorf("%w: it is the last peer", cluster.ErrRefused), admin.KindRefused},
		{"refused by the service", fmt.Errorf("%w: there is no setting x", nameserver.ErrRefused), admin.KindRefused},
		{"not known to all", cluster.ErrTooNew, admin.KindRefused},
		{"open", fmt.Errorf("%w: %w", cluster.ErrUnknownOutcome, late), admin.KindTimeout},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			got := translate(tc.err)
			var known *admin.Error
			if !errors.As(got, &known) || known.Kind != tc.kind || got.Error() != tc.err.Error() {
				t.Errorf("%v (%T), want kind %s and the words %v", got, got, tc.kind, tc.err)
			}
		})
	}
}
