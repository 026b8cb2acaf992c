// Command namesrv is a name server for RocketMQ whose peers form one Raft group,
// and the command line to look after it.
//
// This package reads flags, environment and files, wires the other packages
// together and holds the order in which they start and stop. It decides nothing
// about routes, registrations or membership. It is the only package that ends the
// process, and only main does.
//
// Each group of commands is one file. A command returns an error; run turns it
// into one line on standard error and an exit code; exitCodes lists them.
//
// The help texts are the only description of the commands: the pages in docs/commands
// are made of them by go generate, and a test fails where they differ.
//
// run may be called several times at once, as tests do: nothing here is global.
package main

//go:generate go run . pages ../../docs/commands
