// Package conformance sends the same requests to the released name server of RocketMQ 5.5.0 and to this one, and compares
// what they answer: a server alone in its group, and a group of three where one follower takes everything that changes
// something and another peer is asked. It is all tests; see TestConformance.
//
// A scenario is a script of requests with names of its own, so that scenarios do not see each other on one server. What
// is compared is code, remark, header fields and the body, without its order, but with the way map keys are written;
// whole bytes where clients depend on them. Every difference must be a row of one table (deviations), with a reason, and
// every row must be met by the run; docs/deviations.md holds the same rows for people.
//
// It does not look at time (how long an answer takes), TLS, or the program's command line. It has a codec of its own: a
// mistake in the product's, or in that of the other tests, must not be able to cancel itself out.
//
// A scenario runs in one goroutine; the three servers are asked at the same time.
package conformance
