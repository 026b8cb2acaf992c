package settings

import (
	"fmt"
	"strconv"
	"strings"
)

// convert applies the stock conversion (its MixAll.properties2Object). ok is
// false when the setting keeps the value it had. problem says what is wrong with
// the text, in either case, in words that follow the setting's name.
func (k Key) convert(given string) (value string, ok bool, problem string) {
	switch k.Kind {
	case Bool:
		return convertBool(given)
	case Int:
		return convertNumber(given, 32)
	case Long:
		return convertNumber(given, 64)
	default:
		return strings.TrimSpace(given), true, ""
	}
}

// convertBool takes everything but "true" for false, as Java does, blanks included.
func convertBool(given string) (value string, ok bool, problem string) {
	switch strings.ToLower(given) {
	case "true":
		return "true", true, ""
	case "false":
		return "false", true, ""
	}
	return "false", true, fmt.Sprintf("%q is neither true nor false", given)
}

// convertNumber does not trim: a blank behind the digits spoils them in the stock
// server too.
func convertNumber(given string, bits int) (value string, ok bool, problem string) {
	number, err := strconv.ParseInt(given, 10, bits)
	if err != nil {
		return "", false, fmt.Sprintf("%q is not a whole number of %d bits", given, bits)
	}
	return strconv.FormatInt(number, 10), true, ""
}

// check says what is wrong with a converted value, in words that follow the
// setting's name, or "".
func (k Key) check(value string) string {
	switch {
	case k.Name == ClusterTest && value == "true":
		return "is not supported: this server does not ask another cluster for unknown topics; remove it or set it to false"
	case k.Name == EnableController && value == "true":
		return "is not supported: this server does not embed a controller; run one separately and set it to false"
	case k.Name == BindAddress && value == "":
		return "is empty: name an address, or 0.0.0.0 for all"
	case k.Kind == Int || k.Kind == Long:
		number, err := strconv.ParseInt(value, 10, 64)
		if err != nil || number < k.min || number > k.max {
			return fmt.Sprintf("is %s: it must be from %d to %d", value, k.min, k.max)
		}
	}
	return ""
}
