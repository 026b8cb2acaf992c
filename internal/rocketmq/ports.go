package rocketmq

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
)

// Ports are taken below the range that the kernel hands to outgoing connections (32768 and up on Linux), so that a
// connection of a test cannot take a port between the choice and its use.
const (
	firstPort = 20000
	lastPort  = 32000
	portTries = 1000
)

// ErrNoPort is returned when no free port was found.
var ErrNoPort = errors.New("no free port on 127.0.0.1")

var (
	takenMu sync.Mutex
	taken   = map[int]bool{} // ports this process has handed out, guarded by takenMu
)

// FreePort gives a port that nothing listens on at 127.0.0.1, and gives it only once.
func FreePort() (int, error) { return freePorts(0) }

// FreeAddr is 127.0.0.1 with a free port.
func FreeAddr() (string, error) {
	port, err := FreePort()
	return fmt.Sprintf("127.0.0.1:%d", port), err
}

// freePorts gives a port that is free together with the ports at the given distances from it.
func freePorts(distances ...int) (int, error) {
	takenMu.Lock()
	defer takenMu.Unlock()
next:
	for range portTries {
		port := firstPort + rand.IntN(lastPort-firstPort)
		for _, d := range distances {
			if taken[port+d] || !isFree(port+d) {
				continue next
			}
		}
		for _, d := range distances {
			taken[port+d] = true
		}
		return port, nil
	}
	return 0, ErrNoPort
}

func isFree(port int) bool {
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return false
	}
	l.Close()
	return true
}
