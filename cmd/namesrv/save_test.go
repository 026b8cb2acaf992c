package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"
	"pgregory.net/rapid"

	"namesrv/internal/properties"
	"namesrv/internal/settings"
)

// readSettings reads a file as the next start does.
func readSettings(t rapid.TB, path string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	kept, err := properties.Parse(text)
	if err != nil {
		t.Fatalf("the next start cannot read %q: %v", text, err)
	}
	return kept
}

func TestSavedSettingsAreReadAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ns.properties")
	rapid.Check(t, func(t *rapid.T) {
		anything := rapid.MapOf(rapid.String(), rapid.String())
		want, changes := anything.Draw(t, "file"), anything.Draw(t, "changes")
		if err := os.WriteFile(path, properties.Format(want), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := saveTo(path)(changes); err != nil {
			t.Fatal(err)
		}
		for name, value := range changes {
			want[name] = value
		}
		if diff := cmp.Diff(want, readSettings(t, path)); diff != "" {
			t.Errorf("read again (-want +got):\n%s", diff)
		}
	})
}

func TestSavedSettingsAreTheFilesOwnAndTheChanges(t *testing.T) {
	path := writeFile(t, "# by hand\ntls.server.keyPassword=pa\\\\ss\nmy.extra = \\ x\nlistenPort=1\n")
	mustLoadConfig(t, "-c", path)
	if _, err := saveTo(path)(map[string]string{"productEnvName": `C:\users\x`}); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"tls.server.keyPassword": `pa\ss`, "my.extra": " x", "listenPort": "1", "productEnvName": `C:\users\x`}
	if diff := cmp.Diff(want, readSettings(t, path)); diff != "" {
		t.Errorf("saved (-want +got):\n%s", diff)
	}
	cfg := mustLoadConfig(t, "-c", path)
	if got, _ := cfg.Settings.Value("productEnvName"); got != `C:\users\x` {
		t.Errorf("at the next start: %q", got)
	}
}

func TestSavedSettingsAreTakenBack(t *testing.T) {
	text := "# by hand\na = 1\n"
	path := writeFile(t, text)
	fresh := filepath.Join(t.TempDir(), "sub", "ns.properties")
	for _, path := range []string{path, fresh} {
		undo, err := saveTo(path)(map[string]string{"b": "2"})
		if err != nil {
			t.Fatal(err)
		}
		if got := readSettings(t, path)["b"]; got != "2" {
			t.Errorf("saved b=%q", got)
		}
		if err := undo(); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(path); string(got) != text {
		t.Errorf("afterwards %q, %v", got, err)
	}
	if _, err := os.Stat(fresh); !os.IsNotExist(err) {
		t.Errorf("a file that was not there before: %v", err)
	}
}

func TestSettingsThatCannotBeSaved(t *testing.T) {
	tests := []struct {
		name  string
		text  string
		spoil func(path string) error
		says  string
	}{
		{"a folder is in the way of the old content", "a=1\n", func(path string) error { return os.Mkdir(path+".bak", 0o755) }, ".bak is no regular file"},
		{"the file was spoilt since the start", "b=\\u12\n", func(string) error { return nil }, "line 1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := writeFile(t, tt.text)
			if err := tt.spoil(path); err != nil {
				t.Fatal(err)
			}
			if _, err := saveTo(path)(map[string]string{"a": "2"}); err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("error %v, want %q", err, tt.says)
			}
			if got, err := os.ReadFile(path); string(got) != tt.text {
				t.Errorf("the file is %q, %v", got, err)
			}
		})
	}
}

// TestSettingsWithoutAFileAreChangedAllTheSame promises that a server which was started without -c takes changes also
// where its default file cannot be written, and that one with -c does not.
func TestSettingsWithoutAFileAreChangedAllTheSame(t *testing.T) {
	blocked := filepath.Join(writeFile(t, "x"), "ns.properties") // below a file
	for _, given := range []string{"", blocked} {
		base, _, err := settings.Load(settings.Source{File: map[string]string{"configStorePath": blocked}})
		if err != nil {
			t.Fatal(err)
		}
		cfg := &serverConfig{ConfigFile: given, Settings: base, Logger: hclog.NewNullLogger()}
		undo, err := cfg.saveSettings()(map[string]string{"listenPort": "2"})
		if (err == nil) != (given == "") {
			t.Errorf("-c %q: %v", given, err)
		}
		if err == nil && undo() != nil {
			t.Error("nothing was kept, and it cannot be taken back")
		}
	}
}
