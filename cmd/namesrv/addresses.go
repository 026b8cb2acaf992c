package main

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// hostPort is a checked HOST:PORT.
type hostPort struct {
	host string // as written, without brackets; "" means every address
	port int
}

// parseHostPort reads HOST:PORT, [IPv6]:PORT or :PORT.
func parseHostPort(text string) (hostPort, error) {
	host, service, err := net.SplitHostPort(text)
	if err != nil {
		return hostPort{}, fmt.Errorf("%q is not of the form HOST:PORT", text)
	}
	port, err := strconv.ParseUint(service, 10, 16)
	if err != nil {
		return hostPort{}, fmt.Errorf("%q: the port must be a number from 0 to 65535", text)
	}
	if strings.ContainsAny(host, " \t,;/@") {
		return hostPort{}, fmt.Errorf("%q: the host name has a character that none has", text)
	}
	return hostPort{host: host, port: int(port)}, nil
}

// String returns the address with brackets where IPv6 needs them.
func (a hostPort) String() string { return net.JoinHostPort(a.host, strconv.Itoa(a.port)) }

// unspecified reports an address that means every interface and leads nowhere.
func (a hostPort) unspecified() bool {
	ip, err := netip.ParseAddr(a.host)
	return a.host == "" || err == nil && ip.Unmap().IsUnspecified()
}

// loopback reports an address that only this machine reaches.
func (a hostPort) loopback() bool {
	ip, err := netip.ParseAddr(a.host)
	return a.host == "localhost" || err == nil && ip.Unmap().IsLoopback()
}

// same compares addresses as written, but for the case of letters.
func (a hostPort) same(b hostPort) bool {
	return strings.EqualFold(a.host, b.host) && a.port == b.port
}

// checkReachable says why an address cannot be given to others, or nil.
func (a hostPort) checkReachable() error {
	switch {
	case a.unspecified():
		return fmt.Errorf("%s leads nowhere: name an address or host that others reach this peer at", a)
	case a.port == 0:
		return errors.New("port 0 leads nowhere: name the port that others reach this peer at")
	}
	return nil
}
