package admin

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// resolveLimit is how long an answer of the address server waits for names.
const resolveLimit = 2 * time.Second

// nsaddr answers as the address server that brokers and clients can be given
// instead of a list of name servers (rmqAddressServerDomain,
// rocketmq.namesrv.domain): the client addresses of the voting members, joined by
// semicolons and without a line end, which not every client cuts off. Names are
// resolved here, each time, since the Go client takes IP addresses only; a member
// whose name does not resolve is left out.
//
// A peer that was away may know members that are gone for long, and what it says
// is believed for minutes. So it says nothing until it was ready once; without a
// leader later on it answers from what it knows.
func (h *handler) nsaddr(w http.ResponseWriter, r *http.Request) {
	if !h.wasReady() {
		plain(w, http.StatusServiceUnavailable, "this peer has not caught up since it was started: ask another one")
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), resolveLimit)
	defer cancel()
	addresses := h.resolved(ctx, h.Cluster.ClientAddresses())
	if len(addresses) == 0 {
		plain(w, http.StatusServiceUnavailable, "no member's client address is known here and resolves")
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write([]byte(strings.Join(addresses, ";")))
}

// wasReady says whether this peer has been ready since it was started.
func (h *handler) wasReady() bool {
	if !h.caughtUp.Load() && len(h.Cluster.NotReady()) == 0 {
		h.caughtUp.Store(true)
	}
	return h.caughtUp.Load()
}

// resolved turns HOST:PORT into IP:PORT, in the given order and each once.
func (h *handler) resolved(ctx context.Context, addresses []string) []string {
	found := make([]string, len(addresses))
	var asking sync.WaitGroup
	for i, address := range addresses {
		asking.Go(func() { found[i] = h.resolve(ctx, address) })
	}
	asking.Wait()
	var out []string
	for _, address := range found {
		if address != "" && !slices.Contains(out, address) {
			out = append(out, address)
		}
	}
	return out
}

// resolve returns "" for what does not resolve.
func (h *handler) resolve(ctx context.Context, address string) string {
	told, err := Told(ctx, h.Resolve, address)
	if err != nil {
		h.Logger.Warn("the name of a member does not resolve: left out of the address list", "address", address, "error", err)
		return ""
	}
	return told.String()
}

// Told is what the address server tells clients for a HOST:PORT. Of several addresses it
// takes one that leads away from this machine, and of these the smallest of IPv4, which
// every client understands, so that answers stay the same. A nil lookUp asks the system.
func Told(ctx context.Context, lookUp func(ctx context.Context, host string) ([]netip.Addr, error), address string) (netip.AddrPort, error) {
	host, service, err := net.SplitHostPort(address)
	if err != nil {
		return netip.AddrPort{}, err
	}
	port, err := strconv.ParseUint(service, 10, 16)
	if err != nil {
		return netip.AddrPort{}, err
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		return netip.AddrPortFrom(ip.Unmap(), uint16(port)), nil
	}
	if lookUp == nil {
		lookUp = systemLookUp
	}
	ips, err := lookUp(ctx, host)
	if err == nil && len(ips) == 0 {
		err = errors.New("no address")
	}
	if err != nil {
		return netip.AddrPort{}, err
	}
	best := slices.MinFunc(ips, func(a, b netip.Addr) int {
		a, b = a.Unmap(), b.Unmap()
		return cmp.Or(compareBool(a.IsLoopback(), b.IsLoopback()), compareBool(b.Is4(), a.Is4()), a.Compare(b))
	})
	return netip.AddrPortFrom(best.Unmap(), uint16(port)), nil
}

// compareBool orders false before true.
func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

func systemLookUp(ctx context.Context, host string) ([]netip.Addr, error) {
	return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
}
