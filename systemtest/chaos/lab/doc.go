// Package lab holds what tests of faults need around the built binary: brokers that live as real ones do ([Fleet]),
// watchers that look without a pause whether each is still in every answer ([Watch]), peers in network namespaces whose
// links can be cut one way or both ([Network]), and a step of the wall clock of one live process ([StepClock]).
//
// It judges nothing and imports no package of the product. Network and StepClock need Linux and root; without them they
// say so with [ErrUnable].
//
// The types may be used from any goroutine once they are made. Everything that a constructor starts ends with the
// context it was given, or with Close.
package lab
