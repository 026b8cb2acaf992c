package protocol

import (
	"bytes"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// checkBody fails the test unless err is ErrBody when bad, nil otherwise.
func checkBody(t *testing.T, err error, bad bool) {
	t.Helper()
	if bad != errors.Is(err, ErrBody) || !bad && err != nil {
		t.Fatalf("error %v, want ErrBody: %v", err, bad)
	}
}

func readFile(tb testing.TB, name string) []byte {
	tb.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// readHex reads a file of hexadecimal digits, broken into lines.
func readHex(tb testing.TB, name string) []byte {
	tb.Helper()
	b, err := hex.DecodeString(string(bytes.ReplaceAll(readFile(tb, name), []byte("\n"), nil)))
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// unhex decodes hexadecimal digits that may be grouped by blanks.
func unhex(tb testing.TB, digits string) []byte {
	tb.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(digits, " ", ""))
	if err != nil {
		tb.Fatal(err)
	}
	return b
}
