package httpx

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

// AccessEntry describes an answered request for the access log. It contains no text that a user wrote.
type AccessEntry struct {
	ID              string
	ClientRequestID string // the client's X-Request-Id; empty if the client sent no id
	User            string // name of the memory's owner; empty if the request named no user
	Method          string
	Route           string // pattern that matches the path, without the path's values
	Status          int
	RefusedBy       string // "key" after a wrong key, or the setting of an exceeded limit; otherwise empty
	Duration        time.Duration
	UpstreamTime    time.Duration // time until the upstream's headers arrived; 0 without a request to the upstream
	InputTokens     int64         // tokens of the prompt; 0 if the upstream reports none
	OutputTokens    int64         // tokens of the answer; 0 if the upstream reports none
}

// usageMeter adds up a request's tokens and the time in nanoseconds for which the request waited for the upstream.
type usageMeter struct{ upstreamNanos, inputTokens, outputTokens atomic.Int64 }

// AddUpstreamTime adds wait, the time until the upstream's headers arrived, to the request's [AccessEntry].
func AddUpstreamTime(ctx context.Context, wait time.Duration) {
	stateOf(ctx).meter.upstreamNanos.Add(int64(wait))
}

// AddTokens adds the tokens of a prompt and its answer to the request's [AccessEntry] and limits.
func AddTokens(ctx context.Context, input, output int) {
	m := &stateOf(ctx).meter
	m.inputTokens.Add(int64(input))
	m.outputTokens.Add(int64(output))
}

// maxRequestID is the maximum length in bytes of a client's request id.
const maxRequestID = 100

// clientRequestID returns the client's id for the request, or "" if the id is missing or unsuitable for a log.
func clientRequestID(r *http.Request) string {
	id := r.Header.Get("X-Request-Id")
	if len(id) > maxRequestID || strings.ContainsFunc(id, func(c rune) bool { return !isAlphanumeric(c) && !strings.ContainsRune("-_.:", c) }) {
		return ""
	}
	return id
}

func (st *state) accessEntry(r *http.Request, status int, duration time.Duration) AccessEntry {
	route := r.Pattern
	if _, path, ok := strings.Cut(route, " "); ok {
		route = path
	}
	switch {
	case route == "": // the guard refused the request
		route = "refused"
	case route == "/" && r.URL.Path != "/":
		route = "other"
	}
	a := AccessEntry{
		ID: st.id, ClientRequestID: st.clientRequestID, Method: r.Method, Route: route, Status: status, RefusedBy: st.refusedBy, Duration: duration,
		UpstreamTime: time.Duration(st.meter.upstreamNanos.Load()), InputTokens: st.meter.inputTokens.Load(), OutputTokens: st.meter.outputTokens.Load(),
	}
	if st.identity.Owner != "" {
		a.User = st.identity.Owner.Name()
	}
	return a
}
