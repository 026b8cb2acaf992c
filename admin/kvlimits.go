package admin

import (
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// CheckKV says why Client.PutKV could never store this, whichever server is asked; nil
// when it may. A server may still refuse it, by the limit of its log.
func CheckKV(namespace, key, value string) error {
	switch {
	case namespace == "":
		return errors.New("the namespace is empty")
	case key == "":
		return errors.New("the key is empty")
	case !utf8.ValidString(namespace) || !utf8.ValidString(key) || !utf8.ValidString(value):
		return errors.New("it is not valid UTF-8")
	}
	if sent := len(path("kv", namespace, key)); sent > maxHeaderBytes {
		return fmt.Errorf("namespace and key take %d bytes of a URL and may take %d", sent, maxHeaderBytes)
	}
	body, err := json.Marshal(putBody{Value: &value})
	if err != nil {
		return fmt.Errorf("encode the value: %w", err)
	}
	if len(body) > maxBody {
		return fmt.Errorf("the value takes %d bytes of JSON and may take %d", len(body), maxBody)
	}
	return nil
}
