package web

import (
	"context"
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/httpx"
	"github.com/loci-memory/loci/memory"
)

func TestSignInAsksForAUser(t *testing.T) {
	const key = "the server's key"
	r := newRig(t, key)
	r.shows("/signin", `name="user"`, "leave it empty if the key is yours")
	w := r.post("/signin", url.Values{"key": {key}, "user": {" "}})
	if w.Code != http.StatusUnauthorized || !strings.Contains(w.Body.String(), "enter a name as User") || !strings.Contains(w.Body.String(), "loci users") || len(r.cookies) > 0 {
		t.Errorf("without a user: status %d, cookies %v: %s", w.Code, r.cookies, w.Body)
	}
	if to := r.sent("/signin", url.Values{"key": {key}, "user": {"ana"}}); to != "/" {
		t.Errorf("with one it leads to %q", to)
	}
	r.page.MultiUser = false
	if to := r.sent("/signin", url.Values{"key": {key}}); to != "/" {
		t.Errorf("with one user in all it leads to %q", to)
	}
}

const key = "a key of this server"

func TestWithoutAKeyThereIsOnlyTheSignIn(t *testing.T) {
	r := newRig(t, key)
	f := r.fact("User hides the key under the blue flowerpot")
	for _, path := range []string{"/", "/memories/" + f.ID, "/time?n=1", "/review", "/insights", "/settings", "/undo?run=x"} {
		w := r.get(path)
		if w.Code != http.StatusSeeOther || w.Header().Get("Location") != "/signin?next="+url.QueryEscape(path) {
			t.Errorf("GET %s: status %d to %s: %s", path, w.Code, w.Header().Get("Location"), w.Body)
		}
	}
	if w := r.get("/events"); w.Code != http.StatusUnauthorized {
		t.Errorf("GET /events: status %d", w.Code)
	}
	if w := r.post("/memories/"+f.ID, url.Values{"do": {"forget"}}); w.Code != http.StatusUnauthorized || r.now(f.ID).Status != memory.Active {
		t.Errorf("POST: status %d, and the fact is %s", w.Code, r.now(f.ID).Status)
	}
	r.shows("/signin", "Sign in to Loci", `name="key"`, `type="password"`)
	for _, path := range []string{"/assets/page.css", "/assets/page.js", "/assets/icon.svg"} {
		if w := r.get(path); w.Code != http.StatusOK {
			t.Errorf("GET %s: status %d", path, w.Code)
		}
	}
}

func TestTheRightKeySignsInAndNoOther(t *testing.T) {
	r := newRig(t, key)
	r.fact("User hides the key under the blue flowerpot")
	for _, wrong := range []string{"", "another key", key + " ", key[:5]} {
		w := r.post("/signin", url.Values{"key": {wrong}, "user": {"ana"}})
		if w.Code != http.StatusUnauthorized || len(r.cookies) > 0 || !strings.Contains(w.Body.String(), "not valid on this server") {
			t.Errorf("%q: status %d, cookies %v", wrong, w.Code, r.cookies)
		}
	}
	if to := r.sent("/signin", url.Values{"key": {key}, "user": {"ana"}, "next": {"/?q=key"}}); to != "/?q=key" {
		t.Errorf("it leads to %s", to)
	}
	c := r.cookies[0]
	if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/" || strings.Contains(c.Value, key) || c.Secure {
		t.Errorf("the cookie is %+v", c)
	}
	r.shows("/", "flowerpot", "Sign out", ">ana<")
	if w := r.get("/api/memory"); w.Code != http.StatusUnauthorized {
		t.Errorf("the page's cookie opens the API: status %d", w.Code)
	}
	r.sent("/signout", nil)
	if w := r.get("/"); w.Code != http.StatusSeeOther {
		t.Errorf("signed out: status %d", w.Code)
	}
}

// signedIn signs ana in and returns the cookie's value.
func (r *rig) signedIn() string {
	r.t.Helper()
	r.cookies = nil
	r.sent("/signin", url.Values{"key": {r.page.Key}, "user": {"ana"}})
	return r.cookies[0].Value
}

// opens reports whether a cookie's value opens the page.
func (r *rig) opens(value string) bool {
	r.t.Helper()
	r.cookies = []*http.Cookie{{Name: sessionCookie, Value: value}}
	return r.get("/").Code == http.StatusOK
}

func TestACookieThatIsNotOursTellsNothing(t *testing.T) {
	r := newRig(t, key)
	good := r.signedIn()
	for name, value := range map[string]string{
		"none": "", "no text": "%%%", "another": strings.Repeat("A", len(good)), "half": good[:len(good)/2], "longer": good + "A",
		"its hash": r.page.sessionHash(good), "as it was signed once": "9999999999.YW5h.AAAA",
	} {
		if r.opens(value) {
			t.Errorf("%s: it opens the page", name)
		}
	}
	if !r.opens(good) {
		t.Error("the cookie does not open the page")
	}
	if _, err := r.page.Sessions.Session(t.Context(), memory.DefaultNamespace, good); err == nil {
		t.Error("the store has the token itself")
	}
}

func TestSignOutEndsTheSessionOfACopiedCookie(t *testing.T) {
	r := newRig(t, key)
	other, mine := r.signedIn(), r.signedIn()
	if !r.opens(mine) {
		t.Fatal("the cookie does not open the page")
	}
	r.sent("/signout", nil)
	if len(r.cookies) > 0 {
		t.Errorf("the browser still has %v", r.cookies)
	}
	if r.opens(mine) {
		t.Error("a copy of the cookie opens the page after sign-out")
	}
	if !r.opens(other) {
		t.Error("another browser was signed out as well")
	}
}

func TestSigningInAgainEndsTheSessionBefore(t *testing.T) {
	r := newRig(t, key)
	before := r.signedIn()
	r.cookies = []*http.Cookie{{Name: sessionCookie, Value: before}}
	r.sent("/signin", url.Values{"key": {key}, "user": {"ben"}})
	if now := r.cookies[0].Value; now == before || r.opens(before) || !r.opens(now) {
		t.Error("the session before is open, or the new one is not")
	}
}

func TestSessionsEndWithTheirTimeAndTheirKey(t *testing.T) {
	r := newRig(t, key)
	value := r.signedIn()
	r.clock.Advance(sessionTime - time.Minute)
	if !r.opens(value) {
		t.Error("the session ends before its time")
	}
	r.page.Key = "the server's next key"
	if r.opens(value) {
		t.Error("the session outlives the server's key")
	}
	r.page.Key = key
	r.clock.Advance(time.Minute)
	if r.opens(value) {
		t.Error("the session outlives its time")
	}
}

func TestCookiesAreSecureWhereTheClientUsesTLS(t *testing.T) {
	r := newRig(t, key)
	r.handler = r.page.WithSession(httpx.Guard(httpx.Options{
		Key: key, MultiUser: true, Proxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, PublicPaths: r.page.PublicPaths(), Now: r.clock.Now,
	}, r.page))
	for name, c := range map[string]struct {
		proto  string
		tls    bool
		secure bool
	}{
		"plain": {"", false, false}, "TLS": {"", true, true}, "TLS at the proxy": {"https", false, true}, "none at the proxy": {"http", false, false},
	} {
		send := func(path string, form url.Values) []*http.Cookie {
			req := httptest.NewRequest(http.MethodPost, "http://localhost"+path, strings.NewReader(form.Encode()))
			req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			req.Header.Set("Sec-Fetch-Site", "same-origin")
			if c.tls {
				req.TLS = &tls.ConnectionState{}
			}
			w := r.send(req, "X-Forwarded-Proto", c.proto)
			if w.Code != http.StatusSeeOther {
				t.Fatalf("%s, POST %s: status %d: %s", name, path, w.Code, w.Body)
			}
			return w.Result().Cookies()
		}
		r.cookies = nil
		set := send("/signin", url.Values{"key": {key}, "user": {"ana"}})
		set = append(set, send("/memories", url.Values{"content": {"User likes figs and " + name}})...)
		set = append(set, send("/signout", nil)...)
		if len(set) < 3 {
			t.Errorf("%s: cookies %v, want those of the session and of what was done", name, set)
		}
		for _, cookie := range set {
			if cookie.Secure != c.secure || !cookie.HttpOnly || cookie.SameSite != http.SameSiteStrictMode {
				t.Errorf("%s: cookie %v, want Secure %v", name, cookie, c.secure)
			}
		}
	}
}

func TestWrongKeysAreLimitedAndTheRightOneSignsInAtAnyTime(t *testing.T) {
	r := newRig(t, key)
	send := func(method, path, from string, form url.Values, headers ...string) *httptest.ResponseRecorder {
		req := httptest.NewRequest(method, "http://localhost"+path, strings.NewReader(form.Encode()))
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Sec-Fetch-Site", "same-origin")
		for i := 0; i < len(headers); i += 2 {
			req.Header.Set(headers[i], headers[i+1])
		}
		req.RemoteAddr = from
		w := httptest.NewRecorder()
		r.handler.ServeHTTP(w, req)
		return w
	}
	guess := func(with, from string) *httptest.ResponseRecorder {
		return send(http.MethodPost, "/signin", from, url.Values{"key": {with}, "user": {"ana"}})
	}
	const from = "192.0.2.7:1"
	last, tries := guess("wrong", from), 1
	for ; last.Code == http.StatusUnauthorized && tries < 100; tries++ {
		last = guess("wrong", from)
	}
	if last.Code != http.StatusTooManyRequests || last.Header().Get("Retry-After") == "" || !strings.Contains(last.Body.String(), "please wait 15 minutes") {
		t.Fatalf("after %d wrong keys: status %d, Retry-After %q: %s", tries, last.Code, last.Header().Get("Retry-After"), last.Body)
	}
	if w := send(http.MethodGet, "/api/memory", from, nil, httpx.HeaderKey, "wrong"); w.Code != http.StatusTooManyRequests {
		t.Errorf("the API has a count of its own: status %d", w.Code)
	}
	if w := send(http.MethodGet, "/", from, nil, httpx.HeaderKey, "wrong"); w.Code != http.StatusTooManyRequests {
		t.Errorf("a page with a wrong key: status %d", w.Code)
	}
	if w := send(http.MethodGet, "/", from, nil); w.Code != http.StatusSeeOther {
		t.Errorf("a page without a key is not asked to sign in: status %d", w.Code)
	}
	if w := guess(key, from); w.Code != http.StatusSeeOther {
		t.Errorf("the right key is kept out: status %d", w.Code)
	}
	if w := guess("wrong", "192.0.2.8:1"); w.Code != http.StatusUnauthorized {
		t.Errorf("another address gets status %d", w.Code)
	}
	r.clock.Advance(15 * time.Minute)
	if w := guess("wrong", from); w.Code != http.StatusUnauthorized {
		t.Errorf("later a wrong key gets status %d", w.Code)
	}
}

func TestNobodySeesAnothersMemory(t *testing.T) {
	r := newRig(t, "")
	f := r.fact("User hides the key under the blue flowerpot")
	document := r.context("Where the flowerpot stands", "Beside the blue flowerpot.")
	r.shows("/?q=flowerpot") // leaves a trace
	r.shows("/traces", "flowerpot")
	for _, path := range []string{"/", "/?q=where+is+the+key", "/time", "/review", "/insights", "/memories/" + f.ID, "/contexts", document, "/traces", "/conversations"} {
		if w := r.get(path, httpx.HeaderUser, "ben"); strings.Contains(w.Body.String(), "flowerpot") {
			t.Errorf("ben sees it at %s", path)
		}
	}
	if w := r.post("/memories/"+f.ID, url.Values{"do": {"forget"}}, httpx.HeaderUser, "ben"); w.Code != http.StatusNotFound {
		t.Errorf("ben forgets it: status %d", w.Code)
	}
	for _, do := range []string{"edit", "drop", "erase", "chat"} {
		w := r.post(document, url.Values{"do": {do}, "content": {"ben was here"}, "word": {eraseWord}}, httpx.HeaderUser, "ben")
		if w.Code < 400 && w.Code != http.StatusNotFound {
			t.Errorf("ben may %s ana's document: status %d", do, w.Code)
		}
	}
	r.shows(document, "Beside the blue flowerpot.")
	if r.now(f.ID).Status != memory.Active {
		t.Error("ben has forgotten ana's memory")
	}
	if w := r.get("/", httpx.HeaderUser, ""); w.Code != http.StatusSeeOther {
		t.Errorf("nobody in particular: status %d", w.Code)
	}
	r.shows("/signin", "Whose memory?")
	r.sent("/signin", url.Values{"user": {"ana"}})
	if w := r.get("/", httpx.HeaderUser, ""); !strings.Contains(w.Body.String(), "flowerpot") {
		t.Errorf("ana does not see it: %s", w.Body)
	}
	if w := r.post("/signin", url.Values{"user": {strings.Repeat("x", 300)}}); w.Code != http.StatusUnauthorized {
		t.Errorf("no name of a user: status %d", w.Code)
	}
}

func TestOnlyThePageItselfSendsForms(t *testing.T) {
	r := newRig(t, "")
	f := r.fact("User likes figs")
	for name, headers := range map[string][]string{
		"another site":            {"Origin", "http://evil.example", "Sec-Fetch-Site", "cross-site"},
		"another port":            {"Origin", "http://localhost:8080", "Sec-Fetch-Site", "same-site"},
		"a page without origin":   {"Origin", "null", "Sec-Fetch-Site", ""},
		"nothing said":            {"Origin", "", "Sec-Fetch-Site", ""},
		"typed by hand":           {"Origin", "", "Sec-Fetch-Site", "none"},
		"same site, not origin":   {"Origin", "", "Sec-Fetch-Site", "same-site"},
		"origin ours, site isn't": {"Origin", "http://localhost", "Sec-Fetch-Site", "cross-site"},
	} {
		for _, path := range []string{"/memories/" + f.ID, "/memories/bulk", "/undo", "/signin", "/settings", "/playground", "/data/import", "/erase", "/profile", "/memories/" + f.ID + "/relations"} {
			if w := r.post(path, url.Values{"do": {"forget"}, "id": {f.ID}}, headers...); w.Code != http.StatusForbidden {
				t.Errorf("%s, POST %s: status %d", name, path, w.Code)
			}
		}
	}
	if s := r.now(f.ID).Status; s != memory.Active {
		t.Errorf("the fact is %s", s)
	}
	if w := r.post("/memories/"+f.ID, url.Values{"do": {"forget"}}, "Sec-Fetch-Site", ""); w.Code != http.StatusSeeOther {
		t.Errorf("a browser that only says the origin: status %d", w.Code)
	}
}

func TestEveryAnswerHasThePolicy(t *testing.T) {
	r := newRig(t, "")
	for _, w := range []*httptest.ResponseRecorder{r.get("/"), r.get("/memories/none"), r.get("/signin"), r.get("/assets/page.js"), r.post("/undo", nil), r.get("/", "Host", "evil.example")} {
		h := w.Header()
		if h.Get("Content-Security-Policy") != contentSecurityPolicy || h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Referrer-Policy") != "same-origin" {
			t.Errorf("status %d has %v", w.Code, h)
		}
	}
	for _, word := range []string{"unsafe", "*", "http:", "data:"} {
		if strings.Contains(contentSecurityPolicy, word) {
			t.Errorf("the policy allows %s", word)
		}
	}
}

func TestOnlyPathsOfThisServerAreGoneBackTo(t *testing.T) {
	for in, want := range map[string]string{
		"/": "/", "/?q=a+b&tag=c#m-1": "/?q=a+b&tag=c#m-1", "/memories/a%2Fb": "/memories/a%2Fb", "": "/",
		"//evil.example": "/", "https://evil.example/": "/", "/\\evil.example": "/", "\\\\evil.example": "/", "javascript:alert(1)": "/",
		"memories": "/", "http:/evil": "/", "///evil.example": "/", "%zz": "/", "/%2f/x": "/%2f/x",
	} {
		if got := localPath(in); got != want && got != "/" {
			t.Errorf("local(%q) = %q, want %q", in, got, want)
		}
		if want != "/" && localPath(in) == "/" && in != "/%2f/x" {
			t.Errorf("local(%q) = /, want %q", in, want)
		}
	}
}

func TestThePageOwnsItsPathsAlone(t *testing.T) {
	r := newRig(t, "")
	for path, owns := range map[string]bool{
		"/playground": true, "/data": true, "/data/export": true, "/erase": true, "/erased/x": true, "/profile": true, "/query/x": false,
		"/": true, "/memories/x": true, "/review": true, "/events": true, "/assets/page.css": true,
		"/api/memory": false, "/v1/models": false, "/health": false, "/docs": false, "/openapi.json": false, "/metrics": false, "/query": false, "/nothing": false,
	} {
		if got := r.page.Owns(httptest.NewRequest(http.MethodGet, path, nil)); got != owns {
			t.Errorf("the page owns %s: %v", path, got)
		}
	}
	open := r.page.PublicPaths()
	for _, path := range open {
		if !strings.HasPrefix(path, "/assets/") && path != "/signin" {
			t.Errorf("%s is open to strangers", path)
		}
	}
	if slices.Contains(open, "/") {
		t.Errorf("open are %v", open)
	}
}

// brokenSessions cannot be read.
type brokenSessions struct{ memory.Sessions }

func (brokenSessions) Session(context.Context, string, string) (memory.Session, error) {
	return memory.Session{}, memory.Errorf(memory.Unavailable, "the database is away")
}

func TestSessionThatCannotBeReadIsNotTakenForNone(t *testing.T) {
	r := newRig(t, key)
	value := r.signedIn()
	r.page.Sessions = brokenSessions{r.page.Sessions}
	r.cookies = []*http.Cookie{{Name: sessionCookie, Value: value}}
	if w := r.get("/"); w.Code != http.StatusServiceUnavailable {
		t.Errorf("the page: status %d: %s", w.Code, w.Body)
	}
	if w := r.get("/api/memory", httpx.HeaderKey, key); w.Code != http.StatusTeapot {
		t.Errorf("a client with the key: status %d", w.Code)
	}
}
