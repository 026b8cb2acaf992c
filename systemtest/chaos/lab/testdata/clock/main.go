// Command clock prints how far its wall clock has moved against its monotonic one.
package main

import (
	"fmt"
	"time"
)

func main() {
	began := time.Now()
	for now := range time.Tick(20 * time.Millisecond) {
		moved := now.Round(0).Sub(began.Round(0)) - now.Sub(began)
		elapsed := "right"
		if d := now.Sub(began); d < 0 || d > 10*time.Minute {
			elapsed = "wrong"
		}
		fmt.Printf("wall %+.0fh, elapsed %s\n", moved.Hours(), elapsed)
	}
}
