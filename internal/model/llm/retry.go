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

// failure is the error of a failed attempt.
type failure struct {
	err        error
	status     int           // HTTP status; 0 if there was no response
	text       string        // server's unchanged error message
	canRetry   bool          // whether a retry may succeed
	retryDelay time.Duration // delay before a retry as requested by the server; 0 if it requests no delay
}

func (f *failure) Error() string { return f.err.Error() }

// Unwrap returns the wrapped error and, for package backoff, the delay that the server requests.
func (f *failure) Unwrap() []error {
	if f.retryDelay > 0 {
		return []error{f.err, &backoff.RetryAfterError{Duration: f.retryDelay}}
	}
	return []error{f.err}
}

// RateLimited reports whether the server limits the request rate, and returns the delay that the server
// requests, or 0.
func (f *failure) RateLimited() (delay time.Duration, ok bool) {
	return f.retryDelay, f.status == http.StatusTooManyRequests
}

// Status returns the HTTP status, or 0 if there was no response.
func (f *failure) Status() int { return f.status }

// call sends a request. It retries failures that may be temporary, up to the limits in [Options].
func (c *Client) call(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	pause := backoff.NewExponentialBackOff()
	pause.InitialInterval = 500 * time.Millisecond
	pause.Multiplier = 2
	answer, err := backoff.Retry(ctx, func() ([]byte, error) {
		answer, err := c.send(ctx, method, path, body)
		if f := failureIn(err); err != nil && (f == nil || !f.canRetry) {
			return nil, backoff.Permanent(err)
		}
		return answer, err
	}, backoff.WithBackOff(pause), backoff.WithMaxTries(c.maxTries), backoff.WithMaxElapsedTime(c.retryTimeout))
	if err != nil && !errors.Is(err, memory.Unavailable) && ctx.Err() != nil {
		return nil, c.server.unavailable("%w", err) // ctx has ended
	}
	return answer, err
}

func isRetryableStatus(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	case http.StatusNotImplemented, http.StatusHTTPVersionNotSupported:
		return false
	}
	return status >= 500
}

// retryAfter returns the delay that a server requests: in milliseconds (OpenAI and Azure), in seconds, or
// until a date. It returns 0 if the server requests no delay.
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
