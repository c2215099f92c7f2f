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
	Role      memory.KeyRole
	User      string // user to whom the key belongs, or an admin's name from single sign-on; "" for other keys
	Scope     memory.KeyScope
	AuditName string // name in the audit record
}

// Permissions of the keys from the settings.
var (
	serverKeySignIn = SignIn{Role: memory.KeyAdmin, AuditName: "server key"}
	frontKeySignIn  = SignIn{Role: memory.KeyFront, AuditName: "front key"}
)

type signInContextKey struct{}

// WithSignIn returns a context that makes [Guard] treat a request as signed in, unless the request has its own
// key or token.
func WithSignIn(ctx context.Context, signIn SignIn) context.Context {
	return context.WithValue(ctx, signInContextKey{}, signIn)
}

// Prefixes of the stored credential of a session. The credential "" means the server's own key.
const (
	frontKeyCredential  = "front:" // followed by the front key's id
	storedKeyCredential = "key:"   // followed by the stored key's id
	ssoUserCredential   = "user:"  // followed by the user's name from single sign-on
	ssoAdminCredential  = "admin:" // followed by the admin's name from single sign-on
)

// SignInByKey returns the permissions of a valid key of Loci, and the credential to store for a session with the
// key. ok is false if the text is no valid key.
func (o *Options) SignInByKey(text string) (signIn SignIn, credential string, ok bool) {
	k, ok := o.grantOf(text)
	switch {
	case k.id != "":
		credential = storedKeyCredential + k.id
	case k.Role == memory.KeyFront:
		credential = frontKeyCredential + o.frontKeyID()
	}
	return k.SignIn, credential, ok && !k.expired
}

// SignInOf returns the permissions of a session with a stored credential, or false if it is no longer valid.
func (o *Options) SignInOf(credential string) (SignIn, bool) {
	kind, name, _ := strings.Cut(credential, ":")
	switch kind + ":" {
	case ":":
		return serverKeySignIn, o.Key != ""
	case frontKeyCredential:
		return frontKeySignIn, o.FrontKey != "" && name == o.frontKeyID()
	case storedKeyCredential:
		k, ok := o.Keys.ByID(name, o.Now())
		return storedGrant(k, o.Now()).SignIn, ok
	case ssoUserCredential:
		return SignIn{Role: memory.KeyUser, User: name, AuditName: name}, true
	case ssoAdminCredential:
		return SignIn{Role: memory.KeyAdmin, User: name, AuditName: name}, true
	}
	return SignIn{}, false
}

// frontKeyID returns a hash of the front key, so that sessions end when the front key changes.
func (o *Options) frontKeyID() string {
	sum := sha256.Sum256([]byte("loci front session\x00" + o.FrontKey))
	return hex.EncodeToString(sum[:8])
}

// SSO names the headers of a single sign-on proxy. The zero value disables single sign-on by a proxy.
type SSO struct {
	UserHeader   string   // header with the user's name, read only in requests of [Options.Proxies]
	GroupsHeader string   // header with the user's comma-separated groups; "" ignores groups
	Admins       []string // users, and groups as "group:NAME", that are admins
}

// caddyUnset is the prefix of the value that Caddy 2.6 sends if its authentication program did not set a header.
const caddyUnset = "{http."

// proxySignIn returns the user that the proxy signed in, or false if the request has no such user.
func (s SSO) proxySignIn(r *http.Request) (SignIn, bool) {
	user := r.Header.Get(s.UserHeader)
	if s.UserHeader == "" || user == "" || strings.HasPrefix(user, caddyUnset) {
		return SignIn{}, false
	}
	return s.SignInFor(user, strings.Split(r.Header.Get(s.GroupsHeader), ",")), true
}

// SignInFor returns the permissions of a user with these groups.
func (s SSO) SignInFor(user string, groups []string) SignIn {
	signIn := SignIn{Role: memory.KeyUser, User: user, AuditName: user}
	if slices.Contains(s.Admins, user) || slices.ContainsFunc(groups, func(group string) bool { return slices.Contains(s.Admins, "group:"+strings.TrimSpace(group)) }) {
		signIn.Role = memory.KeyAdmin
	}
	return signIn
}

// IsSSO reports whether a session's credential comes from single sign-on.
func IsSSO(credential string) bool {
	return strings.HasPrefix(credential, ssoUserCredential) || strings.HasPrefix(credential, ssoAdminCredential)
}

// SSOCredential returns the credential to store for a session by single sign-on.
func (in SignIn) SSOCredential() string {
	if in.Role == memory.KeyAdmin {
		return ssoAdminCredential + in.User
	}
	return ssoUserCredential + in.User
}
