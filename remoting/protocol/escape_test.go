package protocol

import "testing"

func TestAppendString(t *testing.T) {
	tests := []struct{ name, in, legacy, standard string }{
		{"plain", "broker-a <&'>", `"broker-a <&'>"`, `"broker-a <&'>"`},
		{"empty", "", `""`, `""`},
		{"quote and backslash", `a"b\c`, `"a\"b\\c"`, `"a\"b\\c"`},
		{"slash", "a/b", `"a/b"`, `"a\/b"`},
		{"named controls", "\b\t\n\f\r", `"\b\t\n\f\r"`, `"\b\t\n\f\r"`},
		{"other controls", "\x00\x0b\x1f", `"\u0000\u000B\u001F"`, `"\u0000\u000B\u001F"`},
		{"delete and C1", "\x7f\u0080\u009f\u00a0", "\"\\u007F\\u0080\\u009F\u00a0\"", `"\u007F\u0080\u009F\u00A0"`},
		{"line separators", "\u2028\u2029\u202a", "\"\\u2028\\u2029\u202a\"", `"\u2028\u2029\u202A"`},
		{"latin", "aéb", `"aéb"`, `"a\u00E9b"`},
		{"cjk", "主题", `"主题"`, `"\u4E3B\u9898"`},
		{"surrogate pair", "😀", `"😀"`, `"\uD83D\uDE00"`},
		{"greatest rune", "\U0010ffff", "\"\U0010ffff\"", `"\uDBFF\uDFFF"`},
		{"replacement character", "\uFFFD", "\"\uFFFD\"", `"\uFFFD"`},
		{"broken UTF-8", "a\xffb", "\"a\uFFFDb\"", `"a\uFFFDb"`},
		{"cut UTF-8", "a\xe4\xb8", "\"a\uFFFD\uFFFD\"", `"a\uFFFD\uFFFD"`},
		{"encoded surrogate", "\xed\xa0\x80", "\"\uFFFD\uFFFD\uFFFD\"", `"\uFFFD\uFFFD\uFFFD"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := string(appendString(nil, tt.in, Legacy)); got != tt.legacy {
				t.Errorf("legacy %s, want %s", got, tt.legacy)
			}
			if got := string(appendString(nil, tt.in, Standard)); got != tt.standard {
				t.Errorf("standard %s, want %s", got, tt.standard)
			}
		})
	}
}
