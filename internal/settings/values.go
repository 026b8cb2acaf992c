package settings

import (
	"strconv"
	"time"
)

// BindAddress is the host name or address that clients and brokers are served on.
func (s Settings) BindAddress() string { return s.text(BindAddress) }

// ListenPort is the port that clients and brokers are served on; 0 means any free one.
func (s Settings) ListenPort() int { return s.integer(ListenPort) }

// KVConfigPath is the stock KV file, taken over when a new cluster is formed.
func (s Settings) KVConfigPath() string { return s.text(KVConfigPath) }

// ConfigStorePath is the file that changed settings are written to.
func (s Settings) ConfigStorePath() string { return s.text(ConfigStorePath) }

// ClientRequestPool is the size of the pool that answers route queries: how many
// at once and how many may wait.
func (s Settings) ClientRequestPool() (workers, queue int) {
	return s.integer(ClientRequestThreads), s.integer(ClientRequestQueue)
}

// DefaultPool is the size of the pool that answers every other request.
func (s Settings) DefaultPool() (workers, queue int) {
	return s.integer(DefaultThreads), s.integer(DefaultQueue)
}

// ScanInterval is the time between two searches for brokers that fell silent.
func (s Settings) ScanInterval() time.Duration {
	return time.Duration(s.integer(ScanInterval)) * time.Millisecond
}

// IdleTimeout is how long a connection may carry nothing before it is closed.
func (s Settings) IdleTimeout() time.Duration {
	return time.Duration(s.integer(MaxIdleSeconds)) * time.Second
}

// HighWaterMark is how many unsent bytes of answers stop reading from a
// connection; 0 leaves the choice to the server.
func (s Settings) HighWaterMark() int { return s.integer(HighWaterMark) }

// NeedWaitForService says that no route is answered until the tables had time to fill.
func (s Settings) NeedWaitForService() bool { return s.boolean(NeedWaitForService) }

// WaitForService is how long NeedWaitForService holds after the start.
func (s Settings) WaitForService() time.Duration {
	return time.Duration(s.integer(WaitSecondsForService)) * time.Second
}

// ShutdownGracefully says that peers are told to go away before connections close.
func (s Settings) ShutdownGracefully() bool { return s.boolean(ShutdownGracefully) }

// ShutdownWait is how long a graceful stop may take.
func (s Settings) ShutdownWait() time.Duration {
	return time.Duration(s.integer(ShutdownWaitSeconds)) * time.Second
}

func (s Settings) text(name string) string {
	value, _ := s.Value(name)
	return value
}

func (s Settings) boolean(name string) bool { return s.text(name) == "true" }

// integer reads a value that With has checked, or a default of the table.
func (s Settings) integer(name string) int {
	number, err := strconv.Atoi(s.text(name))
	if err != nil {
		panic("settings: " + name + " is not a number")
	}
	return number
}
