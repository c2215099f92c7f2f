//go:build linux || darwin

package sqlstore

import (
	"crypto/tls"
	"errors"
	"net"
	"syscall"
)

// quiet reports whether there is nothing to read from a connection that nobody uses: no
// farewell of the server's, and no end. It looks without waiting and takes nothing away.
func quiet(c net.Conn) bool {
	if secure, ok := c.(*tls.Conn); ok {
		c = secure.NetConn()
	}
	of, ok := c.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := of.SyscallConn()
	if err != nil {
		return false
	}
	nothing := false
	err = raw.Read(func(fd uintptr) bool {
		_, _, err := syscall.Recvfrom(int(fd), make([]byte, 1), syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		nothing = errors.Is(err, syscall.EAGAIN)
		return true
	})
	return err == nil && nothing
}
