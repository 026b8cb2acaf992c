// Package process runs a child program for tests and benchmarks: it starts it, waits for a line of its output, keeps
// that output in a file, and ends it by its process id.
//
// It does not restart anything and knows nothing of what it runs. Waiting is always done on the output stream or on
// the end of the process, never by sleeping. On Linux a child ends with the process that started it, also when that
// one is killed.
//
// All methods of [Process] may be called from several goroutines at once.
package process
