package httpx

import (
	"cmp"
	"fmt"
	"net/http"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/loci-memory/loci/internal/recent"
	"github.com/loci-memory/loci/memory"
)

// Limits are what each user, and each key that is not a user's, may take of this server. 0: any
// number.
type Limits struct {
	Requests   int // a minute
	Tokens     int // a minute, of the upstream's answers and their prompts
	Concurrent int // requests of a user at once
}

// limiter counts what users and keys take.
type limiter struct {
	Limits
	of recent.Map[string, *allowance]
}

// allowance is what one user or key has left.
type allowance struct {
	requests, tokens *rate.Limiter // nil: any number

	mu      sync.Mutex // guards running
	running int
}

func perMinute(n int) *rate.Limiter {
	if n == 0 {
		return nil
	}
	return rate.NewLimiter(rate.Limit(float64(n)/60), n)
}

// errLimit refuses a request over a limit.
func errLimit(setting string, limit int, wait time.Duration) error {
	p := newProblem(http.StatusTooManyRequests, memory.Unavailable, fmt.Sprintf("too much at once: %s is %d; try again in a while", setting, limit))
	p.retry, p.limit = max(wait, time.Second), setting
	return p
}

// take counts a request of a user or, without one, of a key, and returns what is called with its
// tokens when it ends. Many people may be behind a key, so that how many ask at once is not counted.
func (l *limiter) take(user, key string, now time.Time) (end func(tokens int64, now time.Time), err error) {
	who := cmp.Or(user, key)
	if l.Limits == (Limits{}) || who == "" {
		return func(int64, time.Time) {}, nil
	}
	var a *allowance
	l.of.Update(who, func(was *allowance, known bool) (*allowance, bool) {
		if a = was; !known {
			a = &allowance{requests: perMinute(l.Requests), tokens: perMinute(l.Tokens)}
		}
		return a, true
	})
	if a.tokens != nil && a.tokens.TokensAt(now) <= 0 {
		return nil, errLimit("limits.tokens", l.Tokens, time.Duration((1-a.tokens.TokensAt(now))/float64(a.tokens.Limit())*float64(time.Second)))
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if l.Concurrent > 0 && user != "" && a.running >= l.Concurrent {
		return nil, errLimit("limits.concurrent", l.Concurrent, time.Second)
	}
	if a.requests != nil && !a.requests.AllowN(now, 1) {
		return nil, errLimit("limits.requests", l.Requests, time.Duration(float64(time.Second)/float64(a.requests.Limit())))
	}
	a.running++
	return func(tokens int64, now time.Time) {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.running--
		for left := int(tokens); a.tokens != nil && left > 0; left -= l.Tokens { // what is over is owed
			a.tokens.ReserveN(now, min(left, l.Tokens))
		}
	}, nil
}
