package httpx

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/loci-memory/loci/internal/recent"
	"github.com/loci-memory/loci/memory"
)

// These limit guessing of the key: some wrong keys from one address get the status 401; further ones get 429
// until guessTime is over.
const (
	mostGuesses = 10
	guessTime   = 15 * time.Minute
)

// guesses counts wrong keys of the most recent addresses. The right key is never checked here, so nobody can
// lock out others.
type guesses struct {
	recent.Map[string, tries]
}

// tries are the wrong keys from one address.
type tries struct {
	since time.Time
	wrong int
}

// place returns a remote address. For IPv6 it returns the network, because one client has many addresses.
func place(remote string) string {
	ip := addressOf(remote)
	if net, err := ip.Prefix(64); err == nil && ip.Is6() {
		return net.String()
	}
	if ip.IsValid() {
		return ip.String()
	}
	return remote
}

// wrong counts a wrong key and returns how long its sender must wait, 0 if not at all. first is true for the
// first key that leads to a wait.
func (g *guesses) wrong(remote string, now time.Time) (wait time.Duration, first bool) {
	g.Update(place(remote), func(is tries, _ bool) (tries, bool) {
		if now.Sub(is.since) >= guessTime {
			is = tries{since: now}
		}
		if is.wrong++; is.wrong > mostGuesses {
			wait, first = guessTime-now.Sub(is.since), is.wrong == mostGuesses+1
		}
		return is, true
	})
	return wait, first
}

// WrongKey counts a wrong key that a handler received, as in a form, and returns how long its sender must wait,
// 0 if not at all. It then also sets Retry-After. Outside [Guard] it counts nothing.
func WrongKey(w http.ResponseWriter, r *http.Request) time.Duration {
	st := stateOf(r.Context())
	if st.wrongKey == nil {
		return 0
	}
	wait := st.wrongKey(r.RemoteAddr)
	if wait > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int((wait+time.Second-1)/time.Second)))
	}
	return wait
}

// wrongKey counts a wrong key from an address, and logs once that there are too many.
func (g *guard) wrongKey(remote string) time.Duration {
	wait, first := g.guesses.wrong(remote, g.Now())
	if first {
		g.Log.Warn("too many wrong keys from one address", "address", remote, "within", guessTime)
	}
	return wait
}

// badKey is the error for a request whose key is not Loci's.
type badKey struct{ error }

// Unwrap returns the wrapped error.
func (b badKey) Unwrap() error { return b.error }

// tooMany is the error for a wrong key while its sender must wait. Its code is that of any wrong key.
func tooMany(wait time.Duration) error {
	minutes := int((wait + time.Minute - 1) / time.Minute)
	return newProblem(http.StatusTooManyRequests, memory.Unauthorized, fmt.Sprintf(
		"the key is not Loci's, and there were too many wrong keys from this address: wait %d min before another attempt; the right key is always accepted", minutes))
}
