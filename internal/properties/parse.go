package properties

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// blanks are the characters that Java counts as white space in this format.
const blanks = " \t\f"

// SyntaxError reports text that java.util.Properties refuses to load.
type SyntaxError struct {
	Line   int    // the natural line, from 1, on which the offending setting starts
	Reason string // lower case, without the line
}

// Error implements error.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("line %d: %s", e.Line, e.Reason)
}

// Parse reads properties text. The last of several equal keys wins, as in Java.
// Its only error is a *SyntaxError: the format allows everything but a
// malformed \uXXXX.
func Parse(text []byte) (map[string]string, error) {
	settings, _, err := ParseLines(text)
	return settings, err
}

// ParseLines is Parse that also tells, for messages, where each key stands: the
// natural line, from 1, on which the setting that won starts.
func ParseLines(text []byte) (settings map[string]string, numbers map[string]int, err error) {
	settings, numbers = make(map[string]string), make(map[string]int)
	lines := lineReader{rest: decode(text)}
	for {
		line, number, ok := lines.logical()
		if !ok {
			return settings, numbers, nil
		}
		rawKey, rawValue := split(line)
		key, err := unescape(rawKey)
		if err != nil {
			return nil, nil, &SyntaxError{Line: number, Reason: err.Error()}
		}
		value, err := unescape(rawValue)
		if err != nil {
			return nil, nil, &SyntaxError{Line: number, Reason: err.Error()}
		}
		settings[key], numbers[key] = value, number
	}
}

// decode turns file bytes into text, see the package comment.
func decode(text []byte) string {
	if utf8.Valid(text) {
		return string(text)
	}
	runes := make([]rune, len(text))
	for i, b := range text {
		runes[i] = rune(b)
	}
	return string(runes)
}

// lineReader cuts text into logical lines: natural lines without comments and
// blank ones, joined where a line ends in an odd number of backslashes.
type lineReader struct {
	rest   string
	number int // of the natural line read last
}

// logical returns the next logical line and the number of its first natural line.
func (r *lineReader) logical() (line string, number int, ok bool) {
	for {
		natural, ok := r.natural()
		if !ok {
			return "", 0, false
		}
		if natural == "" || natural[0] == '#' || natural[0] == '!' {
			continue
		}
		number := r.number
		if joined := r.join(natural); joined != "" {
			return joined, number, true
		}
	}
}

// join appends continuation lines to first. A comment sign means nothing in them.
func (r *lineReader) join(first string) string {
	var joined strings.Builder
	for natural, ok := first, true; ok; natural, ok = r.natural() {
		text, continued := cutContinuation(natural)
		joined.WriteString(text)
		if !continued {
			break
		}
	}
	return joined.String()
}

// natural returns the next line of the text without its leading blanks and its
// terminator, which is \n, \r or \r\n.
func (r *lineReader) natural() (string, bool) {
	if r.rest == "" {
		return "", false
	}
	r.number++
	line, rest := r.rest, ""
	if end := strings.IndexAny(r.rest, "\r\n"); end >= 0 {
		line, rest = r.rest[:end], r.rest[end+1:]
		if r.rest[end] == '\r' {
			rest = strings.TrimPrefix(rest, "\n")
		}
	}
	r.rest = rest
	return strings.TrimLeft(line, blanks), true
}

// cutContinuation removes the last backslash of a line that continues.
func cutContinuation(line string) (text string, continued bool) {
	slashes := len(line) - len(strings.TrimRight(line, `\`))
	if slashes%2 == 0 {
		return line, false
	}
	return line[:len(line)-1], true
}

// split finds the end of the key, the first unescaped = : or blank, and the
// start of the value, which follows at most one = or : and any blanks.
func split(line string) (key, value string) {
	end := keyEnd(line)
	key, value = line[:end], strings.TrimLeft(line[end:], blanks)
	if value != "" && (value[0] == '=' || value[0] == ':') {
		value = strings.TrimLeft(value[1:], blanks)
	}
	return key, value
}

func keyEnd(line string) int {
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case '\\':
			i++ // the next character is part of the key whatever it is
		case '=', ':', ' ', '\t', '\f':
			return i
		}
	}
	return len(line)
}

// unescape resolves backslash sequences. An unknown one stands for its second
// character; a backslash at the very end stands for nothing.
func unescape(raw string) (string, error) {
	if !strings.Contains(raw, `\`) {
		return raw, nil
	}
	var text strings.Builder
	for raw != "" {
		slash := strings.IndexByte(raw, '\\')
		if slash < 0 {
			break
		}
		text.WriteString(raw[:slash])
		raw = raw[slash+1:]
		if strings.HasPrefix(raw, "u") {
			r, rest, err := unicodeEscape(raw[1:])
			if err != nil {
				return "", err
			}
			text.WriteRune(r)
			raw = rest
			continue
		}
		r, size := utf8.DecodeRuneInString(raw)
		if size > 0 {
			text.WriteRune(control(r))
		}
		raw = raw[size:]
	}
	text.WriteString(raw)
	return text.String(), nil
}

// control returns what an escaped character stands for.
func control(r rune) rune {
	switch r {
	case 't':
		return '\t'
	case 'r':
		return '\r'
	case 'n':
		return '\n'
	case 'f':
		return '\f'
	}
	return r
}

// unicodeEscape reads the four digits after \u and, when they are half of a
// surrogate pair, the other half. A lone half becomes U+FFFD.
func unicodeEscape(raw string) (r rune, rest string, err error) {
	first, rest, err := fourDigits(raw)
	if err != nil {
		return 0, "", err
	}
	if !utf16.IsSurrogate(first) || !strings.HasPrefix(rest, `\u`) {
		return first, rest, nil
	}
	second, after, err := fourDigits(rest[2:])
	if err != nil {
		return 0, "", err
	}
	if pair := utf16.DecodeRune(first, second); pair != utf8.RuneError {
		return pair, after, nil
	}
	return utf8.RuneError, rest, nil
}

func fourDigits(raw string) (rune, string, error) {
	if len(raw) < 4 {
		return 0, "", fmt.Errorf(`malformed \u%s: four hexadecimal digits must follow \u`, raw)
	}
	code, err := strconv.ParseUint(raw[:4], 16, 16)
	if err != nil {
		return 0, "", fmt.Errorf(`malformed \u%s: four hexadecimal digits must follow \u`, raw[:4])
	}
	return rune(code), raw[4:], nil
}
