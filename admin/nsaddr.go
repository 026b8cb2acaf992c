package admin

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"slices"
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

// resolve returns "" for what does not resolve. Of several addresses it takes the
// smallest of IPv4, which every client understands, so that answers stay the same.
func (h *handler) resolve(ctx context.Context, address string) string {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return ""
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		return net.JoinHostPort(ip.Unmap().String(), port)
	}
	ips, err := h.Resolve(ctx, host)
	if err != nil || len(ips) == 0 {
		h.Logger.Warn("the name of a member does not resolve: left out of the address list", "address", address, "error", err)
		return ""
	}
	for i := range ips {
		ips[i] = ips[i].Unmap()
	}
	slices.SortFunc(ips, func(a, b netip.Addr) int { // IPv4 first
		if a.Is4() != b.Is4() {
			if a.Is4() {
				return -1
			}
			return 1
		}
		return a.Compare(b)
	})
	return net.JoinHostPort(ips[0].String(), port)
}

func lookUp(ctx context.Context, host string) ([]netip.Addr, error) {
	return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
}

func joined(texts []string) string { return strings.Join(texts, ", ") }

// sorted joins names for the log.
func sorted(names []string) string {
	slices.Sort(names)
	return strings.Join(names, ",")
}
