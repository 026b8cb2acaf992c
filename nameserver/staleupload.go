package nameserver

import (
	"context"
	"time"

	"namesrv/cluster"
	"namesrv/fsm"
)

// A restore of which nothing has arrived for uploadLooks looks is dropped: the peer
// that sent it is gone, and all peers keep its parts. Looks are counted, not time: a
// leader that was stopped and goes on has seen nothing in between.
const (
	uploadLook  = 5 * time.Second
	uploadLooks = 12
)

// staleUpload counts for how many looks a restore has not moved.
type staleUpload struct {
	id    string
	have  uint64
	looks int
}

// look takes note of the tables and says whether the restore in them is to be dropped.
func (u *staleUpload) look(s *fsm.State) bool {
	id, have := s.Uploading()
	if id != u.id || have != u.have {
		*u = staleUpload{id: id, have: have}
	}
	u.looks++
	return id != "" && u.looks > uploadLooks
}

// dropUploads ends restores that nobody goes on with, while this peer leads.
func (c *Clock) dropUploads(ctx context.Context, lead cluster.Leadership) {
	c.watchUploads(ctx, func(ctx context.Context, command []byte) error {
		_, err := lead.Node.ProposeInTerm(ctx, lead.Term, command)
		return err
	})
}

func (c *Clock) watchUploads(ctx context.Context, propose func(ctx context.Context, command []byte) error) {
	t := time.NewTicker(uploadLook)
	defer t.Stop()
	var seen staleUpload
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		if !seen.look(c.tables.State()) {
			continue
		}
		c.log.Warn("a restore that nobody goes on with is dropped", "restore", seen.id, "bytes", seen.have)
		pctx, cancel := context.WithTimeout(ctx, expireTimeout)
		if err := propose(pctx, fsm.EncodeDropUpload(seen.id, seen.have)); err != nil {
			c.log.Warn("an unfinished restore was not dropped; it is tried again", "restore", seen.id, "error", err)
		}
		cancel()
	}
}
