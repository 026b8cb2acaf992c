package settings

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// ErrRefused is wrapped by every error of Load and With: the values were
// understood and could not work. Nothing was changed.
var ErrRefused = errors.New("setting refused")

// Settings is one complete set of settings. The zero value has every default
// except the paths, which depend on the machine.
type Settings struct {
	set map[string]string // every key that was given a value, known or not; never changed
}

// Source is where the first values of a server come from.
type Source struct {
	File         map[string]string // contents of the configuration file, nil without one
	Lines        map[string]int    // where in the file each of its keys stands, for messages; may be nil
	ConfigFile   string            // its path, "" without one
	Home         string            // the user's home directory, for the stock default paths
	RocketMQHome string            // value of ROCKETMQ_HOME, shown and otherwise unused
}

// Load makes the settings of a server that starts. The warnings are for its log,
// one line each: unknown keys. Both name the line of Source.Lines. The error wraps ErrRefused and names every setting
// that cannot work, or whose value is no value of its kind: the stock server starts
// with another value than was written.
//
// As in the stock server the file's path becomes configStorePath, whatever the
// file says about it.
func Load(src Source) (Settings, []string, error) {
	base := Settings{set: map[string]string{
		KVConfigPath:    filepath.Join(src.Home, "namesrv", "kvConfig.json"),
		ConfigStorePath: filepath.Join(src.Home, "namesrv", "namesrv.properties"),
		RocketMQHome:    strings.TrimSpace(src.RocketMQHome),
	}}
	if bad := unreadable(src.File, src.Lines); len(bad) > 0 {
		return Settings{}, nil, fmt.Errorf("%w: %s", ErrRefused, strings.Join(bad, "; "))
	}
	loaded, warnings, err := base.with(src.File, src.Lines)
	if err != nil {
		return Settings{}, warnings, err
	}
	if src.ConfigFile != "" {
		loaded.set[ConfigStorePath] = src.ConfigFile
	}
	return loaded, warnings, nil
}

// Unreadable says, one line each, which of the values are no values of their
// settings' kinds. With takes such a value as the stock server does.
func Unreadable(values map[string]string) []string { return unreadable(values, nil) }

func unreadable(values map[string]string, lines map[string]int) []string {
	var bad []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if key, known := byName[name]; known {
			if _, _, problem := key.convert(values[name]); problem != "" {
				bad = append(bad, place(lines, name)+name+": "+problem)
			}
		}
	}
	return bad
}

// Accepted returns those of the given changes that With takes for known settings,
// as it takes them: a number that does not parse and a key that nobody knows are not
// among them. They are what a file must hold for the same effect at the next start.
func Accepted(changes map[string]string) map[string]string {
	accepted := make(map[string]string, len(changes))
	for name, given := range changes {
		if key, known := byName[name]; known {
			if value, ok, _ := key.convert(given); ok {
				accepted[name] = value
			}
		}
	}
	return accepted
}

// place begins a message about a setting, with the line on which it was given.
func place(lines map[string]int, name string) string {
	if line, known := lines[name]; known {
		return fmt.Sprintf("line %d: ", line)
	}
	return ""
}

// With returns the settings with the given changes and leaves s alone. The warnings
// name unknown keys, and values that do not parse: a boolean counts as false then,
// a number keeps the value it had. Errors are those of Load; after an error nothing
// of changes holds.
func (s Settings) With(changes map[string]string) (Settings, []string, error) {
	return s.with(changes, nil)
}

func (s Settings) with(changes map[string]string, lines map[string]int) (Settings, []string, error) {
	var warnings, problems []string
	next := Settings{set: maps.Clone(s.set)}
	if next.set == nil {
		next.set = make(map[string]string, len(changes))
	}
	for _, name := range slices.Sorted(maps.Keys(changes)) {
		key, known := byName[name]
		if !known {
			next.set[name] = changes[name]
			warnings = append(warnings, fmt.Sprintf("%sunknown setting %q: kept for display, without effect", place(lines, name), name))
			continue
		}
		value, ok, problem := key.convert(changes[name])
		switch {
		case problem != "" && ok:
			warnings = append(warnings, fmt.Sprintf("setting %s: %s and counts as %s", name, problem, value))
		case problem != "":
			warnings = append(warnings, fmt.Sprintf("setting %s: %s and is passed over", name, problem))
		}
		if !ok {
			continue
		}
		next.set[name] = value
		if problem := key.check(value); problem != "" {
			problems = append(problems, place(lines, name)+name+" "+problem)
		}
	}
	problems = append(problems, next.contradictions()...)
	if len(problems) > 0 {
		return s, warnings, fmt.Errorf("%w: %s", ErrRefused, strings.Join(problems, "; "))
	}
	return next, warnings, nil
}

// contradictions finds what is wrong only in combination.
func (s Settings) contradictions() []string {
	low, high := s.integer(LowWaterMark), s.integer(HighWaterMark)
	if high > 0 && low > high {
		return []string{fmt.Sprintf("%s=%d is above %s=%d", LowWaterMark, low, HighWaterMark, high)}
	}
	return nil
}

// Value returns the value in force for a known key, or the value given for an
// unknown one; false when there is neither.
func (s Settings) Value(name string) (string, bool) {
	if value, ok := s.set[name]; ok {
		return value, true
	}
	key, known := byName[name]
	return key.Default, known
}

// ClusterOptions returns those settings of the whole cluster that were given a
// value here: a new cluster starts with them, and its first peers must not differ
// in them. A peer that was given none has no opinion.
func (s Settings) ClusterOptions() map[string]string {
	options := make(map[string]string)
	for _, key := range table {
		if value, given := s.set[key.Name]; given && key.Cluster {
			options[key.Name] = value
		}
	}
	return options
}

// Apart divides changes into those of the whole cluster, which the replicated
// state takes, and those of this peer, unknown keys among them.
func Apart(changes map[string]string) (cluster, own map[string]string) {
	cluster, own = make(map[string]string), make(map[string]string)
	for name, value := range changes {
		if byName[name].Cluster {
			cluster[name] = value
			continue
		}
		own[name] = value
	}
	return cluster, own
}

// Forbidden returns, sorted, those of names that the client port may not change:
// the stock black list (fixed names and configBlackList), and every setting of the
// server's own, since nothing on that port may touch membership or files.
func (s Settings) Forbidden(names []string) []string {
	listed := []string{ConfigBlackList, ConfigStorePath, KVConfigPath, RocketMQHome}
	extra, _ := s.Value(ConfigBlackList)
	for name := range strings.SplitSeq(extra, ";") {
		listed = append(listed, strings.TrimSpace(name))
	}
	var forbidden []string
	for _, name := range names {
		if byName[name].Own || slices.Contains(listed, name) {
			forbidden = append(forbidden, name)
		}
	}
	slices.Sort(forbidden)
	return forbidden
}

// Shown returns what the stock answer to GET_NAMESRV_CONFIG holds: every stock key,
// every unknown key that was given, and those of the server's own that have a value
// and are no secret. The map is the caller's.
func (s Settings) Shown() map[string]string {
	shown := maps.Clone(s.set)
	if shown == nil {
		shown = make(map[string]string)
	}
	for _, key := range table {
		value, _ := s.Value(key.Name)
		if key.Own && value == "" || key.Secret {
			delete(shown, key.Name)
			continue
		}
		shown[key.Name] = value
	}
	return shown
}

// Render writes what Shown returns as the stock server does: one key=value line
// each, sorted, in UTF-8 and not escaped. Only line breaks inside a value are, or
// they would look like further settings. It is for people and for the wire; read as
// properties, values with a backslash come out as others. Files are written by
// properties.Format.
func (s Settings) Render() []byte {
	shown := s.Shown()
	breaks := strings.NewReplacer("\n", `\n`, "\r", `\r`)
	var text []byte
	for _, name := range slices.Sorted(maps.Keys(shown)) {
		text = append(text, breaks.Replace(name)...)
		text = append(text, '=')
		text = append(text, breaks.Replace(shown[name])...)
		text = append(text, '\n')
	}
	return text
}
