package main

import (
	"context"
	"net/netip"
	"time"

	"namesrv/admin"
)

// loopbackLimit is how long the start looks for the address behind a name.
const loopbackLimit = 5 * time.Second

// lookUp finds the addresses of a host name.
type lookUp func(ctx context.Context, host string) ([]netip.Addr, error)

// warnOfLoopback writes a line when others can reach the client port, but are told an
// address at which they reach themselves: many systems give their own name one. Whoever
// advertises a loopback address as a number means it.
func (cfg *serverConfig) warnOfLoopback(ctx context.Context, find lookUp) {
	if _, err := netip.ParseAddr(cfg.Advertise.host); err == nil || cfg.Listen.loopback() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, loopbackLimit)
	defer cancel()
	told, err := admin.Told(ctx, find, cfg.Advertise.String())
	if err != nil || !told.Addr().IsLoopback() {
		return
	}
	cfg.Logger.Warn("clients on other machines are told an address of their own by /rocketmq/nsaddr: give one that they reach this peer at with --advertise",
		"name", cfg.Advertise.host, "told", told)
}
