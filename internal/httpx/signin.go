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

// SignIn is what a browser signed in with. It grants the same as a key.
type SignIn struct {
	Role  memory.KeyRole
	User  string // user of a [memory.KeyUser], or of an admin that single sign-on named
	Scope memory.KeyScope
	By    string // name in the audit record
}

// These are what the keys from the settings grant.
var (
	byServerKey = SignIn{Role: memory.KeyAdmin, By: "server key"}
	byFront     = SignIn{Role: memory.KeyFront, By: "front key"}
)

type signInKey struct{}

// WithSignIn returns a context whose requests [Guard] treats as signed in, unless they have their own key or
// token.
func WithSignIn(ctx context.Context, in SignIn) context.Context {
	return context.WithValue(ctx, signInKey{}, in)
}

// These are the stored forms of a session's credential. The server's own key is "".
const (
	byFrontKey = "front:" // followed by an id of the front key
	byKey      = "key:"   // followed by the key's id
	byUser     = "user:"  // followed by the name from single sign-on
	byAdmin    = "admin:" // same, for an admin
)

// ByKey returns what a text grants if it is a valid key of Loci, and the credential to store for a session with
// it.
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

// SessionOf returns what a session with this credential grants; false: the credential is no longer valid.
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

// frontID identifies the front key, so that sessions with an earlier front key end.
func (o *Options) frontID() string {
	sum := sha256.Sum256([]byte("loci front session\x00" + o.FrontKey))
	return hex.EncodeToString(sum[:8])
}

// SSO describes how single sign-on names people. The zero value disables it.
type SSO struct {
	Header string   // header with the user, only in requests of [Options.Proxies]
	Groups string   // header with the user's comma-separated groups; "": none
	Admins []string // users, and groups as "group:NAME", that are admins
}

// unset is the prefix that Caddy 2.6 sends for a header that its authentication program did not set.
const unset = "{http."

// signIn returns the user that the proxy signed in.
func (s SSO) signIn(r *http.Request) (SignIn, bool) {
	user := r.Header.Get(s.Header)
	if s.Header == "" || user == "" || strings.HasPrefix(user, unset) {
		return SignIn{}, false
	}
	return s.Of(user, strings.Split(r.Header.Get(s.Groups), ",")), true
}

// Of is the sign-in of a user with these groups.
func (s SSO) Of(user string, groups []string) SignIn {
	in := SignIn{Role: memory.KeyUser, User: user, By: user}
	if slices.Contains(s.Admins, user) || slices.ContainsFunc(groups, func(group string) bool { return slices.Contains(s.Admins, "group:"+strings.TrimSpace(group)) }) {
		in.Role = memory.KeyAdmin
	}
	return in
}

// IsSSO reports whether a session's credential is single sign-on.
func IsSSO(by string) bool { return strings.HasPrefix(by, byUser) || strings.HasPrefix(by, byAdmin) }

// SessionBy is the stored credential of a session by single sign-on.
func (in SignIn) SessionBy() string {
	if in.Role == memory.KeyAdmin {
		return byAdmin + in.User
	}
	return byUser + in.User
}
