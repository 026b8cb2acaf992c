package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"namesrv/admin"
	"namesrv/fsm"
)

// TestImportIsCheckedWhole puts what cannot be stored behind what can.
func TestImportIsCheckedWhole(t *testing.T) {
	tests := map[string]struct {
		file string
		want []string
	}{
		"empty object":    {`{}`, []string{`no object "configTable"`}},
		"another object":  {`{"other":1}`, []string{`no object "configTable"`}},
		"no table":        {`{"configTable":null}`, []string{`no object "configTable"`}},
		"empty namespace": {`{"configTable":{"":{"k":"v"},"A":{"k":"v"}}}`, []string{"a namespace without a name"}},
		"empty key":       {`{"configTable":{"A":{"k":"v"},"B":{"":"v"}}}`, []string{`key "" of namespace B`, "the key is empty"}},
		"no UTF-8":        {"{\"configTable\":{\"A\":{\"k\":\"v\"},\"B\":{\"bad\":\"\xff\"}}}", []string{"key bad of namespace B", "UTF-8"}},
		"large value":     {`{"configTable":{"A":{"k":"v"},"B":{"big":"` + strings.Repeat("v", 4<<20) + `"}}}`, []string{"key big of namespace B", "may take"}},
		"long key":        {`{"configTable":{"A":{"k":"v"},"B":{"` + strings.Repeat("k", 1<<16) + `":"v"}}}`, []string{"kkk... of namespace B", "may take"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			p := servePeer(t, "")
			p.kv = map[string]map[string]string{}
			got := runProgram(t, "kv", "import", writeFile(t, tc.file))
			got.oneLine(t, exitFailed, append(tc.want, "nothing was changed")...)
			if strings.Contains(got.stderr, "again") || len(got.stderr) > 1000 {
				t.Errorf("%.2000s", got.stderr)
			}
			if diff := cmp.Diff(map[string]map[string]string{}, p.kv); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestImportSaysWhetherToTryAgain(t *testing.T) {
	file := writeFile(t, `{"configTable":{"NS":{"k":"v"}}}`)
	tests := map[string]struct {
		err   error
		code  int
		again bool
	}{
		"no leader": {admin.ErrNoLeader, exitNoLeader, true},
		"refused":   {admin.ErrRefused, exitFailed, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			servePeer(t, "").err = tc.err
			got := runProgram(t, "kv", "import", file)
			got.oneLine(t, tc.code, "0 of 1 key is stored", "key k of namespace NS")
			if strings.Contains(got.stderr, "run it again") != tc.again {
				t.Error(got.stderr)
			}
		})
	}
	runProgram(t, "kv", "import", "--timeout", "0s", file).oneLine(t, exitUsage, "--timeout")
}

// TestCheckEntryKnowsTheLog has names and value that only together are too large.
func TestCheckEntryKnowsTheLog(t *testing.T) {
	entry := admin.KV{Namespace: "NS", Key: strings.Repeat("k", 1<<12), Value: strings.Repeat("v", fsm.MaxCommand-1<<12)}
	if err := checkEntry(entry, true); err == nil || !strings.Contains(err.Error(), "of the log") {
		t.Error(err)
	}
}
