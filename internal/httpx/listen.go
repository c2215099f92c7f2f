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

// CheckListen says whether Loci may listen at addr ("host:port"). Without an API
// key only loopback will do, since whoever reaches the port could read the memory
// of everybody. [memory.Forbidden] says what to set; [memory.Invalid] is an
// address that is none.
func CheckListen(addr string, hasKey bool) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return memory.Errorf(memory.Invalid, "%q is not a valid address to listen at; one looks like 127.0.0.1:7077", addr)
	}
	if hasKey || isLoopback(host) {
		return nil
	}
	return memory.Errorf(memory.Forbidden,
		"listening at %q would let anybody who reaches it read everything: set LOCI_API_KEY to a long random text, or listen at 127.0.0.1", addr)
}

// isLoopback reports whether a host name or address can only be this machine. Of
// names that is localhost alone: any other is looked up, and who answers the
// look-up decides.
func isLoopback(host string) bool {
	host = strings.Trim(host, "[]")
	if strings.EqualFold(strings.TrimSuffix(host, "."), "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// ErrStopping is why the context of a request ends that a stopping server did not wait for.
var ErrStopping = memory.Errorf(memory.Unavailable, "the server is stopping; try again")

// NewServer returns a server with the time limits that hold off slow clients.
// There is none on writing: an answer may stream for as long as a model talks.
func NewServer(h http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
}
