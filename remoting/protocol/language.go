package protocol

import "strings"

// Language is what a peer says it is written in. It is informational: nothing depends on it.
type Language byte

// The languages of RocketMQ's LanguageCode that matter here by name.
const (
	Java  Language = 0
	Other Language = 7
	Go    Language = 9
)

// languageNames is in the order of RocketMQ's LanguageCode, whose ordinals are its wire values.
var languageNames = [...]string{
	"JAVA", "CPP", "DOTNET", "PYTHON", "DELPHI", "ERLANG", "RUBY", "OTHER", "HTTP", "GO", "PHP", "OMS", "RUST", "NODE_JS",
}

// String returns the name that a JSON header carries; an unknown value is "OTHER", which every peer knows.
func (l Language) String() string {
	if int(l) < len(languageNames) {
		return languageNames[l]
	}
	return languageNames[Other]
}

// languageNamed finds a language by its name in any case; a name that is not known is Other, never an error.
func languageNamed(name string) Language {
	for i, known := range languageNames {
		if strings.EqualFold(known, name) {
			return Language(i)
		}
	}
	return Other
}

// language reads the value of a JSON header's language member: a name or, as some senders write, an ordinal.
func (s *scanner) language() Language {
	if s.null() {
		return Java
	}
	tok := s.scalar()
	if string(tok.bytes) == "JAVA" { // nearly always, and cheaper to see than the rest
		return Java
	}
	if n, ok := parseInt(tok.bytes); ok {
		if n < 0 || n >= int64(len(languageNames)) {
			return Other
		}
		return Language(n)
	}
	return languageNamed(string(tok.bytes))
}
