// Package properties reads and writes the text format of java.util.Properties,
// the format of the stock server's configuration file and of the bodies that
// change its settings.
//
// It does no I/O, expands no variables and knows no setting by name. Text is
// read as UTF-8; text that is not valid UTF-8 is read as ISO-8859-1, which is
// what Java assumes. Written text is plain ASCII, so that both agree on it.
//
// The functions are pure and safe for concurrent use.
package properties
