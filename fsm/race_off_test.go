//go:build !race

package fsm

// raceDetector tells whether memory and time say nothing.
const raceDetector = false
