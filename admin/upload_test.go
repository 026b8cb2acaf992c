package admin

import (
	"errors"
	"io"
	"testing"
)

func TestUploadEnds(t *testing.T) {
	tests := []struct {
		name  string
		read  int
		whole bool
	}{
		{"nothing was read", 0, false},
		{"a part was read", 2, false},
		{"all was read", 3, true},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			u := newUpload([]byte("abc"))
			if _, err := io.ReadFull(u, make([]byte, tc.read)); err != nil {
				t.Fatal(err)
			}
			if whole := u.end(); whole != tc.whole {
				t.Errorf("sent whole: %v", whole)
			}
			if n, err := u.Read(make([]byte, 1)); n != 0 || !errors.Is(err, errUploadEnded) {
				t.Errorf("gave %d bytes after its end, %v", n, err)
			}
		})
	}
}
