package protocol

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// javaHeaders maps headers to whether decodeJavaHeader is to take them on.
var javaHeaders = map[string]bool{
	routeHeader: true,
	`{"code":-1,"flag":2,"language":"JAVA","opaque":-7,"serializeTypeCurrentRPC":"JSON","version":999}`:                                              true,
	`{"code":105,"extFields":{},"flag":0,"language":"JAVA","opaque":1,"serializeTypeCurrentRPC":"JSON","version":1}`:                                 true,
	`{"code":105,"extFields":{"a":"1","b":"é","a":"2"},"flag":0,"language":"JAVA","opaque":1,"serializeTypeCurrentRPC":"JSON","version":1}`:          true,
	`{"code":105,"extFields":{"a":"1",},"flag":0,"language":"JAVA","opaque":1,"serializeTypeCurrentRPC":"JSON","version":1}`:                         false,
	`{"code":105,"extFields":{,"a":"1"},"flag":0,"language":"JAVA","opaque":1,"serializeTypeCurrentRPC":"JSON","version":1}`:                         false,
	`{"code":105,"extFields":{"a":"1""b":"2"},"flag":0,"language":"JAVA","opaque":1,"serializeTypeCurrentRPC":"JSON","version":1}`:                   false,
	`{"code":105,"extFields":{"a":"}"},"flag":0,"language":"JAVA","opaque":1,"serializeTypeCurrentRPC":"JSON","version":1}`:                          false,
	`{"code":105,"extFields":{"a":"\n"},"flag":0,"language":"JAVA","opaque":1,"serializeTypeCurrentRPC":"JSON","version":1}`:                         false,
	`{"code":105,"extFields":{"a":1},"flag":0,"language":"JAVA","opaque":1,"serializeTypeCurrentRPC":"JSON","version":1}`:                            false,
	`{"code":105,"extFields":{"a":null},"flag":0,"language":"JAVA","opaque":1,"serializeTypeCurrentRPC":"JSON","version":1}`:                         false,
	`{"code":105,"extFields":null,"flag":0,"language":"JAVA","opaque":1,"serializeTypeCurrentRPC":"JSON","version":1}`:                               false,
	"{\"code\":105,\"extFields\":{\"a\":\"\xff\"},\"flag\":0,\"language\":\"JAVA\",\"opaque\":1,\"serializeTypeCurrentRPC\":\"JSON\",\"version\":1}": false,
	`{"code":1234567890,"flag":0,"language":"JAVA","opaque":1,"serializeTypeCurrentRPC":"JSON","version":1}`:                                         false,
	`{"code":-,"flag":0,"language":"JAVA","opaque":1,"serializeTypeCurrentRPC":"JSON","version":1}`:                                                  false,
	`{"code":105,"flag":0,"language":"GO","opaque":1,"serializeTypeCurrentRPC":"JSON","version":1}`:                                                  false,
	`{"code":105,"flag":0,"language":"JAVA","opaque":1,"serializeTypeCurrentRPC":"JSON","version":1} `:                                               false,
	`{"code":105,"flag":0,"language":"JAVA","opaque":1,"remark":"r","serializeTypeCurrentRPC":"JSON","version":1}`:                                   false,
	`{"code":105`: false,
	``:            false,
}

func TestDecodeJavaHeader(t *testing.T) {
	for header, taken := range javaHeaders {
		if got := sameAsGeneral(t, header); got != taken {
			t.Errorf("%s: taken on %v, want %v", header, got, taken)
		}
	}
}

// FuzzDecodeJavaHeader: what decodeJavaHeader takes on, it decodes as decodeJSONHeader does.
func FuzzDecodeJavaHeader(f *testing.F) {
	for header := range javaHeaders {
		f.Add(header)
	}
	f.Fuzz(func(t *testing.T, header string) { sameAsGeneral(t, header) })
}

// sameAsGeneral reports whether decodeJavaHeader took header on.
func sameAsGeneral(t *testing.T, header string) bool {
	t.Helper()
	var got, want Command
	if !decodeJavaHeader([]byte(header), &got, map[string]string{"of": "the last request"}) {
		return false
	}
	if err := decodeJSONHeader([]byte(header), &want, nil); err != nil {
		t.Fatalf("%s: taken on, but %v", header, err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-general +java):\n%s", header, diff)
	}
	return true
}
