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

// The headers that say who asks. They end at Loci; [Options] of the forwarder may let those of
// Open WebUI through, but for the token that Loci has the secret of.
const (
	HeaderKey         = "X-Loci-Key"
	HeaderUser        = "X-Loci-User" // may be percent-encoded
	HeaderOpenWebUser = "X-OpenWebUI-User-Id"
	HeaderOpenWebJWT  = "X-OpenWebUI-User-Jwt"
	HeaderOpenWebName = "X-OpenWebUI-User-Name" // percent-encoded
)

// DefaultUser is whose memory it is in single mode.
const DefaultUser = "default"

// maxUser bounds a user's name, which is part of every key in the store.
const maxUser = 256

// Role is what a request may do.
type Role string

// The roles. A request without one is a stranger's: it got no further than the
// APIs that need no key.
const (
	RoleAdmin Role = "admin" // anything, and may name any user of the namespace
	RoleUser  Role = "user"  // its own memory
)

// Identity is who asks. An empty Owner is nobody in particular: the request is
// served, without memory.
type Identity struct {
	Owner     memory.Owner
	Name      string // what a front end calls the owner, for people to read; "": it does not say
	Role      Role
	Namespace string
	By        string // who it is, as the audit record says it: a user who proved it, or what they came with
	ReadOnly  bool   // a key with the scope read
	mayName   bool
	signed    bool // the owner's own token names them
	unnamed   bool // nothing names them: it is the one user there is
}

// Author returns who writes by hand in the request's memory: its user. Whoever comes
// with the server's key, or from where none is needed, and names a user is not known to
// be that user, and is said to run the server. Who names nobody is themselves.
func (id Identity) Author() memory.Author { return id.AuthorOf(id.Owner) }

// AuthorOf is Author for the memory of another owner, who is somebody else.
func (id Identity) AuthorOf(owner memory.Owner) memory.Author {
	a := memory.Author{Kind: memory.ByPerson, Name: id.Owner.Name()}
	themselves := owner == id.Owner && (id.signed || id.unnamed)
	a.Admin = id.Role == RoleAdmin && !themselves
	return a
}

// Proves reports whether the request's own key or signed token is of this owner.
func (id Identity) Proves(owner memory.Owner) bool { return id.signed && id.Owner == owner }

// Ignores reports whether a user that the body names is ignored, since the server has one user.
func (id Identity) Ignores(user string) bool {
	return user != "" && id.unnamed && memory.User(id.Namespace, user) != id.Owner
}

// Named returns the identity with the user that the body names, where nothing
// before it named one and the request is trusted to. Otherwise it is the same identity.
// [memory.Invalid] for a name that cannot be one.
func (id Identity) Named(user string) (Identity, error) {
	if user == "" || id.Owner != "" || !id.mayName {
		return id, nil
	}
	owner, err := userOwner(id.Namespace, user, "user")
	if err != nil {
		return id, err
	}
	id.Owner = owner
	return id, nil
}

// NamedOver is Named for a front end whose body always names the user, as headers do
// elsewhere: that user comes before the only user of the server.
func (id Identity) NamedOver(user string) (Identity, error) {
	if id.unnamed {
		id.Owner, id.unnamed = "", false
	}
	return id.Named(user)
}

// IdentityOf returns who asks, as [Guard] found it; the zero Identity outside it.
func IdentityOf(ctx context.Context) Identity { return stateOf(ctx).identity }

// identify finds out who asks and takes what was meant for Loci alone out of the
// request's headers.
func (o *Options) identify(r *http.Request) (Identity, error) {
	defer o.dropNames(r)
	tried := o.hasKeys() && triesKey(r)
	keyed, err := o.takeKey(r)
	if err != nil {
		return Identity{}, err
	}
	signed, err := o.takeJWT(r)
	if err != nil {
		return Identity{}, err
	}
	id := Identity{Namespace: memory.DefaultNamespace, signed: signed.Subject != ""}
	if keyed.Role == "" && signed.Subject == "" {
		in, ok := r.Context().Value(signInKey{}).(SignIn)
		if sso, is := o.SSO.signIn(r); is {
			in, ok = sso, true
		}
		if ok {
			keyed.SignIn = in
		}
	}
	id.By, id.ReadOnly = cmp.Or(keyed.By, signed.Subject, "this machine"), keyed.Scope == memory.ScopeRead
	proxied := "" // with a key nothing depends on the address
	if o.Key == "" {
		proxied = proxySign(r)
	}
	if keyed.Role == memory.KeyUser { // whoever else is named
		id.Role, id.signed = RoleUser, true
		id.Owner, err = userOwner(memory.DefaultNamespace, keyed.User, "the key's user")
		return id, err
	}
	switch {
	case keyed.Role == memory.KeyFront:
		id.Role, id.mayName = RoleUser, true
	case keyed.Role == memory.KeyAdmin:
		id.Role, id.mayName = RoleAdmin, true
	case signed.Subject != "": // from wherever: a token is one user's
		id.Role = RoleUser
	case o.Key == "" && proxied == "" && contains(o.Trusted, addressOf(r.RemoteAddr)):
		id.Role, id.mayName = RoleAdmin, true
	case proxied != "":
		return Identity{}, errProxied(proxied)
	default:
		err := memory.Errorf(memory.Unauthorized, "this needs Loci's key, as X-Loci-Key or as bearer")
		if tried {
			err = badKey{err}
		}
		return Identity{}, err
	}
	id.Owner, id.Name, err = o.owner(r, id, signed)
	if err == nil && id.Owner == "" && keyed.User != "" { // an admin who named nobody
		id.signed = true
		id.Owner, err = userOwner(memory.DefaultNamespace, keyed.User, "the user")
	}
	if err == nil && id.Owner == "" && !o.Multi {
		id.Owner, id.unnamed = memory.User(memory.DefaultNamespace, DefaultUser), true
	}
	return id, err
}

// owner returns whose memory the request says it is, the surest source first, and what the
// owner is called; "" where it says nothing.
func (o *Options) owner(r *http.Request, id Identity, signed claims) (owner memory.Owner, called string, err error) {
	if signed.Subject != "" {
		owner, err = userOwner(memory.DefaultNamespace, signed.Subject, HeaderOpenWebJWT)
		return owner, displayName(signed.Name), err
	}
	if id.mayName {
		for _, name := range []string{o.UserHeader, HeaderUser, HeaderOpenWebUser} {
			values := r.Header.Values(name)
			if len(values) > 1 {
				return "", "", memory.Errorf(memory.Invalid, "%s is there %d times; one user asks at a time", name, len(values))
			}
			if len(values) == 1 && values[0] != "" {
				user := values[0]
				if plain, err := url.PathUnescape(user); err == nil && name == HeaderUser {
					user = plain // many clients send only ASCII
				}
				owner, err = userOwner(memory.DefaultNamespace, user, name)
				if name == HeaderOpenWebUser {
					called, _ = url.PathUnescape(r.Header.Get(HeaderOpenWebName)) // of a wrong one it is ""
				}
				return owner, displayName(called), err
			}
		}
	}
	return "", "", nil
}

// maxDisplayName bounds what a user is called, in letters.
const maxDisplayName = 100

// displayName returns a name from outside on one line, "" for what is not text.
func displayName(name string) string {
	if !utf8.ValidString(name) {
		return ""
	}
	letters := []rune(strings.Join(strings.FieldsFunc(name, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsGraphic(r) }), " "))
	return string(letters[:min(len(letters), maxDisplayName)])
}

// keyHeaders are where clients put the key that their provider wants. OpenAI's
// send a bearer, mem0's a token; those of Azure, Anthropic and Google have headers of their own.
var keyHeaders = []string{"Authorization", "Api-Key", "X-Api-Key", "X-Goog-Api-Key"}

// triesKey reports whether a request comes with what may be meant as a key. The
// password that a proxy in front asks a browser for is not.
func triesKey(r *http.Request) bool {
	return slices.ContainsFunc(keyHeaders, func(name string) bool {
		return slices.ContainsFunc(r.Header.Values(name), func(v string) bool {
			scheme, _, _ := strings.Cut(v, " ")
			return v != "" && !strings.EqualFold(scheme, "basic")
		})
	})
}

// takeJWT returns the claims of a signed token, none without one. Without a
// secret the token is none of Loci's business and stays where it is.
func (o *Options) takeJWT(r *http.Request) (claims, error) {
	token := r.Header.Get(HeaderOpenWebJWT)
	if token == "" || len(o.JWTSecret) == 0 {
		return claims{}, nil
	}
	r.Header.Del(HeaderOpenWebJWT)
	return verifyJWT(token, o.JWTSecret, o.Now())
}

// credentialOf returns what stands behind a scheme such as Bearer or Token, and a bare key as it
// is. A password is not a key: how often one is tried is not counted.
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

// ValidUser reports whether a name from outside can be a user's.
func ValidUser(name string) bool {
	owner, err := userOwner(memory.DefaultNamespace, name, "user")
	return err == nil && owner.Valid()
}

// userOwner makes an owner of a name from outside. where is what named it.
func userOwner(namespace, name, where string) (memory.Owner, error) {
	if len(name) > maxUser || !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return "", memory.Errorf(memory.Invalid, "%s: a user's name is at most %d bytes of UTF-8 without control characters", where, maxUser)
	}
	return memory.User(namespace, name), nil
}
