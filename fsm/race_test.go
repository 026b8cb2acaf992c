package fsm

import "testing"

// TestRegistrationOutrunsItsExpiry promises that an address which registered between the look of the one who judged it
// silent and the removal stays, also when that registration changed nothing in the tables.
func TestRegistrationOutrunsItsExpiry(t *testing.T) {
	b := reg("x", 0, "A")
	for _, tc := range []struct {
		name    string
		between func(w *world)
		stays   bool
	}{
		{"nothing", func(*world) {}, false},
		{"another broker's registration", func(w *world) { w.register(reg("y", 0, "B")) }, false},
		{"unchanged registration", func(w *world) { w.register(b) }, true},
		{"unchanged registration of a new connection", func(w *world) { w.apply(EncodeTouch(Key("c", "A"), 1)) }, true},
		{"changed registration", func(w *world) { w.register(reg("x", 0, "A", version(0, 2, 2))) }, true},
		{"absence and return", func(w *world) { w.apply(EncodeUnregister(unreg(b))); w.register(b) }, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t)
			w.register(b)
			judged := []Expired{{Key("c", "A"), w.state().Live("c", "A").Registered}}
			tc.between(w)
			w.apply(EncodeExpire(judged))
			if stays := w.state().Live("c", "A") != nil && w.members("x") == "0=A" && w.perm("t1", "x") == 6; stays != tc.stays {
				t.Errorf("stays: %v, want %v", stays, tc.stays)
			}
		})
	}
}
