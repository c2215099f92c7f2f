package web

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/loci-memory/loci/internal/httpx"
	"github.com/loci-memory/loci/memory"
)

const (
	// sessionCookie holds a random token. The store keeps its hash under a key made of
	// Loci's own, so that a copy of the database opens no session and a changed key ends
	// all of them.
	sessionCookie = "loci_session"

	// sessionTime is how long a browser stays signed in.
	sessionTime = 30 * 24 * time.Hour
)

// OpenPaths are what a browser may fetch before anybody signed in, each exactly.
func (p *Page) OpenPaths() []string {
	paths := []string{"/signin"}
	for _, name := range assetNames() {
		paths = append(paths, "/assets/"+name)
	}
	return paths
}

// tokenCookie is where Open WebUI keeps the token of its own session, for all servers of the
// host that it is reached by.
const tokenCookie = "token"

// SignedIn returns next, which is [httpx.Guard], with the page's cookie told to it as
// the headers that other clients send. It decides nothing else: a cookie of no session
// tells nothing. Without a session the signed token of a front end's stands for one.
func (p *Page) SignedIn(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, err := r.Cookie(sessionCookie); err == nil && p.Owns(r) {
			s, err := p.session(r.Context(), c.Value)
			switch {
			case err == nil:
				r = r.Clone(r.Context())
				if p.Key != "" {
					r.Header.Set(httpx.HeaderKey, p.Key)
				}
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
		if c, err := r.Cookie(tokenCookie); err == nil && p.Token != nil && r.Header.Get(httpx.HeaderKey) == "" && p.Owns(r) && p.Token(c.Value) {
			r = r.Clone(r.Context())
			r.Header.Set(httpx.HeaderOpenWebJWT, c.Value)
		}
		next.ServeHTTP(w, r)
	})
}

// sessionHash returns what the store knows a token by.
func (p *Page) sessionHash(token string) string {
	key := sha256.Sum256([]byte("loci page session\x00" + p.Key))
	h := hmac.New(sha256.New, key[:])
	h.Write([]byte(token))
	return hex.EncodeToString(h.Sum(nil))
}

// session returns the session of a token. [memory.NotFound]: there is none, or it has
// expired.
func (p *Page) session(ctx context.Context, token string) (memory.Session, error) {
	s, err := p.Sessions.Session(ctx, memory.DefaultNamespace, p.sessionHash(token))
	if err == nil && !p.engine.Now().Before(s.ExpiresAt) {
		err = memory.Errorf(memory.NotFound, "the session has expired")
	}
	return s, err
}

// openSession signs a browser in, in place of the session that it had.
func (p *Page) openSession(w http.ResponseWriter, r *http.Request, user string) error {
	if err := p.closeSession(r); err != nil {
		return err
	}
	token, now := rand.Text(), p.engine.Now().UTC().Truncate(time.Microsecond)
	s := memory.Session{Hash: p.sessionHash(token), User: user, CreatedAt: now, ExpiresAt: now.Add(sessionTime)}
	if err := p.Sessions.AddSession(r.Context(), memory.DefaultNamespace, s); err != nil {
		return err
	}
	http.SetCookie(w, cookie(r, sessionCookie, token, sessionTime))
	return nil
}

// closeSession ends the session that a browser has, if any.
func (p *Page) closeSession(r *http.Request) error {
	c, err := r.Cookie(sessionCookie)
	if err != nil {
		return nil
	}
	return p.Sessions.RemoveSession(r.Context(), memory.DefaultNamespace, p.sessionHash(c.Value))
}

// signingIn is what the sign-in form shows.
type signingIn struct {
	Next  string
	User  string
	Keyed bool   // a key is asked for
	Multi bool   // so is a user
	Wrong string // what was wrong with the last try
}

func (p *Page) askKey(w http.ResponseWriter, r *http.Request) {
	p.render(w, r, http.StatusOK, "signin", frame{Title: "Sign in", Bare: true, Body: signingIn{Next: local(r.FormValue("next")), Keyed: p.Key != "", Multi: p.Multi}})
}

func (p *Page) signIn(w http.ResponseWriter, r *http.Request) {
	if err := readForm(r); err != nil {
		p.Refuse(w, r, err)
		return
	}
	form := signingIn{Next: local(r.PostFormValue("next")), User: strings.TrimSpace(r.PostFormValue("user")), Keyed: p.Key != "", Multi: p.Multi}
	status := http.StatusUnauthorized
	given, want := sha256.Sum256([]byte(r.PostFormValue("key"))), sha256.Sum256([]byte(p.Key))
	switch {
	case p.Key != "" && subtle.ConstantTimeCompare(given[:], want[:]) != 1:
		form.Wrong = "That is not this server's key."
		if wait := httpx.WrongKey(w, r); wait > 0 {
			status = http.StatusTooManyRequests
			form.Wrong += " There were too many wrong ones from your address: please wait " + plural(int((wait+time.Minute-1)/time.Minute), "minute") + " before you try another. The right one is taken at any time."
		}
	case form.User == "" && p.Multi:
		form.Wrong = "Several users share this server: type the name of one as User, such as ana. The command loci users lists them."
	case form.User != "" && !memory.User(memory.DefaultNamespace, form.User).Valid(), len(form.User) > 256:
		form.Wrong = "That cannot be a user's name."
	}
	if form.Wrong != "" {
		p.render(w, r, status, "signin", frame{Title: "Sign in", Bare: true, Body: form})
		return
	}
	if err := p.openSession(w, r, form.User); err != nil {
		p.Refuse(w, r, err)
		return
	}
	http.Redirect(w, r, form.Next, http.StatusSeeOther)
}

func (p *Page) signOut(w http.ResponseWriter, r *http.Request) {
	if err := p.closeSession(r); err != nil {
		p.Refuse(w, r, err)
		return
	}
	http.SetCookie(w, cookie(r, sessionCookie, "", -time.Second))
	http.Redirect(w, r, "/signin", http.StatusSeeOther)
}

// cookie is one of the page's: for no script and no other site.
func cookie(r *http.Request, name, value string, life time.Duration) *http.Cookie {
	return &http.Cookie{
		Name: name, Value: value, Path: "/", MaxAge: int(life.Seconds()),
		HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: httpx.Secure(r),
	}
}
