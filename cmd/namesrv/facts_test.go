package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"namesrv/fsm"
	"namesrv/internal/settings"
)

func factsOf(t *testing.T, kvConfig string) (map[string]string, error) {
	t.Helper()
	home := t.TempDir()
	if kvConfig != "" {
		if err := os.MkdirAll(filepath.Join(home, "namesrv"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(home, "namesrv", "kvConfig.json"), []byte(kvConfig), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	loaded, _, err := settings.Load(settings.Source{Home: home, File: map[string]string{"orderMessageEnable": "true"}})
	if err != nil {
		t.Fatal(err)
	}
	return loadFacts(&serverConfig{Settings: loaded, DataDir: t.TempDir()})
}

func TestStockKVIsTakenOver(t *testing.T) {
	facts, err := factsOf(t, `{"configTable":{"ORDER_TOPIC_CONFIG":{"Topic A":"broker-a:8"},"n 1":{},"":{"k":"v"}}}`)
	if err != nil {
		t.Fatal(err)
	}
	tables := fsm.New()
	tables.Apply(1, initCommand(facts))
	got := map[string]map[string]string{}
	for ns := range tables.State().Namespaces() {
		got[ns.Name] = map[string]string{}
		for k, v := range ns.All() {
			got[ns.Name][k] = v
		}
	}
	want := map[string]map[string]string{"ORDER_TOPIC_CONFIG": {"Topic A": "broker-a:8"}, "n 1": {}, "": {"k": "v"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if !tables.State().Options().OrderMessageEnable {
		t.Error("the file's setting is not in force")
	}
}

func TestNoStockKVIsNoOpinion(t *testing.T) {
	facts, err := factsOf(t, "")
	if diff := cmp.Diff(map[string]string{"orderMessageEnable": "true"}, facts); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
}

func TestStockKVThatIsCutIsRefused(t *testing.T) {
	for name, content := range map[string]string{"cut in half": `{"configTable":{"ORDER_TOPIC_CONFIG":{"Top`, "blank": " ", "trailing garbage": `{"configTable":{}}}`} {
		t.Run(name, func(t *testing.T) {
			facts, err := factsOf(t, content)
			if err == nil || !strings.Contains(err.Error(), "kvConfig.json cannot be taken over") {
				t.Errorf("%v, %v; want a refusal that names the file", facts, err)
			}
		})
	}
}
