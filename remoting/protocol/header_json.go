package protocol

import (
	"slices"
	"strconv"
)

// appendJSONHeader appends the header as RocketMQ's RemotingSerializable writes it: compact, members in alphabetical
// order, nulls left out.
func appendJSONHeader(dst []byte, c *Command) []byte {
	dst = append(dst, `{"code":`...)
	dst = strconv.AppendInt(dst, int64(c.Code), 10)
	if c.ExtFields != nil {
		dst = append(dst, `,"extFields":{`...)
		var room [16]string
		for i, key := range sortedKeys(room[:0], c.ExtFields) {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendString(dst, key, Legacy)
			dst = append(dst, ':')
			dst = appendString(dst, c.ExtFields[key], Legacy)
		}
		dst = append(dst, '}')
	}
	dst = append(dst, `,"flag":`...)
	dst = strconv.AppendInt(dst, int64(c.Flag), 10)
	dst = append(dst, `,"language":"`...)
	dst = append(dst, c.Language.String()...)
	dst = append(dst, `","opaque":`...)
	dst = strconv.AppendInt(dst, int64(c.Opaque), 10)
	if c.Remark != "" {
		dst = append(dst, `,"remark":`...)
		dst = appendString(dst, c.Remark, Legacy)
	}
	dst = append(dst, `,"serializeTypeCurrentRPC":"JSON","version":`...)
	dst = strconv.AppendInt(dst, int64(c.Version), 10)
	return append(dst, '}')
}

// sortedKeys appends the keys of fields to keys, sorted: equal commands have equal bytes.
func sortedKeys(keys []string, fields map[string]string) []string {
	for key := range fields {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// decodeJSONHeader accepts what the stock server accepts: members in any order or missing, unknown ones, numbers as
// strings, any language. room is a map to clear and use for the fields, if there are any; nil makes one.
func decodeJSONHeader(header []byte, c *Command, room map[string]string) error {
	s := newScanner(header)
	if len(header) <= sharedHeader {
		s.share()
	}
	for m := s.object(); m.next(); {
		switch string(m.key.bytes) {
		case "code":
			c.Code = Code(s.int32(0))
		case "extFields":
			c.ExtFields = s.fields(room)
		case "flag":
			c.Flag = s.int32(0)
		case "language":
			c.Language = s.language()
		case "opaque":
			c.Opaque = s.int32(0)
		case "remark":
			c.Remark = s.string()
		case "version":
			c.Version = s.int32(0)
		default:
			s.skip()
		}
	}
	return s.end()
}

// fields consumes an object of strings. Values that are numbers or booleans are taken as their text, null as absent.
func (s *scanner) fields(room map[string]string) map[string]string {
	if s.null() {
		return nil
	}
	fields := room
	if fields == nil {
		fields = map[string]string{}
	}
	clear(fields)
	for m := s.object(); m.next(); {
		if s.null() {
			continue
		}
		key := s.str(m.key)
		fields[key] = s.str(s.scalar())
	}
	return fields
}
