package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// keys tells how the integer keys of a body's maps are written; client parsers depend on it.
type keys string

const (
	noKeys    keys = "no integer keys"
	bareKeys  keys = "bare integer keys"
	quoted    keys = "quoted integer keys"
	mixedKeys keys = "mixed integer keys"
)

// quoteKeys makes standard JSON of the stock dialect {0:"a"}, and tells how keys were written and whether there was
// white space between tokens.
func quoteKeys(body []byte) (out []byte, style keys, spaced bool) {
	style = noKeys
	for i := 0; i < len(body); {
		end := tokenEnd(body, i)
		token := body[i:end]
		isKey := end < len(body) && body[end] == ':'
		switch {
		case bytes.ContainsRune([]byte(" \t\r\n"), rune(token[0])):
			spaced = true
		case isKey && integer.Match(token):
			style = style.and(bareKeys)
			token = fmt.Appendf(nil, "%q", token)
		case isKey && integer.Match(bytes.Trim(token, `"`)):
			style = style.and(quoted)
		}
		out = append(out, token...)
		i = end
	}
	return out, style, spaced
}

var integer = regexp.MustCompile(`^-?[0-9]+$`)

func (k keys) and(next keys) keys {
	if k == noKeys || k == next {
		return next
	}
	return mixedKeys
}

// tokenEnd finds the end of the string, word or single character that starts at i.
func tokenEnd(b []byte, i int) int {
	end := i + 1
	switch {
	case b[i] == '"':
		for end < len(b) && b[end] != '"' {
			if b[end] == '\\' {
				end++
			}
			end++
		}
		return min(end+1, len(b))
	case strings.ContainsRune(`{}[]:, `+"\t\r\n", rune(b[i])):
		return end
	}
	for end < len(b) && !strings.ContainsRune(`{}[]:,"`+" \t\r\n", rune(b[end])) {
		end++
	}
	return end
}

// canonical gives a JSON body without its order: maps and lists sorted. With keep, names that it refuses are left out of
// the lists and maps of names that a whole server shares.
func canonical(body []byte, keep func(name string) bool) string {
	if len(body) == 0 {
		return "none"
	}
	standard, _, _ := quoteKeys(body)
	d := json.NewDecoder(bytes.NewReader(standard))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil || d.More() {
		return fmt.Sprintf("not JSON: %q", body)
	}
	if keep != nil {
		v = shared(v, keep)
	}
	return string(mustJSON(sorted(v)))
}

// shared leaves out what belongs to other scenarios.
func shared(v any, keep func(string) bool) any {
	top, ok := v.(map[string]any)
	if !ok {
		return v
	}
	delete(top, "brokerAddr") // of any broker
	for member, x := range top {
		switch x := x.(type) {
		case map[string]any:
			maps.DeleteFunc(x, func(name string, _ any) bool { return !keep(name) })
		case []any:
			top[member] = slices.DeleteFunc(x, func(v any) bool {
				name, ok := v.(string)
				return !ok || !keep(name)
			})
		}
	}
	return top
}

func sorted(v any) any {
	switch v := v.(type) {
	case map[string]any: // written with sorted keys
		for name, x := range v {
			v[name] = sorted(x)
		}
	case []any:
		for i, x := range v {
			v[i] = sorted(x)
		}
		slices.SortFunc(v, func(a, b any) int { return bytes.Compare(mustJSON(a), mustJSON(b)) })
	}
	return v
}

// javaError is how the text of an exception begins on the stock server.
var javaError = regexp.MustCompile(`^[a-z]+(\.[a-z0-9]+)+\.[A-Z]\w*(Exception|Error)\b`)

// exceptionText stands for a remark that is the text of a Java exception, with the place in the stock source.
const exceptionText = "<text of a Java exception>"

func remarkText(remark *string) string {
	switch {
	case remark == nil:
		return "null"
	case javaError.MatchString(*remark):
		return exceptionText
	}
	return fmt.Sprintf("%q", *remark)
}

func fieldsText(fields map[string]string) string {
	if fields == nil {
		return "none"
	}
	return string(mustJSON(fields))
}

func TestQuoteKeys(t *testing.T) {
	for _, tt := range []struct {
		name, in, out string
		style         keys
		spaced        bool
	}{
		{"bare", `{"a":{0:"x:1",-1:"y"}}`, `{"a":{"0":"x:1","-1":"y"}}`, bareKeys, false},
		{"quoted", `{"0":1}`, `{"0":1}`, quoted, false},
		{"inside a string", `{"a":"{0:\"1"}`, `{"a":"{0:\"1"}`, noKeys, false},
		{"mixed", `{0:1,"1":2}`, `{"0":1,"1":2}`, mixedKeys, false},
		{"spaces", `{ "a": 1}`, `{ "a": 1}`, noKeys, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out, style, spaced := quoteKeys([]byte(tt.in))
			if string(out) != tt.out || style != tt.style || spaced != tt.spaced {
				t.Errorf("%s, %s, spaces %v; want %s, %s, %v", out, style, spaced, tt.out, tt.style, tt.spaced)
			}
		})
	}
}
