package httpx

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"

	"github.com/loci-memory/loci/memory"
)

// SignIn is what a browser signed in with, which counts as a key does.
type SignIn struct {
	Role  memory.KeyRole
	User  string // of a [memory.KeyUser], and of an admin whom single sign-on named
	Scope memory.KeyScope
	By    string // what the audit record calls it
}

// What the keys that are settings open.
var (
	byServerKey = SignIn{Role: memory.KeyAdmin, By: "server key"}
	byFront     = SignIn{Role: memory.KeyFront, By: "front key"}
)

type signInKey struct{}

// WithSignIn returns a context whose requests [Guard] takes for those of a sign-in, unless they
// bring a key or a token of their own.
func WithSignIn(ctx context.Context, in SignIn) context.Context {
	return context.WithValue(ctx, signInKey{}, in)
}

// What a session is by, as it is kept. The server's own key is "".
const (
	byFrontKey = "front:" // and what tells it from another
	byKey      = "key:"   // and the key's id
	byUser     = "user:"  // and the name, by single sign-on
	byAdmin    = "admin:" // the same, for whoever runs the server
)

// ByKey returns what a text opens if it is a key of Loci's that has not expired, and what a
// session by it is by.
func (o *Options) ByKey(text string) (in SignIn, by string, ok bool) {
	k, ok := o.known(text)
	switch {
	case k.id != "":
		by = byKey + k.id
	case k.Role == memory.KeyFront:
		by = byFrontKey + o.frontID()
	}
	return k.SignIn, by, ok && !k.expired
}

// SessionOf returns what a session opens that is by that; false: it opens nothing any more.
func (o *Options) SessionOf(by string) (SignIn, bool) {
	kind, name, _ := strings.Cut(by, ":")
	switch kind + ":" {
	case ":":
		return byServerKey, o.Key != ""
	case byFrontKey:
		return byFront, o.FrontKey != "" && name == o.frontID()
	case byKey:
		k, ok := o.Keys.ByID(name, o.Now())
		return keyedBy(k, o.Now()).SignIn, ok
	case byUser:
		return SignIn{Role: memory.KeyUser, User: name, By: name}, true
	case byAdmin:
		return SignIn{Role: memory.KeyAdmin, User: name, By: name}, true
	}
	return SignIn{}, false
}

// frontID changes with the front key, so that a session by an earlier one ends.
func (o *Options) frontID() string {
	sum := sha256.Sum256([]byte("loci front session\x00" + o.FrontKey))
	return hex.EncodeToString(sum[:8])
}

// SSO says how people are named whom another server signs in. The zero value: none does.
type SSO struct {
	Header string   // has the user, in requests of [Options.Proxies] alone
	Groups string   // the header that has the user's groups, with commas; "": none
	Admins []string // users, and groups as "group:NAME", that may do anything
}

// unset begins what Caddy 2.6 sends for a header that the program which it asked has not set.
const unset = "{http."

// signIn returns whom the proxy in front signed in.
func (s SSO) signIn(r *http.Request) (SignIn, bool) {
	user := r.Header.Get(s.Header)
	if s.Header == "" || user == "" || strings.HasPrefix(user, unset) {
		return SignIn{}, false
	}
	return s.Of(user, strings.Split(r.Header.Get(s.Groups), ",")), true
}

// Of is the sign-in of a user who is in these groups.
func (s SSO) Of(user string, groups []string) SignIn {
	in := SignIn{Role: memory.KeyUser, User: user, By: user}
	if slices.Contains(s.Admins, user) || slices.ContainsFunc(groups, func(group string) bool { return slices.Contains(s.Admins, "group:"+strings.TrimSpace(group)) }) {
		in.Role = memory.KeyAdmin
	}
	return in
}

// IsSSO reports whether a session is by single sign-on.
func IsSSO(by string) bool { return strings.HasPrefix(by, byUser) || strings.HasPrefix(by, byAdmin) }

// SessionBy is what a session is by whom single sign-on named.
func (in SignIn) SessionBy() string {
	if in.Role == memory.KeyAdmin {
		return byAdmin + in.User
	}
	return byUser + in.User
}
