package protocol

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseKVConfig(t *testing.T) {
	absent := map[string]map[string]string{"absent": nil}
	tests := map[string]struct {
		file string
		want map[string]map[string]string // nil: ErrBody, but for absent
	}{
		"stock file":       {`{"configTable":{"ORDER_TOPIC_CONFIG":{"TopicA":"broker-a:8"},"n":{}}}`, map[string]map[string]string{"ORDER_TOPIC_CONFIG": {"TopicA": "broker-a:8"}, "n": {}}},
		"nothing in it":    {`{"configTable":{}}`, map[string]map[string]string{}},
		"no table":         {`{"configTable":null}`, absent},
		"another object":   {`{"other":{"n":{"k":"v"}}}`, absent},
		"empty object":     {`{}`, absent},
		"null value":       {`{"configTable":{"n":{"k":null,"l":"1"}}}`, map[string]map[string]string{"n": {"l": "1"}}},
		"number as value":  {`{"configTable":{"n":{"k":7}}}`, map[string]map[string]string{"n": {"k": "7"}}},
		"empty":            {``, nil},
		"cut in half":      {`{"configTable":{"ORDER_TOPIC_CONFIG":{"TopicA":"bro`, nil},
		"trailing garbage": {`{"configTable":{}}x`, nil},
		"no object":        {`[]`, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := ParseKVConfig([]byte(tt.file))
			if _, none := tt.want["absent"]; none {
				if got != nil || err != nil {
					t.Errorf("%v, %v; want no tables", got, err)
				}
				return
			}
			if tt.want == nil {
				if !errors.Is(err, ErrBody) {
					t.Errorf("%v, %v; want ErrBody", got, err)
				}
				return
			}
			if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
				t.Errorf("%v %s", err, diff)
			}
		})
	}
}
