package web

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/loci-memory/loci/internal/httpx"
	"github.com/loci-memory/loci/memory"
)

const (
	// sessionCookie contains a random token. The store has only the token's hash under a key derived from Loci's
	// own key. A copy of the database therefore opens no session, and changing the key ends all sessions.
	sessionCookie = "loci_session"

	// sessionTime is the time for which a browser stays signed in.
	sessionTime = 30 * 24 * time.Hour
)

// PublicPaths returns the exact paths that a browser may fetch without signing in.
func (p *Page) PublicPaths() []string {
	paths := []string{"/signin"}
	if p.Issuer != nil {
		paths = append(paths, "/signin/sso", "/signin/callback")
	}
	for _, name := range assetNames() {
		paths = append(paths, "/assets/"+name)
	}
	return paths
}

// tokenCookie contains Open WebUI's session token. Browsers send the cookie to all servers on the same host.
const tokenCookie = "token"

// WithSession adds the credentials and the user of the cookie's session to each request for next, which is
// [httpx.Guard]. If the cookie belongs to no valid session, it uses a front end's signed token instead, if the browser
// sends such a token.
func (p *Page) WithSession(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, err := r.Cookie(sessionCookie); err == nil && p.Owns(r) {
			s, err := p.sessionByToken(r.Context(), c.Value)
			switch {
			case err == nil:
				ctx := r.Context()
				if in, ok := p.Auth.SignInOf(s.By); ok {
					ctx = httpx.WithSignIn(ctx, in)
				} else if s.By != "" {
					next.ServeHTTP(w, r)
					return
				}
				r = r.Clone(ctx)
				if s.User != "" && r.Header.Get(httpx.HeaderUser) == "" {
					r.Header.Set(httpx.HeaderUser, s.User)
				}
				next.ServeHTTP(w, r)
				return
			case !errors.Is(err, memory.NotFound):
				p.Refuse(w, r, err)
				return
			}
		}
		if c, err := r.Cookie(tokenCookie); err == nil && p.ValidToken != nil && r.Header.Get(httpx.HeaderKey) == "" && p.Owns(r) && p.ValidToken(c.Value) {
			r = r.Clone(r.Context())
			r.Header.Set(httpx.HeaderOpenWebJWT, c.Value)
		}
		next.ServeHTTP(w, r)
	})
}

// sessionHash returns the hash of a token, which identifies the session in the store.
func (p *Page) sessionHash(token string) string {
	key := sha256.Sum256([]byte("loci page session\x00" + p.Key))
	h := hmac.New(sha256.New, key[:])
	h.Write([]byte(token))
	return hex.EncodeToString(h.Sum(nil))
}

// sessionByToken returns the session of a token, or [memory.NotFound] if there is none or it has expired.
func (p *Page) sessionByToken(ctx context.Context, token string) (memory.Session, error) {
	s, err := p.Sessions.Session(ctx, memory.DefaultNamespace, p.sessionHash(token))
	if err == nil && !p.engine.Now().Before(s.ExpiresAt) {
		err = memory.Errorf(memory.NotFound, "the session has expired")
	}
	return s, err
}

func (p *Page) sessionOf(r *http.Request) (memory.Session, error) {
	c, err := r.Cookie(sessionCookie)
	if err != nil {
		return memory.Session{}, err
	}
	return p.sessionByToken(r.Context(), c.Value)
}

// openSession signs a browser in as user and replaces its earlier session. The credential is in the format that
// [httpx.Options.SignInOf] reads.
func (p *Page) openSession(w http.ResponseWriter, r *http.Request, credential, user string, lifetime time.Duration) error {
	if err := p.closeSession(r); err != nil {
		return err
	}
	token, now := rand.Text(), p.engine.Now().UTC().Truncate(time.Microsecond)
	s := memory.Session{Hash: p.sessionHash(token), By: credential, User: user, CreatedAt: now, ExpiresAt: now.Add(lifetime)}
	if err := p.Sessions.AddSession(r.Context(), memory.DefaultNamespace, s); err != nil {
		return err
	}
	http.SetCookie(w, newCookie(r, sessionCookie, token, lifetime))
	return nil
}

// closeSession ends the browser's session, if there is one.
func (p *Page) closeSession(r *http.Request) error {
	c, err := r.Cookie(sessionCookie)
	if err != nil {
		return nil
	}
	return p.Sessions.RemoveSession(r.Context(), memory.DefaultNamespace, p.sessionHash(c.Value))
}

type signInForm struct {
	Next      string // path to show after the sign-in
	User      string
	AskKey    bool   // the form asks for a key
	MultiUser bool   // the form also asks for a user, unless the key belongs to a user
	SSO       bool   // single sign-on is offered
	Error     string // why the last attempt failed
}

func (p *Page) newSignInForm(next, user string) signInForm {
	return signInForm{Next: localPath(next), User: strings.TrimSpace(user), AskKey: p.Key != "", MultiUser: p.MultiUser, SSO: p.Issuer != nil}
}

func (p *Page) showSignIn(w http.ResponseWriter, r *http.Request) {
	p.renderSignIn(w, r, http.StatusOK, p.newSignInForm(r.FormValue("next"), ""))
}

func (p *Page) renderSignIn(w http.ResponseWriter, r *http.Request, status int, form signInForm) {
	p.render(w, r, status, "signin", layoutData{Title: "Sign in", Bare: true, Body: form})
}

func (p *Page) signIn(w http.ResponseWriter, r *http.Request) {
	if err := readForm(r); err != nil {
		p.Refuse(w, r, err)
		return
	}
	form := p.newSignInForm(r.PostFormValue("next"), r.PostFormValue("user"))
	in, credential, ok := p.Auth.SignInByKey(r.PostFormValue("key"))
	if p.Key == "" { // without a key, the server trusts its own machine and the form only asks for the user
		in, credential, ok = httpx.SignIn{Role: memory.KeyAdmin, AuditName: "this machine"}, "", true
	}
	status := http.StatusUnauthorized
	switch {
	case !ok:
		form.Error = "This key is not valid on this server, or it has expired."
		if wait := httpx.CountWrongKey(w, r); wait > 0 {
			status = http.StatusTooManyRequests
			form.Error += " There were too many wrong keys from your address: please wait " + plural(int((wait+time.Minute-1)/time.Minute), "minute") + " before you try another key. A valid key is accepted at any time."
		}
	case in.Role == memory.KeyUser && form.User != "" && form.User != in.User:
		form.Error = "That key is right, but it opens only another user's memory: leave User empty."
	case in.Role != memory.KeyUser && form.User == "" && p.MultiUser:
		form.Error = "That key is right. It does not say whose memory to show, since several users share this server: enter a name as User, such as ana. The command loci users lists the users."
	case form.User != "" && !httpx.ValidUser(form.User):
		form.Error = "This is not a valid user name."
	}
	if p.Key == "" && form.Error != "" {
		form.Error = strings.TrimPrefix(form.Error, "That key is right. ")
	}
	if form.Error != "" {
		_ = p.recordAudit(r, "sign in refused", in.AuditName, form.User, "") // the sign-in is refused even if recording fails
		p.renderSignIn(w, r, status, form)
		return
	}
	err := p.recordAudit(r, "sign in", in.AuditName, cmp.Or(form.User, in.User), "")
	if err == nil {
		err = p.openSession(w, r, credential, form.User, sessionTime)
	}
	if err != nil {
		p.Refuse(w, r, err)
		return
	}
	http.Redirect(w, r, form.Next, http.StatusSeeOther)
}

// recordAudit writes a session action to the audit record.
func (p *Page) recordAudit(r *http.Request, action, credential, user, detail string) error {
	if p.RecordAudit == nil {
		return nil
	}
	return p.RecordAudit(r.Context(), memory.AuditEntry{Act: action, By: credential, User: user, Detail: detail})
}

// switchUser shows an admin the memory of another user, or the admin's own memory.
func (p *Page) switchUser(w http.ResponseWriter, r *http.Request) {
	s, err := p.sessionOf(r)
	if err == nil {
		err = readForm(r)
	}
	user, id := r.PostFormValue("user"), httpx.IdentityOf(r.Context())
	switch {
	case err != nil:
	case id.Role != httpx.RoleAdmin:
		err = memory.Errorf(memory.Forbidden, "only an admin may see another user's memory")
	case user != "" && !httpx.ValidUser(user):
		err = memory.Errorf(memory.Invalid, "invalid user name")
	default:
		err = p.recordAudit(r, "switch user", id.AuditName, user, "")
	}
	if err == nil {
		err = p.openSession(w, r, s.By, user, s.ExpiresAt.Sub(p.engine.Now()))
	}
	if err != nil {
		p.Refuse(w, r, err)
		return
	}
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

func (p *Page) signOut(w http.ResponseWriter, r *http.Request) {
	s, _ := p.sessionOf(r) // without a session s is zero, and nobody is signed out at the OpenID issuer
	if err := p.closeSession(r); err != nil {
		p.Refuse(w, r, err)
		return
	}
	http.SetCookie(w, newCookie(r, sessionCookie, "", -time.Second))
	if to := p.Issuer.signOutURL(r, s.By); to != "" {
		p.redirectByPage(w, r, to, "Signing out")
		return
	}
	http.Redirect(w, r, "/signin", http.StatusSeeOther)
}

// newCookie returns a cookie of the page that scripts cannot read and that other sites cannot make browsers send.
func newCookie(r *http.Request, name, value string, lifetime time.Duration) *http.Cookie {
	return &http.Cookie{
		Name: name, Value: value, Path: "/", MaxAge: int(lifetime.Seconds()),
		HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: httpx.IsSecure(r),
	}
}
