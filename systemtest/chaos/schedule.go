package main

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// Whom a fault hits. Who that is, is found out when it comes.
const (
	theLeader   = "the leader"
	aFollower   = "a follower"
	twoPeers    = "the leader and a follower"
	allPeers    = "all peers"
	bothOthers  = "both followers"
	minLasts    = 300 * time.Millisecond
	longestSpan = 6 * time.Second
)

// kind is one sort of fault.
type kind struct {
	name   string
	victim string
	links  bool // needs a network of our own
	weight int  // how often it comes, compared with the others
}

var kinds = []kind{
	{"kill", theLeader, false, 6},
	{"kill", aFollower, false, 3},
	{"kill", twoPeers, false, 2},
	{"kill", bothOthers, false, 1},
	{"kill", allPeers, false, 1},
	{"stop", theLeader, false, 3},
	{"stop", aFollower, false, 1},
	{"pause", theLeader, false, 6},
	{"pause", aFollower, false, 3},
	{"pause", twoPeers, false, 2},
	{"pause", allPeers, false, 1},
	{"clock", theLeader, false, 1},
	{"isolate", theLeader, true, 6},
	{"isolate", aFollower, true, 2},
	{"deafen", theLeader, true, 3},
	{"mute", theLeader, true, 3},
	{"deafen", aFollower, true, 2},
	{"mute", aFollower, true, 2},
	{"cut one link", theLeader, true, 3},
}

// fault is one entry of a schedule.
type fault struct {
	kind
	lasts time.Duration
	rest  time.Duration // after it
}

func (f fault) String() string {
	return fmt.Sprintf("%s %s for %v, then rest for %v", f.name, f.victim, f.lasts, f.rest)
}

// schedule is made of the seed alone, for at least d.
func schedule(seed uint64, d time.Duration, links bool) []fault {
	rng := rand.New(rand.NewPCG(seed, 1))
	var choice []kind
	for _, k := range kinds {
		if links || !k.links {
			for range k.weight {
				choice = append(choice, k)
			}
		}
	}
	var out []fault
	for total := time.Duration(0); total < d; {
		f := fault{kind: choice[rng.IntN(len(choice))]}
		f.lasts = (minLasts + rand64(rng, longestSpan-minLasts)).Round(time.Millisecond)
		f.rest = (rand64(rng, 3*time.Second)).Round(time.Millisecond) // short ones let faults overlap
		total += f.lasts + f.rest
		out = append(out, f)
	}
	return out
}

func rand64(rng *rand.Rand, below time.Duration) time.Duration {
	return time.Duration(rng.Int64N(int64(below)))
}
