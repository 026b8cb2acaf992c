package protocol

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseKVConfig(t *testing.T) {
	tests := map[string]struct {
		file string
		want map[string]map[string]string // nil: ErrBody
	}{
		"stock file":       {`{"configTable":{"ORDER_TOPIC_CONFIG":{"TopicA":"broker-a:8"},"n":{}}}`, map[string]map[string]string{"ORDER_TOPIC_CONFIG": {"TopicA": "broker-a:8"}, "n": {}}},
		"nothing in it":    {`{"configTable":{}}`, map[string]map[string]string{}},
		"no table":         {`{"configTable":null}`, map[string]map[string]string{}},
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
