package httpx

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci/memory"
)

// HeaderRequestID is the response header with the request's id. It differs from X-Request-Id, which upstreams
// set in their responses.
const HeaderRequestID = "X-Loci-Request-Id"

// Options configure [Guard]. The zero value serves one user on loopback.
type Options struct {
	Key                   string         // LOCI_API_KEY; "" means no key and only requests from loopback
	FrontKey              string         // LOCI_FRONT_KEY, a key with the role front; "" means no such key
	Keys                  *Keyring       // the stored keys; nil means no stored keys
	MultiUser             bool           // the server has several users; a request without a user gets no memory
	JWTSecret             []byte         // secret for X-OpenWebUI-User-Jwt; empty ignores these tokens
	Hosts                 []string       // host names of this server, without port, in addition to loopback's
	TrustedAddresses      []netip.Prefix // addresses that may name users without a key; nil means loopback
	Proxies               []netip.Prefix // reverse proxies with trusted X-Forwarded-* headers; empty trusts no proxy
	PublicPaths           []string       // exact paths that need no key; nil uses [DefaultPublicPaths]
	MaxBody               int64          // maximum bytes of a body; 0 uses [DefaultMaxBody]
	ReadOnlyPosts         []string       // exact paths whose POST requests a key of the scope read may send
	ScopeCheckingPrefixes []string       // path prefixes of APIs that check [Identity.ReadOnly] themselves
	StreamedPaths         []string       // exact paths with streamed bodies, which have the limit [MaxStream] and no budget
	Budget                *Budget        // limits all bodies together; nil means no limit
	BodyTime              time.Duration  // maximum time to receive a body; 0 uses [DefaultBodyTime]
	StallTime             time.Duration  // maximum pause while receiving a body; 0 uses [DefaultStallTime]
	Log                   *slog.Logger   // nil disables logging

	SSO               SSO                 // headers in which a single sign-on proxy names users
	UserHeader        string              // header that names the user, only in requests of Proxies; "" disables it
	Limits            Limits              // limits of each user and key
	OnAnswer          func(AccessEntry)   // called after each answered request; may be nil
	OnWrongKey        func(*http.Request) // called for each request with a wrong key; may be nil
	OnUnverifiedToken func()              // called for each request whose token is ignored because JWTSecret is empty; may be nil
	Now               func() time.Time    // nil uses time.Now

	// Refuse writes an error in the format of the path's API; nil uses [WriteError].
	Refuse func(http.ResponseWriter, *http.Request, error)
}

// DefaultPublicPaths are the paths of health checks, which need no key.
var DefaultPublicPaths = []string{"/health", "/health/live", "/health/ready"}

// loopbackPrefixes are the addresses of this machine.
var loopbackPrefixes = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}

// WithDefaults returns the options with defaults for unset fields.
func (o Options) WithDefaults() Options {
	o.MaxBody = cmp.Or(o.MaxBody, DefaultMaxBody)
	o.BodyTime = cmp.Or(o.BodyTime, DefaultBodyTime)
	o.StallTime = cmp.Or(o.StallTime, DefaultStallTime)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Refuse == nil {
		o.Refuse = WriteError
	}
	if o.TrustedAddresses == nil {
		o.TrustedAddresses = loopbackPrefixes
	}
	if o.PublicPaths == nil {
		o.PublicPaths = DefaultPublicPaths
	}
	return o
}

// Guard returns a handler that runs the checks of the package comment before next.
func Guard(o Options, next http.Handler) http.Handler {
	return &guard{Options: o.WithDefaults(), next: next, limits: limiter{Limits: o.Limits}}
}

type guard struct {
	Options
	next      http.Handler
	limits    limiter
	wrongKeys wrongKeyCounter // wrong keys in all APIs
}

func (g *guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	begun := g.Now()
	st := &state{id: rand.Text(), clientRequestID: clientRequestID(r), endpoint: r.Method + " " + r.URL.Path, log: g.Log, countWrongKey: g.countWrongKey}
	r = r.WithContext(context.WithValue(r.Context(), stateContextKey{}, st))
	st.secure = g.applyProxy(r)
	st.remoteAddr = addressGroup(r.RemoteAddr)
	w.Header().Set(HeaderRequestID, st.id)
	track := &statusWriter{ResponseWriter: w}
	if g.OnAnswer != nil {
		defer func() { g.OnAnswer(st.accessEntry(r, track.status, g.Now().Sub(begun))) }()
	}
	defer g.recoverPanic(track, r)

	if err := g.checkSite(r); err != nil {
		g.Refuse(track, r, err)
		return
	}
	identity, err := g.identify(r)
	if errors.As(err, new(wrongKeyError)) {
		st.refusedBy = "key"
		if g.OnWrongKey != nil {
			g.OnWrongKey(r)
		}
		if wait := CountWrongKey(track, r); wait > 0 {
			err = errTooManyWrongKeys(wait)
		}
	}
	if err != nil && (errors.Is(err, memory.Forbidden) || !slices.Contains(g.PublicPaths, r.URL.Path)) {
		g.Refuse(track, r, err)
		return
	}
	st.identity = identity
	if identity.ReadOnly && !g.allowsReadOnly(r) {
		g.Refuse(track, r, ErrReadOnly)
		return
	}
	if err == nil && g.OnUnverifiedToken != nil && len(g.JWTSecret) == 0 && r.Header.Get(HeaderOpenWebJWT) != "" {
		g.OnUnverifiedToken()
	}
	end, err := g.limits.begin(string(identity.Owner), identity.AuditName, begun)
	if err != nil {
		st.refusedBy = ProblemOf(err).exceededSetting
		g.Refuse(track, r, err)
		return
	}
	defer func() { end(st.meter.inputTokens.Load()+st.meter.outputTokens.Load(), g.Now()) }()
	defer g.limitBody(track, r)()
	g.next.ServeHTTP(track, r)
}

// ErrReadOnly is the error for a write with a key of the scope read.
var ErrReadOnly = memory.Errorf(memory.Forbidden, "this key may only read (its scope is read)")

// allowsReadOnly reports whether a key of the scope read may send this request, or whether the API checks the scope.
func (g *guard) allowsReadOnly(r *http.Request) bool {
	return r.Method == http.MethodGet || r.Method == http.MethodHead || r.Method == http.MethodOptions || slices.Contains(g.ReadOnlyPosts, r.URL.Path) ||
		slices.ContainsFunc(g.ScopeCheckingPrefixes, func(path string) bool { return strings.HasPrefix(r.URL.Path, path) })
}

// checkSite refuses requests that another site's page makes a browser send, across origins or with a foreign name
// for this machine (DNS rebinding).
func (g *guard) checkSite(r *http.Request) error {
	host := hostname(r.Host)
	listed := slices.ContainsFunc(g.Hosts, func(h string) bool { return strings.EqualFold(h, host) })
	if !listed && !isLoopback(host) && (arrivedOnLoopback(r) || len(g.Hosts) > 0) {
		return memory.Errorf(memory.Forbidden, "Loci does not accept requests for the host %q; to allow it, add it to hosts (LOCI_HOSTS)", host)
	}
	origin := r.Header.Get("Origin")
	if origin == "" {
		return checkFetchMetadata(r)
	}
	u, err := url.Parse(origin)
	if err != nil || u.Host == "" || (!strings.EqualFold(u.Host, r.Host) && !slices.ContainsFunc(g.Hosts, func(h string) bool { return strings.EqualFold(h, u.Hostname()) })) {
		return memory.Errorf(memory.Forbidden, "requests from the web page %q are not allowed; to allow them, add its origin to cors.origins (LOCI_CORS_ORIGINS)", origin)
	}
	return nil
}

// checkFetchMetadata checks requests without an Origin by the Sec-Fetch headers of browsers. It refuses requests
// for images and scripts by another site's page, but allows links.
func checkFetchMetadata(r *http.Request) error {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
		return nil
	}
	if r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Method == http.MethodGet {
		return nil
	}
	return memory.Errorf(memory.Forbidden, "requests from another site's page are not allowed")
}

// arrivedOnLoopback reports whether a request came to a loopback address. An unknown address counts as loopback,
// because the rule for loopback is stricter.
func arrivedOnLoopback(r *http.Request) bool {
	addr, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return true
	}
	ap, err := netip.ParseAddrPort(addr.String())
	return err != nil || ap.Addr().Unmap().IsLoopback()
}

func hostname(hostport string) string {
	if host, _, err := net.SplitHostPort(hostport); err == nil {
		return host
	}
	return strings.Trim(hostport, "[]")
}

// state is the data that Guard attaches to a request.
type state struct {
	id              string
	endpoint        string // method and path
	log             *slog.Logger
	identity        Identity
	meter           usageMeter
	clientRequestID string // the client's own id for the request; "" if the client sent no id
	remoteAddr      string // the client's address without port; for IPv6, its /64 network
	secure          bool   // the client used TLS
	refusedBy       string // value for [AccessEntry].RefusedBy

	countWrongKey func(remote string) time.Duration // counts a wrong key: see [CountWrongKey]
}

type stateContextKey struct{}

var noState = &state{log: slog.New(slog.DiscardHandler)}

func stateOf(ctx context.Context) *state {
	if st, ok := ctx.Value(stateContextKey{}).(*state); ok {
		return st
	}
	return noState
}

// ClientAddress returns the address (for IPv6, the /64 network) of a request's client, or "" outside [Guard].
func ClientAddress(ctx context.Context) string { return stateOf(ctx).remoteAddr }

// RequestID returns the request's id, or "" outside [Guard].
func RequestID(ctx context.Context) string { return stateOf(ctx).id }

// recoverPanic turns a handler's panic into an error response. If the response has begun, it breaks the
// connection, to show the client that the response is incomplete.
func (g *guard) recoverPanic(w *statusWriter, r *http.Request) {
	v := recover()
	if v == nil {
		return
	}
	if v == http.ErrAbortHandler {
		panic(v)
	}
	st := stateOf(r.Context())
	st.log.Error("panic in a handler", "request", st.id, "door", st.endpoint, "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
	if w.started {
		panic(http.ErrAbortHandler)
	}
	g.Refuse(w, r, fmt.Errorf("panic: %v", v))
}

// statusWriter records whether the response has begun, and its status.
type statusWriter struct {
	http.ResponseWriter
	started bool // the final status or a part of the body was written
	status  int  // 0 before the status is written
}

func (t *statusWriter) WriteHeader(status int) {
	if !t.started {
		t.status = status
	}
	t.started = t.started || status >= 200
	t.ResponseWriter.WriteHeader(status)
}

func (t *statusWriter) Write(p []byte) (int, error) {
	if t.started = true; t.status == 0 {
		t.status = http.StatusOK
	}
	return t.ResponseWriter.Write(p)
}

// StatusOf returns the status that a handler behind [Guard] wrote, or 0 before the status is written.
func StatusOf(w http.ResponseWriter) int {
	if t, ok := w.(*statusWriter); ok {
		return t.status
	}
	return 0
}

func (t *statusWriter) Flush() { _ = http.NewResponseController(t.ResponseWriter).Flush() }

// Unwrap lets http.ResponseController reach the connection.
func (t *statusWriter) Unwrap() http.ResponseWriter { return t.ResponseWriter }
