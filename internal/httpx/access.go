package httpx

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

// Access is what is known of a request once it was answered. It names nothing that anybody said.
type Access struct {
	ID       string
	Client   string // X-Request-Id, if the client sent one
	User     string // whose memory it was about; "": nobody's
	Method   string
	Route    string // the pattern that the path fits, without what stands in it
	Status   int
	Refused  string // "key", or the limit that it was over; "": it was not refused
	Took     time.Duration
	Upstream time.Duration // until the upstream's headers were there; 0: it was not asked
	Input    int64         // tokens, as far as the answer says them
	Output   int64
}

// meter counts what doors say of a request.
type meter struct{ upstream, input, output atomic.Int64 }

// CountUpstream adds the time that a request waited for the upstream's headers.
func CountUpstream(ctx context.Context, took time.Duration) {
	stateOf(ctx).meter.upstream.Add(int64(took))
}

// CountTokens adds the tokens of an answer.
func CountTokens(ctx context.Context, input, output int) {
	m := &stateOf(ctx).meter
	m.input.Add(int64(input))
	m.output.Add(int64(output))
}

// maxRequestID bounds an id that a client made.
const maxRequestID = 100

// clientRequestID returns the id that a client gave its request, "" for none that can go into a log.
func clientRequestID(r *http.Request) string {
	id := r.Header.Get("X-Request-Id")
	if len(id) > maxRequestID || strings.ContainsFunc(id, func(c rune) bool { return !isAlphanumeric(c) && !strings.ContainsRune("-_.:", c) }) {
		return ""
	}
	return id
}

// access is what a request came to.
func (st *state) access(r *http.Request, status int, took time.Duration) Access {
	route := r.Pattern
	if _, path, ok := strings.Cut(route, " "); ok {
		route = path
	}
	switch {
	case route == "": // it got no further than the guard
		route = "refused"
	case route == "/" && r.URL.Path != "/":
		route = "other"
	}
	a := Access{
		ID: st.id, Client: st.client, Method: r.Method, Route: route, Status: status, Refused: st.refused, Took: took,
		Upstream: time.Duration(st.meter.upstream.Load()), Input: st.meter.input.Load(), Output: st.meter.output.Load(),
	}
	if st.identity.Owner != "" {
		a.User = st.identity.Owner.Name()
	}
	return a
}
