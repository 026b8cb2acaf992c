package main

import (
	"fmt"
	"net"
)

// serveEcho answers every byte with itself: what a server on this machine could reach if it had nothing to do.
func serveEcho(addr string) error {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	fmt.Println("listening")
	for {
		nc, err := l.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer nc.Close()
			buf := make([]byte, 64<<10)
			for {
				n, err := nc.Read(buf)
				if err != nil {
					return
				}
				if _, err := nc.Write(buf[:n]); err != nil {
					return
				}
			}
		}()
	}
}
