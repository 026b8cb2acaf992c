package main

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/urfave/cli/v2"

	"namesrv/admin"
)

var (
	jsonHeading = regexp.MustCompile(`^## (.+)$`)
	jsonField   = regexp.MustCompile("^\\| `([a-z_.]+)` \\|")
)

// documentedFields reads json.md: the fields of each command.
func documentedFields(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(pagesDir, "json.md"))
	if err != nil {
		t.Fatal(err)
	}
	fields := make(map[string][]string)
	command := ""
	for line := range strings.Lines(string(text)) {
		if heading := jsonHeading.FindStringSubmatch(strings.TrimSpace(line)); heading != nil {
			command = heading[1]
			fields[command] = nil
		}
		if field := jsonField.FindStringSubmatch(line); field != nil {
			fields[command] = append(fields[command], field[1])
		}
	}
	return fields
}

// fieldsOf lists the fields of a JSON value, those of list elements included.
func fieldsOf(value any, prefix string, into map[string]bool) {
	switch v := value.(type) {
	case []any:
		for _, element := range v {
			fieldsOf(element, prefix, into)
		}
	case map[string]any:
		for name, member := range v {
			fieldsOf(member, strings.TrimPrefix(prefix+"."+name, "."), into)
		}
	default:
		into[prefix] = true
	}
}

// outputs is a call of each command that takes -o. Files are in the folder that it
// runs in.
var outputs = map[string]string{
	"cluster members":   "",
	"cluster status":    "",
	"cluster join":      "n4 ns4:9875",
	"cluster remove":    "n2",
	"cluster transfer":  "n2",
	"cluster health":    "",
	"kv get":            "NS k",
	"kv put":            "NS k v",
	"kv delete":         "NS a",
	"kv list":           "NS",
	"kv import":         "kv.json",
	"kv export":         "new.json",
	"topic list":        "",
	"topic route":       "%RETRY%g/中",
	"topic delete":      "T",
	"broker list":       "",
	"broker wipe-write": "b",
	"broker add-write":  "b",
	"config get":        "",
	"config set":        "orderMessageEnable=true",
	"snapshot save":     "new.save",
	"snapshot inspect":  "old.save",
	"snapshot restore":  "old.save",
	"snapshot status":   "",
	"recover":           "--data-dir member",
	"tls ca":            "--dir .",
	"tls cert":          "ns1 --dir with-ca",
	"version":           "",
}

// prepareOutputs makes what the calls of outputs need in the current folder.
func prepareOutputs(t *testing.T) *fakePeer {
	t.Helper()
	t.Chdir(t.TempDir())
	p := servePeer(t, "")
	p.snapshot, p.leader = tablesOf(t), "n1"
	member := openMember(t, "member")
	if err := member.Close(); err != nil {
		t.Fatal(err)
	}
	err := os.WriteFile("kv.json", []byte(`{"configTable":{"NS":{"k":"v"}}}`), 0o600)
	if err == nil {
		err = os.Mkdir("with-ca", 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range []string{"tls ca --dir with-ca", "snapshot save old.save"} {
		if got := runProgram(t, strings.Fields(args)...); got.code != exitDone {
			t.Fatalf("%s: %+v", args, got)
		}
	}
	return p
}

func TestEveryOutputInJSONIsDocumented(t *testing.T) {
	documented := documentedFields(t)
	prepareOutputs(t)
	var commands []string
	everyCommand(func(command *cli.Command, path []string) {
		if flag, _ := flagOf(command, "-o"); flag != nil {
			commands = append(commands, strings.Join(path, " "))
		}
	})
	slices.Sort(commands)
	if diff := cmp.Diff(commands, slices.Sorted(maps.Keys(documented))); diff != "" {
		t.Errorf("commands with -o, and those of json.md (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(commands, slices.Sorted(maps.Keys(outputs))); diff != "" {
		t.Errorf("commands with -o, and those of this test (-want +got):\n%s", diff)
	}
	for _, command := range commands {
		t.Run(command, func(t *testing.T) {
			got := runProgram(t, append(strings.Fields(command+" "+outputs[command]), "-o", "json")...)
			if command != "cluster health" && (got.code != exitDone || got.stderr != "") {
				t.Fatalf("%+v", got)
			}
			want := slices.Sorted(slices.Values(documented[command]))
			found := make(map[string]bool)
			fieldsOf(decoded(t, got.stdout), "", found)
			if strings.Contains(got.stdout, "null") {
				t.Errorf("a null: %s", got.stdout)
			}
			if len(want) == 0 {
				return // a value without fields of its own
			}
			for _, field := range want {
				if strings.Contains(got.stdout, `"`+field+`": []`) {
					found[field] = true // a list that is empty here
				}
			}
			if diff := cmp.Diff(want, slices.Sorted(maps.Keys(found))); diff != "" {
				t.Errorf("fields, json.md against the answer (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFailuresPrintNoJSON(t *testing.T) {
	p := prepareOutputs(t)
	p.err = admin.ErrNoLeader
	for command, args := range outputs {
		if offline(command) || command == "cluster status" || command == "cluster health" {
			continue
		}
		t.Run(command, func(t *testing.T) {
			got := runProgram(t, append(strings.Fields(command+" "+args), "-o", "json")...)
			got.oneLine(t, exitNoLeader, "no leader")
		})
	}
}

// offline says whether a command asks no server.
func offline(command string) bool {
	return strings.HasPrefix(command, "tls ") || slices.Contains([]string{"recover", "version", "snapshot inspect"}, command)
}
