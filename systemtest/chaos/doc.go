// Command chaos runs three peers through a random schedule of faults while clients write and read at all of them, and
// then judges what the clients saw. The schedule comes from a seed; a failure prints both.
//
// Faults: kill -9, polite stops, stops by signal (a process that stands still and goes on), steps of the wall clock, and,
// as root on Linux, links cut one way or both in network namespaces. They hit the leader, a follower, two peers or all.
//
// What is judged:
//   - every key of the KV table and every broker has a linearizable history (package porcupine), the peers being started
//     with --on-no-leader refuse; an answer that says that nothing was changed counts as a promise;
//   - what was acknowledged is there in the end, at every peer;
//   - all peers answer 105, 106 and 206 with the same bytes in the end;
//   - no answer ever lacks a broker that renews;
//   - no peer ends by itself.
//
// It imports no package of the product. One goroutine makes the faults; each client has one of its own, and all of them
// end before anything is judged.
package main
