package admin

import (
	"bytes"
	"errors"
	"sync"
)

// ErrNotTaken is what errors.Is finds in the error of a call that no server of ours
// can have acted on: it was not sent whole, or something else answered that it takes
// no such thing.
var ErrNotTaken = errors.New("the call was not taken")

// notTaken marks an error, whose words stay as they are.
type notTaken struct{ error }

func (e notTaken) Unwrap() []error { return []error{e.error, ErrNotTaken} }

// upload is a large body that knows how much of it was sent at most. The transport
// may still read it when the call is over.
type upload struct {
	size int64

	mu    sync.Mutex // guards the fields below
	left  *bytes.Reader
	ended bool
}

func newUpload(data []byte) *upload {
	return &upload{size: int64(len(data)), left: bytes.NewReader(data)}
}

var errUploadEnded = errors.New("the call is over")

// Read gives no more once the upload has ended.
func (u *upload) Read(p []byte) (int, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.ended {
		return 0, errUploadEnded
	}
	return u.left.Read(p)
}

// end says whether all of it may have been sent; what was not by then never will be.
func (u *upload) end() (whole bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.ended = true
	return u.left.Len() == 0
}
