// Package systemtest looks at the built binary from outside: real processes on loopback ports, real brokers, mqadmin and
// a real client, processes killed and disks reused. Its few exported names build the binary and run one or several
// peers; the benchmark in the folder below uses them too.
//
// It imports no package of the product. What it claims about the wire it checks with a codec of its own, see
// namesrv/internal/rocketmq.
//
// The tests need Java and Maven, some also OpenSSL, or Node and npm, some root on Linux. Without them those tests are
// skipped, unless NAMESRV_SYSTEMTEST=1 says that skipping would be a lie, as scripts/test does. NAMESRV_LONG=1 gives those
// their full length that have a short form; no test has only one of them.
//
// Tests that measure how long something takes run one after the other and first. Those that mostly wait and those that
// start JVMs follow, several of each kind at a time, and allow for each other.
//
// A [Node] and a [Cluster] are used from one goroutine, apart from their addresses, which never change.
package systemtest
