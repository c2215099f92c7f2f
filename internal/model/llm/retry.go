package llm

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/loci-memory/loci/memory"
)

// failure is a failed attempt.
type failure struct {
	err    error
	status int           // HTTP status, 0 if the server did not answer
	text   string        // the server's message
	again  bool          // a retry may help
	after  time.Duration // the delay before a retry; 0: unspecified
}

func (f *failure) Error() string { return f.err.Error() }

// Unwrap returns the wrapped error, and the delay in the form of package backoff.
func (f *failure) Unwrap() []error {
	if f.after > 0 {
		return []error{f.err, &backoff.RetryAfterError{Duration: f.after}}
	}
	return []error{f.err}
}

// RateLimited reports whether the server limits the rate, and the delay that the server asks for, 0 if
// unspecified.
func (f *failure) RateLimited() (after time.Duration, ok bool) {
	return f.after, f.status == http.StatusTooManyRequests
}

// Status returns the HTTP status, 0 if the server did not answer.
func (f *failure) Status() int { return f.status }

// call sends a request. It retries while that may help and the patience is not used up.
func (c *Client) call(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	pause := backoff.NewExponentialBackOff()
	pause.InitialInterval = 500 * time.Millisecond
	pause.Multiplier = 2
	answer, err := backoff.Retry(ctx, func() ([]byte, error) {
		answer, err := c.send(ctx, method, path, body)
		if f := asFailure(err); err != nil && (f == nil || !f.again) {
			return nil, backoff.Permanent(err)
		}
		return answer, err
	}, backoff.WithBackOff(pause), backoff.WithMaxTries(c.tries), backoff.WithMaxElapsedTime(c.patience))
	if err != nil && !errors.Is(err, memory.Unavailable) && ctx.Err() != nil {
		return nil, c.at.unavailable("%w", err) // the caller stopped waiting
	}
	return answer, err
}

func retryable(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	case http.StatusNotImplemented, http.StatusHTTPVersionNotSupported:
		return false
	}
	return status >= 500
}

// retryAfter reads the delay that a server asks for: in milliseconds as OpenAI and Azure send it, in seconds,
// or until a date. It returns 0 if there is none.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 && ms < 1e9 {
		return time.Duration(ms * float64(time.Millisecond))
	}
	text := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(text, 64); err == nil && s > 0 && s < 1e6 {
		return time.Duration(s * float64(time.Second))
	}
	if at, err := http.ParseTime(text); err == nil && at.After(now) {
		return at.Sub(now)
	}
	return 0
}
