package nameserver

import (
	"errors"

	"namesrv/remoting"
)

// ErrAbsent says that what was to be changed or removed certainly does not exist.
// Tools on the wire are told success all the same, as by the stock server.
var ErrAbsent = errors.New("nothing was changed")

// unlessAbsent drops ErrAbsent.
func unlessAbsent(err error) error {
	if errors.Is(err, ErrAbsent) {
		return nil
	}
	return err
}

// audited writes the line that says who asked for which change on the client port,
// and what came of it. The index is one at which this peer's tables show the change.
func (s *Service) audited(what string, c *remoting.Conn, err error, target ...any) {
	line := append([]any{"who", c.RemoteAddr()}, target...)
	if err != nil {
		s.audit.Info(what, append(line, "result", err.Error())...)
		return
	}
	s.audit.Info(what, append(line, "result", "done", "index", s.group.Applied())...)
}
