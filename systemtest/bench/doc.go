// Command bench measures this name server beside the stock one, in one run on one machine: route queries, unchanged and
// changed registrations, memory with large tables, and the time from a start in an empty directory to the first
// answer. Three peers of ours and a server that only sends back what it gets stand beside them. Figures of two runs are
// not to be compared with each other, only those within one.
//
// The systems take turns, in several rounds; the table has the medians, and the medians of what the systems were to each other in each round.
//
// It asserts nothing: machines differ. One goroutine drives the systems, the load
// comes from one goroutine a connection and ends by itself.
package main
