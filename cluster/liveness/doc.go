// Package liveness is the leader's clock: who was heard from, when, and whose
// connections are open at which peer. It lives in memory only and is made anew
// by every leader; nothing of it is replicated.
//
// It knows opaque keys and durations. It does not know what a broker is, removes
// nothing, and starts no goroutine: its owner asks it to Scan, confirms that it
// still leads, Marks what it will remove, and proposes that.
//
// A key lapses in two ways. At once: at least one peer saw its last connection
// end, and no peer has one open or might have one that it has not reported yet.
// Late: its deadline has passed. Deadlines count this process's own running
// time as its beats see it: one that comes late (the process or the machine stood
// still) moves all of them by as much. So the owner calls Beat, or Scan, every Beat.
//
// All methods may be called from any goroutine; one mutex guards the Table and
// is never held while calling out.
package liveness
