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

// SignIn contains the permissions of a browser's session or of a key.
type SignIn struct {
	Role  memory.KeyRole
	User  string // user of a [memory.KeyUser], or admin that single sign-on named; "" for other keys
	Scope memory.KeyScope
	By    string // name in the audit record
}

// Permissions of the keys from the settings.
var (
	byServerKey = SignIn{Role: memory.KeyAdmin, By: "server key"}
	byFront     = SignIn{Role: memory.KeyFront, By: "front key"}
)

type signInKey struct{}

// WithSignIn returns a context that makes [Guard] treat a request as signed in, unless the request has its own
// key or token.
func WithSignIn(ctx context.Context, in SignIn) context.Context {
	return context.WithValue(ctx, signInKey{}, in)
}

// Prefixes of the stored credential of a session. The credential "" stands for the server's own key.
const (
	byFrontKey = "front:" // followed by the front key's id
	byKey      = "key:"   // followed by the stored key's id
	byUser     = "user:"  // followed by the user's name from single sign-on
	byAdmin    = "admin:" // followed by the admin's name from single sign-on
)

// SignInByKey returns the permissions of a text that is a valid key of Loci, and the credential to store for a
// session with the key.
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

// SignInOf returns the permissions of a session with a stored credential, or false if it is no longer valid.
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

// frontKeyID returns an id of the front key, so that sessions with an earlier front key end.
func (o *Options) frontID() string {
	sum := sha256.Sum256([]byte("loci front session\x00" + o.FrontKey))
	return hex.EncodeToString(sum[:8])
}

// SSO names the headers of a single sign-on proxy. The zero value disables single sign-on by a proxy.
type SSO struct {
	Header string   // header with the user's name, only in requests of [Options.Proxies]
	Groups string   // header with the user's comma-separated groups; "" ignores groups
	Admins []string // users, and groups as "group:NAME", that are admins
}

// caddyUnset is the prefix of the value that Caddy 2.6 sends if its authentication program did not set a header.
const unset = "{http."

// proxySignIn returns the user that the proxy signed in.
func (s SSO) signIn(r *http.Request) (SignIn, bool) {
	user := r.Header.Get(s.Header)
	if s.Header == "" || user == "" || strings.HasPrefix(user, unset) {
		return SignIn{}, false
	}
	return s.Of(user, strings.Split(r.Header.Get(s.Groups), ",")), true
}

// SignInFor returns the permissions of a user with these groups.
func (s SSO) Of(user string, groups []string) SignIn {
	in := SignIn{Role: memory.KeyUser, User: user, By: user}
	if slices.Contains(s.Admins, user) || slices.ContainsFunc(groups, func(group string) bool { return slices.Contains(s.Admins, "group:"+strings.TrimSpace(group)) }) {
		in.Role = memory.KeyAdmin
	}
	return in
}

// IsSSO reports whether a session's credential comes from single sign-on.
func IsSSO(by string) bool { return strings.HasPrefix(by, byUser) || strings.HasPrefix(by, byAdmin) }

// SSOCredential returns the credential to store for a session by single sign-on.
func (in SignIn) SessionBy() string {
	if in.Role == memory.KeyAdmin {
		return byAdmin + in.User
	}
	return byUser + in.User
}
