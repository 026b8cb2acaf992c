package fsm

import (
	"testing"

	"namesrv/remoting/protocol"
)

func TestDigestIsOfWhatARestoreBringsBack(t *testing.T) {
	saved := sample(t)
	want := must(saved.state().Digest())
	restored := newWorld(t)
	restored.apply(EncodeInit(map[string]string{"orderMessageEnable": "true"}, nil))
	for _, c := range must(commandsOf("r", saved.snapshot())) {
		if r := restored.apply(c); r.Code != protocol.Success {
			t.Fatalf("%+v", r)
		}
	}
	if got := must(restored.state().Digest()); got != want {
		t.Errorf("restored elsewhere: %s, want %s", got, want)
	}
	for name, change := range map[string][]byte{
		"kv":         EncodePutKV("n", "k", "v"),
		"permission": EncodeAddWrite("y"),
		"broker":     EncodeRegister(reg("z", 0, "Z")),
	} {
		w := sample(t)
		w.apply(change)
		if must(w.state().Digest()) == want {
			t.Errorf("%s: tables changed and the digest did not", name)
		}
	}
}
