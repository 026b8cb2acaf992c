package fsm

import (
	"strconv"
	"strings"

	"namesrv/fsm/fsmpb"
)

// Options are the settings that change what commands do or what requests are
// answered, and therefore are the same on every peer. Each has the name, the
// default and the meaning of the stock NamesrvConfig property.
type Options struct {
	OrderMessageEnable                bool
	ReturnOrderTopicConfigToBroker    bool
	SupportActingMaster               bool
	NotifyMinBrokerIDChanged          bool
	EnableAllTopicList                bool
	EnableTopicList                   bool
	DeleteTopicWithBrokerRegistration bool
}

// DefaultOptions returns the stock defaults.
func DefaultOptions() Options {
	return Options{ReturnOrderTopicConfigToBroker: true, EnableAllTopicList: true, EnableTopicList: true}
}

// option joins the three places where one setting appears.
type option struct {
	key    string
	value  func(*Options) *bool
	stored func(*fsmpb.Options) **bool
}

var optionList = []option{
	{"orderMessageEnable",
		func(o *Options) *bool { return &o.OrderMessageEnable },
		func(m *fsmpb.Options) **bool { return &m.OrderMessageEnable }},
	{"returnOrderTopicConfigToBroker",
		func(o *Options) *bool { return &o.ReturnOrderTopicConfigToBroker },
		func(m *fsmpb.Options) **bool { return &m.ReturnOrderTopicConfigToBroker }},
	{"supportActingMaster",
		func(o *Options) *bool { return &o.SupportActingMaster },
		func(m *fsmpb.Options) **bool { return &m.SupportActingMaster }},
	{"notifyMinBrokerIdChanged",
		func(o *Options) *bool { return &o.NotifyMinBrokerIDChanged },
		func(m *fsmpb.Options) **bool { return &m.NotifyMinBrokerIdChanged }},
	{"enableAllTopicList",
		func(o *Options) *bool { return &o.EnableAllTopicList },
		func(m *fsmpb.Options) **bool { return &m.EnableAllTopicList }},
	{"enableTopicList",
		func(o *Options) *bool { return &o.EnableTopicList },
		func(m *fsmpb.Options) **bool { return &m.EnableTopicList }},
	{"deleteTopicWithBrokerRegistration",
		func(o *Options) *bool { return &o.DeleteTopicWithBrokerRegistration },
		func(m *fsmpb.Options) **bool { return &m.DeleteTopicWithBrokerRegistration }},
}

// OptionKeys returns the property names of the options, in a fixed order.
func OptionKeys() []string {
	keys := make([]string, len(optionList))
	for i, opt := range optionList {
		keys[i] = opt.key
	}
	return keys
}

// Get returns an option by its property name as the text the stock server shows
// ("true" or "false"); ok is false for every other name.
func (o Options) Get(key string) (value string, ok bool) {
	for _, opt := range optionList {
		if opt.key == key {
			return strconv.FormatBool(*opt.value(&o)), true
		}
	}
	return "", false
}

// storeOptions picks the options out of a set of properties. As in the stock
// server only "true", in any case and without blanks, is true.
func storeOptions(properties map[string]string) *fsmpb.Options {
	m := new(fsmpb.Options)
	for _, opt := range optionList {
		if text, ok := properties[opt.key]; ok {
			value := strings.EqualFold(text, "true")
			*opt.stored(m) = &value
		}
	}
	return m
}

// storeAllOptions is the complete form that a snapshot holds.
func storeAllOptions(o Options) *fsmpb.Options {
	m := new(fsmpb.Options)
	for _, opt := range optionList {
		value := *opt.value(&o)
		*opt.stored(m) = &value
	}
	return m
}

// with returns the options after a change.
func (o Options) with(m *fsmpb.Options) Options {
	if m == nil {
		return o
	}
	for _, opt := range optionList {
		if value := *opt.stored(m); value != nil {
			*opt.value(&o) = *value
		}
	}
	return o
}
