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

// Limits are the limits of each user, and of each key that does not belong to a user. 0 means no limit.
type Limits struct {
	Requests   int // requests per minute
	Tokens     int // tokens per minute of the upstream's answers and their prompts
	Concurrent int // concurrent requests of a user
}

// limiter enforces the limits by user and key.
type limiter struct {
	Limits
	allowances recent.Map[string, *allowance] // by the name of the user or key
}

// allowance is the remaining use of one user or key.
type allowance struct {
	requests, tokens *rate.Limiter // nil means no limit

	mu      sync.Mutex // guards running
	running int        // requests in progress
}

func perMinute(n int) *rate.Limiter {
	if n == 0 {
		return nil
	}
	return rate.NewLimiter(rate.Limit(float64(n)/60), n)
}

func errOverLimit(setting string, limit int, wait time.Duration) error {
	p := newProblem(http.StatusTooManyRequests, memory.Unavailable, fmt.Sprintf("over the limit: %s is %d; try again later", setting, limit))
	p.retryAfter, p.exceededSetting = max(wait, time.Second), setting
	return p
}

// begin counts a request of a user or, without a user, of a key. When the request ends, call end with the number
// of its tokens. Concurrent requests of a key are not limited, because many people may share the key.
func (l *limiter) begin(user, key string, now time.Time) (end func(tokens int64, now time.Time), err error) {
	subject := cmp.Or(user, key)
	if l.Limits == (Limits{}) || subject == "" {
		return func(int64, time.Time) {}, nil
	}
	var a *allowance
	l.allowances.Update(subject, func(previous *allowance, exists bool) (*allowance, bool) {
		if a = previous; !exists {
			a = &allowance{requests: perMinute(l.Requests), tokens: perMinute(l.Tokens)}
		}
		return a, true
	})
	if a.tokens != nil && a.tokens.TokensAt(now) <= 0 {
		return nil, errOverLimit("limits.tokens", l.Tokens, time.Duration((1-a.tokens.TokensAt(now))/float64(a.tokens.Limit())*float64(time.Second)))
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if l.Concurrent > 0 && user != "" && a.running >= l.Concurrent {
		return nil, errOverLimit("limits.concurrent", l.Concurrent, time.Second)
	}
	if a.requests != nil && !a.requests.AllowN(now, 1) {
		return nil, errOverLimit("limits.requests", l.Requests, time.Duration(float64(time.Second)/float64(a.requests.Limit())))
	}
	a.running++
	return func(tokens int64, now time.Time) {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.running--
		for remaining := int(tokens); a.tokens != nil && remaining > 0; remaining -= l.Tokens { // the excess is deducted from later minutes
			a.tokens.ReserveN(now, min(remaining, l.Tokens))
		}
	}, nil
}
