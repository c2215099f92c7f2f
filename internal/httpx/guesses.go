package httpx

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/loci-memory/loci/internal/recent"
	"github.com/loci-memory/loci/memory"
)

// Bounds of guessing the key: so many wrong ones from one address within a time are
// answered 401, further wrong ones 429 until it is over.
const (
	mostGuesses = 10
	guessTime   = 15 * time.Minute
)

// guesses counts wrong keys by address, those of the latest addresses. The right key is
// never asked about here, so that nobody can keep others out.
type guesses struct {
	recent.Map[string, tries]
}

// tries are the wrong keys of one address.
type tries struct {
	since time.Time
	wrong int
}

// place names a remote address; of IPv6, where one has many, its network.
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

// wrong counts a wrong key and returns how long its sender is to wait before another,
// 0 for not at all. first is set for the first one that has to wait.
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

// WrongKey counts a wrong key that a handler was given itself, as in a form, and returns
// how long its sender is to wait before another, 0 for not at all; the answer then says
// so in Retry-After. Outside [Guard] nothing is counted.
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

// wrongKey counts a wrong key from an address, and tells the log once that there are
// too many.
func (g *guard) wrongKey(remote string) time.Duration {
	wait, first := g.guesses.wrong(remote, g.Now())
	if first {
		g.Log.Warn("too many wrong keys from one address", "address", remote, "within", guessTime)
	}
	return wait
}

// badKey is the refusal of a request that came with a key which is not Loci's.
type badKey struct{ error }

// Unwrap returns the refusal itself.
func (b badKey) Unwrap() error { return b.error }

// tooMany is the refusal of one wrong key more. Its code is that of any wrong key.
func tooMany(wait time.Duration) error {
	minutes := int((wait + time.Minute - 1) / time.Minute)
	return newProblem(http.StatusTooManyRequests, memory.Unauthorized, fmt.Sprintf(
		"the key is not Loci's, and there were too many wrong ones from this address: wait %d min before another; the right one is always taken", minutes))
}
