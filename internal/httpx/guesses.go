package httpx

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/loci-memory/loci/internal/recent"
	"github.com/loci-memory/loci/memory"
)

// Limits of guessing a key: maxWrongKeys wrong keys from one address within wrongKeyWindow get the status 401,
// further wrong keys get 429.
const (
	maxWrongKeys   = 10
	wrongKeyWindow = 15 * time.Minute
)

// wrongKeyCounter counts the wrong keys of recent addresses. Right keys are always accepted, so that nobody can
// lock out other users of the same address.
type wrongKeyCounter struct {
	recent.Map[string, wrongKeys]
}

// wrongKeys counts the wrong keys from one address since a time.
type wrongKeys struct {
	since time.Time // time of the first counted key
	count int
}

// addressGroup returns a remote address without its port; for IPv6 the /64 network, because a client may have
// many addresses.
func addressGroup(remoteAddr string) string {
	ip := parseAddress(remoteAddr)
	if net, err := ip.Prefix(64); err == nil && ip.Is6() {
		return net.String()
	}
	if ip.IsValid() {
		return ip.String()
	}
	return remoteAddr
}

// add counts a wrong key and returns how long its sender must wait; 0 means no wait. The result
// isFirstOverLimit is true for the first wrong key over the limit.
func (g *wrongKeyCounter) add(remoteAddr string, now time.Time) (wait time.Duration, isFirstOverLimit bool) {
	g.Update(addressGroup(remoteAddr), func(counted wrongKeys, _ bool) (wrongKeys, bool) {
		if now.Sub(counted.since) >= wrongKeyWindow {
			counted = wrongKeys{since: now}
		}
		if counted.count++; counted.count > maxWrongKeys {
			wait, isFirstOverLimit = wrongKeyWindow-now.Sub(counted.since), counted.count == maxWrongKeys+1
		}
		return counted, true
	})
	return wait, isFirstOverLimit
}

// CountWrongKey counts a wrong key that a handler received, for example in a form. It returns how long the sender
// must wait, and sets Retry-After if that is not 0. Outside [Guard], it counts nothing.
func CountWrongKey(w http.ResponseWriter, r *http.Request) time.Duration {
	st := stateOf(r.Context())
	if st.countWrongKey == nil {
		return 0
	}
	wait := st.countWrongKey(r.RemoteAddr)
	if wait > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int((wait+time.Second-1)/time.Second)))
	}
	return wait
}

// countWrongKey counts a wrong key from an address, and logs the first wrong key over the limit.
func (g *guard) countWrongKey(remoteAddr string) time.Duration {
	wait, first := g.wrongKeys.add(remoteAddr, g.Now())
	if first {
		g.Log.Warn("too many wrong keys from one address", "address", remoteAddr, "within", wrongKeyWindow)
	}
	return wait
}

// wrongKeyError is the error for a request with a key that is not Loci's.
type wrongKeyError struct{ error }

func (b wrongKeyError) Unwrap() error { return b.error }

// errTooManyWrongKeys is the error for a wrong key while its sender must wait. It has the code of a wrong key.
func errTooManyWrongKeys(wait time.Duration) error {
	minutes := int((wait + time.Minute - 1) / time.Minute)
	return newProblem(http.StatusTooManyRequests, memory.Unauthorized, fmt.Sprintf(
		"the key is not Loci's, and there were too many wrong keys from this address: wait %d min before another attempt; the right key is always accepted", minutes))
}
