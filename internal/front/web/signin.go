package web

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/loci-memory/loci/internal/httpx"
	"github.com/loci-memory/loci/memory"
)

const (
	// sessionCookie holds "UNTIL.USER.MAC": seconds since 1970, a user's name in
	// base64, and an HMAC of both under a key made of Loci's own. It never holds the
	// key, and a changed key ends every session.
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

// SignedIn returns next, which is [httpx.Guard], with the page's cookie told to it as
// the headers that other clients send. It decides nothing else: a cookie that is
// not ours, or ran out, tells nothing.
func (p *Page) SignedIn(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, err := r.Cookie(sessionCookie); err == nil && p.Owns(r) {
			if user, ok := p.session(c.Value); ok {
				r = r.Clone(r.Context())
				if p.Key != "" {
					r.Header.Set(httpx.HeaderKey, p.Key)
				}
				if user != "" && r.Header.Get(httpx.HeaderUser) == "" {
					r.Header.Set(httpx.HeaderUser, user)
				}
			}
		}
		next.ServeHTTP(w, r)
	})
}

func (p *Page) sign(until time.Time, user string) string {
	text := strconv.FormatInt(until.Unix(), 10) + "." + base64.RawURLEncoding.EncodeToString([]byte(user))
	return text + "." + base64.RawURLEncoding.EncodeToString(p.mac(text))
}

func (p *Page) mac(text string) []byte {
	key := sha256.Sum256([]byte("loci page session\x00" + p.Key))
	h := hmac.New(sha256.New, key[:])
	h.Write([]byte(text))
	return h.Sum(nil)
}

// session returns the user that a cookie names, "" for nobody in particular, and
// whether it is good.
func (p *Page) session(value string) (user string, ok bool) {
	text, sum, _ := cutLast(value, ".")
	mac, err := base64.RawURLEncoding.DecodeString(sum)
	if err != nil || !hmac.Equal(mac, p.mac(text)) {
		return "", false
	}
	seconds, name, _ := strings.Cut(text, ".")
	until, err1 := strconv.ParseInt(seconds, 10, 64)
	decoded, err2 := base64.RawURLEncoding.DecodeString(name)
	if err1 != nil || err2 != nil || p.engine.Now().Unix() >= until {
		return "", false
	}
	return string(decoded), true
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// signingIn is what the sign-in form shows.
type signingIn struct {
	Next  string
	User  string
	Keyed bool   // a key is asked for
	Wrong string // what was wrong with the last try
}

func (p *Page) askKey(w http.ResponseWriter, r *http.Request) {
	p.render(w, r, http.StatusOK, "signin", frame{Title: "Sign in", Bare: true, Body: signingIn{Next: local(r.FormValue("next")), Keyed: p.Key != ""}})
}

func (p *Page) signIn(w http.ResponseWriter, r *http.Request) {
	if err := readForm(r); err != nil {
		p.Refuse(w, r, err)
		return
	}
	form := signingIn{Next: local(r.PostFormValue("next")), User: strings.TrimSpace(r.PostFormValue("user")), Keyed: p.Key != ""}
	status := http.StatusUnauthorized
	given, want := sha256.Sum256([]byte(r.PostFormValue("key"))), sha256.Sum256([]byte(p.Key))
	switch {
	case p.Key != "" && subtle.ConstantTimeCompare(given[:], want[:]) != 1:
		form.Wrong = "That is not this server's key."
		if wait := httpx.WrongKey(w, r); wait > 0 {
			status = http.StatusTooManyRequests
			form.Wrong += " There were too many wrong ones from your address: please wait " + plural(int((wait+time.Minute-1)/time.Minute), "minute") + " before you try another. The right one is taken at any time."
		}
	case form.User != "" && !memory.User(memory.DefaultNamespace, form.User).Valid(), len(form.User) > 256:
		form.Wrong = "That cannot be a user's name."
	}
	if form.Wrong != "" {
		p.render(w, r, status, "signin", frame{Title: "Sign in", Bare: true, Body: form})
		return
	}
	http.SetCookie(w, cookie(r, sessionCookie, p.sign(p.engine.Now().Add(sessionTime), form.User), sessionTime))
	http.Redirect(w, r, form.Next, http.StatusSeeOther)
}

func (p *Page) signOut(w http.ResponseWriter, r *http.Request) {
	http.SetCookie(w, cookie(r, sessionCookie, "", -time.Second))
	http.Redirect(w, r, "/signin", http.StatusSeeOther)
}

// cookie is one of the page's: for no script and no other site.
func cookie(r *http.Request, name, value string, life time.Duration) *http.Cookie {
	return &http.Cookie{
		Name: name, Value: value, Path: "/", MaxAge: int(life.Seconds()),
		HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: r.TLS != nil,
	}
}
