package properties

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf16"
)

// Format writes settings as properties text, one key=value line each, sorted by
// key. Parse gives the same settings back. Characters beyond ASCII become
// \uXXXX, since Java reads files as ISO-8859-1.
func Format(settings map[string]string) []byte {
	var text []byte
	for _, key := range slices.Sorted(maps.Keys(settings)) {
		text = appendEscaped(text, key, true)
		text = append(text, '=')
		text = appendEscaped(text, settings[key], false)
		text = append(text, '\n')
	}
	return text
}

// appendEscaped escapes a key, where every blank would end it, or a value, where
// only a leading blank is lost.
func appendEscaped(dst []byte, text string, key bool) []byte {
	for i, r := range text {
		switch {
		case r == ' ':
			if key || i == 0 {
				dst = append(dst, '\\')
			}
			dst = append(dst, ' ')
		case r == '\t':
			dst = append(dst, `\t`...)
		case r == '\n':
			dst = append(dst, `\n`...)
		case r == '\r':
			dst = append(dst, `\r`...)
		case r == '\f':
			dst = append(dst, `\f`...)
		case strings.ContainsRune(`=:#!\`, r):
			dst = append(dst, '\\', byte(r))
		case r < ' ' || r > '~':
			dst = appendUnicode(dst, r)
		default:
			dst = append(dst, byte(r))
		}
	}
	return dst
}

func appendUnicode(dst []byte, r rune) []byte {
	for _, unit := range utf16.Encode([]rune{r}) {
		dst = fmt.Appendf(dst, `\u%04X`, unit)
	}
	return dst
}
