package httpx

import (
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/loci-memory/loci/memory"
)

// CheckListen checks whether Loci may listen at addr ("host:port"). Without an API key, only loopback is
// allowed, because anybody who reaches the port could read all memory. The error is [memory.Forbidden] with the
// setting to change, or [memory.Invalid] for an invalid address.
func CheckListen(addr string, hasKey bool) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return memory.Errorf(memory.Invalid, "invalid address %q to listen at (example: 127.0.0.1:7077)", addr)
	}
	if hasKey || isLoopback(host) {
		return nil
	}
	return memory.Errorf(memory.Forbidden,
		"listening at %q without a key would let anybody on the network read all memory: set LOCI_API_KEY to a long random text, or listen at 127.0.0.1", addr)
}

// isLoopback reports whether a host name or address always means this machine. The only accepted name is
// localhost, because other names depend on a DNS server.
func isLoopback(host string) bool {
	host = strings.Trim(host, "[]")
	if strings.EqualFold(strings.TrimSuffix(host, "."), "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// ErrStopping is the cancellation cause of the contexts of unfinished requests when the server stops.
var ErrStopping = memory.Errorf(memory.Unavailable, "the server is stopping; try again")

// NewServer returns a server with time limits against slow clients. Writing has no limit, because an answer may
// stream for as long as the model generates text.
func NewServer(h http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
}
