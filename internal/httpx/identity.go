package httpx

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/loci-memory/loci/memory"
)

// Headers that identify the user. Loci removes them before it forwards a request. The setting forward.drop can make
// it forward Open WebUI's headers, except a token that Loci verified.
const (
	HeaderKey         = "X-Loci-Key"
	HeaderUser        = "X-Loci-User" // may be percent-encoded
	HeaderOpenWebUser = "X-OpenWebUI-User-Id"
	HeaderOpenWebJWT  = "X-OpenWebUI-User-Jwt"
	HeaderOpenWebName = "X-OpenWebUI-User-Name" // percent-encoded
)

// DefaultUser is the owner of the memory in single mode.
const DefaultUser = "default"

// maxUserBytes is the maximum length of a user's name, because every key in the store contains the name.
const maxUserBytes = 256

// Role is the set of a request's permissions.
type Role string

// Roles. Only APIs that need no key accept a request without a role.
const (
	RoleAdmin Role = "admin" // may do anything, and may name any user of the namespace
	RoleUser  Role = "user"  // may use the memory of its own user
)

// Identity is the identified caller. A request with an empty Owner is served without memory.
type Identity struct {
	Owner            memory.Owner
	DisplayName      string // the front end's name for the owner, for people; "" if unknown
	Role             Role
	Namespace        string
	AuditName        string // the caller's name in the audit record: the user of a key or token, or a name for the credential
	ReadOnly         bool   // the key has the scope read
	canNameUser      bool   // the request may name any user
	hasOwnCredential bool   // the request has the owner's own key or token
	isDefaultUser    bool   // the request names no user, so the owner is the server's only user
}

// Author returns the user as the author of manual changes in the request's memory. A caller that only names a
// user, with the server's key or on a server without a key, counts as an admin.
func (id Identity) Author() memory.Author { return id.AuthorOf(id.Owner) }

// AuthorOf is like Author, but for changes in the memory of any owner.
func (id Identity) AuthorOf(owner memory.Owner) memory.Author {
	a := memory.Author{Kind: memory.ByPerson, Name: id.Owner.Name()}
	isSelf := owner == id.Owner && (id.hasOwnCredential || id.isDefaultUser)
	a.Admin = id.Role == RoleAdmin && !isSelf
	return a
}

// HasCredentialOf reports whether the request has a key or signed token of this owner.
func (id Identity) HasCredentialOf(owner memory.Owner) bool {
	return id.hasOwnCredential && id.Owner == owner
}

// IgnoresUser reports whether Loci ignores the user that a body names, because the server has only one user.
func (id Identity) IgnoresUser(user string) bool {
	return user != "" && id.isDefaultUser && memory.User(id.Namespace, user) != id.Owner
}

// WithUser returns the identity with the user that the body names, if the request may name users and no header or
// key names a user. Otherwise, it returns the same identity. The error is [memory.Invalid] for an invalid name.
func (id Identity) WithUser(user string) (Identity, error) {
	if user == "" || id.Owner != "" || !id.canNameUser {
		return id, nil
	}
	owner, err := userOwner(id.Namespace, user, "user")
	if err != nil {
		return id, err
	}
	id.Owner = owner
	return id, nil
}

// WithUserOverDefault is WithUser for a front end whose body always names the user. The named user takes
// precedence over the server's default user.
func (id Identity) WithUserOverDefault(user string) (Identity, error) {
	if id.isDefaultUser {
		id.Owner, id.isDefaultUser = "", false
	}
	return id.WithUser(user)
}

// IdentityOf returns the caller that [Guard] identified, or the zero Identity outside Guard.
func IdentityOf(ctx context.Context) Identity { return stateOf(ctx).identity }

// identify identifies the caller and removes the headers that are meant only for Loci.
func (o *Options) identify(r *http.Request) (Identity, error) {
	defer o.dropUserHeaders(r)
	hasKey := o.hasKeys() && hasCredential(r)
	grant, err := o.extractKey(r)
	if err != nil {
		return Identity{}, err
	}
	token, err := o.extractJWT(r)
	if err != nil {
		return Identity{}, err
	}
	id := Identity{Namespace: memory.DefaultNamespace, hasOwnCredential: token.Subject != ""}
	if grant.Role == "" && token.Subject == "" {
		signIn, ok := r.Context().Value(signInContextKey{}).(SignIn)
		if sso, found := o.SSO.proxySignIn(r); found {
			signIn, ok = sso, true
		}
		if ok {
			grant.SignIn = signIn
		}
	}
	id.AuditName, id.ReadOnly = cmp.Or(grant.AuditName, token.Subject, "this machine"), grant.Scope == memory.ScopeRead
	proxied := "" // a key makes the address irrelevant
	if o.Key == "" {
		proxied = proxyEvidence(r)
	}
	if grant.Role == memory.KeyUser { // the key's user takes precedence over users in headers
		id.Role, id.hasOwnCredential = RoleUser, true
		id.Owner, err = userOwner(memory.DefaultNamespace, grant.User, "the key's user")
		return id, err
	}
	switch {
	case grant.Role == memory.KeyFront:
		id.Role, id.canNameUser = RoleUser, true
	case grant.Role == memory.KeyAdmin:
		id.Role, id.canNameUser = RoleAdmin, true
	case token.Subject != "": // a token is accepted from any address, because it belongs to one user
		id.Role = RoleUser
	case o.Key == "" && proxied == "" && containsAddress(o.TrustedAddresses, parseAddress(r.RemoteAddr)):
		id.Role, id.canNameUser = RoleAdmin, true
	case proxied != "":
		return Identity{}, errProxied(proxied)
	default:
		err := memory.Errorf(memory.Unauthorized, "Loci's key is required, in X-Loci-Key or as a bearer token")
		if hasKey {
			err = wrongKeyError{err}
		}
		return Identity{}, err
	}
	id.Owner, id.DisplayName, err = o.namedOwner(r, id, token)
	if err == nil && id.Owner == "" && grant.User != "" { // an admin from single sign-on who named no other user
		id.hasOwnCredential = true
		id.Owner, err = userOwner(memory.DefaultNamespace, grant.User, "the user")
	}
	if err == nil && id.Owner == "" && !o.MultiUser {
		id.Owner, id.isDefaultUser = memory.User(memory.DefaultNamespace, DefaultUser), true
	}
	return id, err
}

// namedOwner returns the owner that the request names, from the most reliable source, and the owner's display
// name. Both are empty if the request names no user.
func (o *Options) namedOwner(r *http.Request, id Identity, token claims) (owner memory.Owner, display string, err error) {
	if token.Subject != "" {
		owner, err = userOwner(memory.DefaultNamespace, token.Subject, HeaderOpenWebJWT)
		return owner, displayName(token.Name), err
	}
	if id.canNameUser {
		for _, name := range []string{o.UserHeader, HeaderUser, HeaderOpenWebUser} {
			values := r.Header.Values(name)
			if len(values) > 1 {
				return "", "", memory.Errorf(memory.Invalid, "the header %s occurs %d times; a request has one user", name, len(values))
			}
			if len(values) == 1 && values[0] != "" {
				user := values[0]
				if plain, err := url.PathUnescape(user); err == nil && name == HeaderUser {
					user = plain // many clients send only ASCII, unescaped
				}
				owner, err = userOwner(memory.DefaultNamespace, user, name)
				if name == HeaderOpenWebUser {
					display, _ = url.PathUnescape(r.Header.Get(HeaderOpenWebName)) // "" if the escaping is invalid
				}
				return owner, displayName(display), err
			}
		}
	}
	return "", "", nil
}

// maxDisplayName is the maximum number of characters of a display name.
const maxDisplayName = 100

// displayName returns a client's name for a user on one line, or "" if the name is not valid text.
func displayName(name string) string {
	if !utf8.ValidString(name) {
		return ""
	}
	letters := []rune(strings.Join(strings.FieldsFunc(name, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsGraphic(r) }), " "))
	return string(letters[:min(len(letters), maxDisplayName)])
}

// keyHeaders are the headers in which clients send their provider's key. OpenAI's and mem0's clients use
// Authorization; the other headers are those of Azure, Anthropic and Google.
var keyHeaders = []string{"Authorization", "Api-Key", "X-Api-Key", "X-Goog-Api-Key"}

// hasCredential reports whether a request contains a possible key. A password for a proxy is not a key.
func hasCredential(r *http.Request) bool {
	return slices.ContainsFunc(keyHeaders, func(name string) bool {
		return slices.ContainsFunc(r.Header.Values(name), func(v string) bool {
			scheme, _, _ := strings.Cut(v, " ")
			return v != "" && !strings.EqualFold(scheme, "basic")
		})
	})
}

// extractJWT removes a signed token and returns its claims. Without a secret, Loci ignores the token and does not
// remove it.
func (o *Options) extractJWT(r *http.Request) (claims, error) {
	token := r.Header.Get(HeaderOpenWebJWT)
	if token == "" || len(o.JWTSecret) == 0 {
		return claims{}, nil
	}
	r.Header.Del(HeaderOpenWebJWT)
	return verifyJWT(token, o.JWTSecret, o.Now())
}

// credentialOf returns the value after a scheme such as Bearer or Token, or the whole value without a scheme. It
// returns "" for passwords (Basic), which are not keys.
func credentialOf(value string) string {
	scheme, credential, ok := strings.Cut(value, " ")
	if !ok {
		return value
	}
	if strings.EqualFold(scheme, "basic") {
		return ""
	}
	return strings.TrimSpace(credential)
}

// ValidUser reports whether a name is a valid user name.
func ValidUser(name string) bool {
	owner, err := userOwner(memory.DefaultNamespace, name, "user")
	return err == nil && owner.Valid()
}

// userOwner converts a user name from a request to an owner. Error messages name the source of the user name.
func userOwner(namespace, name, source string) (memory.Owner, error) {
	if len(name) > maxUserBytes || !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return "", memory.Errorf(memory.Invalid, "%s: a user's name is at most %d bytes of UTF-8 without control characters", source, maxUserBytes)
	}
	return memory.User(namespace, name), nil
}
