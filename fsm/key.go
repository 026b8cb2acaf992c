package fsm

import (
	"strconv"
	"strings"
)

// Key names a live entry: an address in a cluster. Two different pairs never
// have the same key, whatever bytes they consist of. It is opaque to callers.
func Key(cluster, addr string) string {
	return strconv.Itoa(len(cluster)) + ":" + cluster + addr
}

// SplitKey takes a key made by [Key] apart. It is false for any other string.
func SplitKey(key string) (cluster, addr string, ok bool) {
	length, rest, found := strings.Cut(key, ":")
	if !found {
		return "", "", false
	}
	n, err := strconv.Atoi(length)
	if err != nil || n < 0 || n > len(rest) || strconv.Itoa(n) != length {
		return "", "", false
	}
	return rest[:n], rest[n:], true
}
