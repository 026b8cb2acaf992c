package main

import (
	"os"
	"strings"
	"testing"
)

// TestWhatATimeoutCanHaveChanged promises that a call that only reads is not said to
// have changed something perhaps, and that one that changes is.
func TestWhatATimeoutCanHaveChanged(t *testing.T) {
	for command, changes := range map[string]bool{
		"kv get NS k": false, "kv list NS": false, "topic list": false, "topic route T": false, "config get": false,
		"cluster members": false, "cluster health": false, "broker list": false,
		"kv put NS k v": true, "kv delete NS k": true, "topic delete T": true, "config set orderMessageEnable=true": true,
	} {
		t.Run(command, func(t *testing.T) {
			servePeer(t, "").block = true
			got := runProgram(t, append(strings.Fields(command), "--timeout", "50ms")...)
			got.oneLine(t, exitTimeout, "--timeout")
			if strings.Contains(got.stderr, "may have been made") != changes {
				t.Error(got.stderr)
			}
		})
	}
}

func TestWrongURLIsNamed(t *testing.T) {
	servePeer(t, "")
	url := strings.TrimSuffix(os.Getenv("NAMESRV_ADMIN"), "/") + "/elsewhere"
	runProgram(t, "cluster", "members", "--admin", url).oneLine(t, exitFailed, url+" answered 404", "is this the HTTP port")
}
