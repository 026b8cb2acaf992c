package main

import (
	"errors"
	"fmt"
	"net"
	"syscall"

	"namesrv/internal/settings"
)

// listen opens a port; told names what its address was given by.
func listen(told string, addr hostPort) (net.Listener, error) {
	l, err := net.Listen("tcp", addr.String())
	if err != nil {
		return nil, bindError(told, addr, err)
	}
	return l, nil
}

// closeListener closes one that may have been closed.
func closeListener(l net.Listener) error {
	if err := l.Close(); !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// toldListen names what decides the address of the client port.
func (cfg *serverConfig) toldListen() string {
	if cfg.ByFlag[settings.BindAddress] == "" && cfg.ConfigFile != "" {
		return fmt.Sprintf("%s and %s in %s, or --%s", settings.BindAddress, settings.ListenPort, cfg.ConfigFile, flagListen)
	}
	return "--" + flagListen
}

// bindError says what to do about an address that cannot be listened on.
func bindError(told string, addr hostPort, err error) error {
	next := "give another address with " + told
	var unresolved *net.DNSError
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		next = "stop what uses it, or choose another with " + told
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		next = "this machine has no such address: give one that it has, or 0.0.0.0 for all, with " + told
	case errors.Is(err, syscall.EACCES):
		next = "this user may not open the port: give one above 1023 with " + told
	case errors.As(err, &unresolved):
		next = "the host is neither an IP address nor a name that resolves: give an address of this machine, or 0.0.0.0 for all, with " + told
	}
	return fmt.Errorf("cannot listen on %s: %w: %s", addr, err, next)
}
