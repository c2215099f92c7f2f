package assembly

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/store/sqlstore/pgtest"
)

// visit sends a browser's request with a session and returns the answer's status and the
// session's cookie, "" if none is set.
func visit(l *Loci, method, path, session string, form url.Values) (status int, cookie string) {
	r := httptest.NewRequest(method, "http://localhost"+path, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	if session != "" {
		r.AddCookie(&http.Cookie{Name: "loci_session", Value: session})
	}
	w := httptest.NewRecorder()
	l.Handler().ServeHTTP(w, r)
	for _, c := range w.Result().Cookies() {
		if c.Name == "loci_session" {
			cookie = c.Value
		}
	}
	return w.Code, cookie
}

// TestSessionsOutliveARestart: a browser stays signed in over a restart, until it signs out
// or the server gets another key.
func TestSessionsOutliveARestart(t *testing.T) {
	for name, set := range map[string]func(t *testing.T, dir string) []string{
		"sqlite":   func(*testing.T, string) []string { return nil },
		"vault":    func(_ *testing.T, dir string) []string { return []string{"vault", filepath.Join(dir, "vault")} },
		"postgres": func(t *testing.T, _ string) []string { return []string{"store", pgtest.Schema(t)} },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			settings := set(t, dir)
			open := func(key string) *Loci {
				t.Helper()
				return openAt(t, settingsAt(t, dir, append([]string{"api_key", key}, settings...)...))
			}
			l := open("server")
			_, session := visit(l, http.MethodPost, "/signin", "", url.Values{"key": {"server"}})
			_, left := visit(l, http.MethodPost, "/signin", "", url.Values{"key": {"server"}})
			if status, _ := visit(l, http.MethodPost, "/signout", left, nil); status != http.StatusSeeOther {
				t.Errorf("sign out: status %d", status)
			}
			if all, err := l.keys.List(t.Context()); err != nil || len(all) > 0 {
				t.Errorf("keys: %+v, %v; want none", all, err)
			}
			closed(t, l)
			for _, c := range []struct {
				key, session string
				want         int
			}{
				{"server", session, http.StatusOK}, {"server", left, http.StatusSeeOther}, {"another", session, http.StatusSeeOther}, {"server", session, http.StatusOK},
			} {
				l := open(c.key)
				if status, _ := visit(l, http.MethodGet, "/settings", c.session, nil); status != c.want {
					t.Errorf("started anew with the key %q: status %d, want %d", c.key, status, c.want)
				}
				closed(t, l)
			}
		})
	}
}

// TestSessionsAreOfAllServers: behind a load balancer each request may reach another server.
func TestSessionsAreOfAllServers(t *testing.T) {
	address := pgtest.Schema(t)
	a := openAt(t, settingsAt(t, t.TempDir(), "store", address, "api_key", "server"))
	defer closed(t, a)
	b := openAt(t, settingsAt(t, t.TempDir(), "store", address, "api_key", "server"))
	defer closed(t, b)
	_, session := visit(a, http.MethodPost, "/signin", "", url.Values{"key": {"server"}})
	if status, _ := visit(b, http.MethodGet, "/settings", session, nil); status != http.StatusOK {
		t.Errorf("signed in at another server: status %d", status)
	}
	visit(b, http.MethodPost, "/signout", session, nil)
	if status, _ := visit(a, http.MethodGet, "/settings", session, nil); status != http.StatusSeeOther {
		t.Errorf("signed out at another server: status %d", status)
	}
}
