package httpx

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/memory"
)

const key = "loci-test-key"

var noon = time.Date(2026, 5, 3, 12, 0, 0, 0, time.UTC)

// seen is what a door behind the guard gets to see.
type seen struct {
	identity Identity
	header   http.Header
	called   bool
}

// ask sends one request through a guard and returns the answer and what the door
// saw of it. The request comes from and to loopback unless remote says otherwise.
func ask(t *testing.T, o Options, set func(*http.Request)) (*httptest.ResponseRecorder, seen) {
	t.Helper()
	var got seen
	o.Now = func() time.Time { return noon }
	h := Guard(o, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = seen{IdentityOf(r.Context()), r.Header.Clone(), true}
	}))
	r := httptest.NewRequest(http.MethodGet, "http://localhost:7077/api/memory", nil)
	r.RemoteAddr = "127.0.0.1:50000"
	if set != nil {
		set(r)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w, got
}

func with(pairs ...string) func(*http.Request) {
	return func(r *http.Request) {
		for i := 0; i < len(pairs); i += 2 {
			r.Header.Add(pairs[i], pairs[i+1])
		}
	}
}

func token(t *testing.T, secret, header string, claims map[string]any) string {
	t.Helper()
	raw, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	return signed([]byte(secret), header, string(raw))
}

func TestIdentity(t *testing.T) {
	const secret = "shared-with-the-front-end"
	good := token(t, secret, `{"alg":"HS256","typ":"JWT"}`, map[string]any{"sub": "ana", "exp": noon.Unix() + 300})
	late := token(t, secret, `{"alg":"HS256"}`, map[string]any{"sub": "ana", "exp": noon.Unix() - 300})
	single, multi := Options{}, Options{MultiUser: true}
	keyed, keyedMulti := Options{Key: key}, Options{Key: key, MultiUser: true}
	signedMulti := Options{Key: key, MultiUser: true, JWTSecret: []byte(secret)}
	ana, bob, everyone := memory.User("default", "ana"), memory.User("default", "bob"), memory.User("default", "default")

	for _, tt := range []struct {
		name   string
		o      Options
		set    func(*http.Request)
		status int
		owner  memory.Owner
		role   Role
	}{
		{"loopback without a key is the one user", single, nil, 200, everyone, RoleAdmin},
		{"loopback may name a user", single, with(HeaderUser, "ana"), 200, ana, RoleAdmin},
		{"Open WebUI's header names one as well", single, with(HeaderOpenWebUser, "bob"), 200, bob, RoleAdmin},
		{"Loci's own header is the surer one", single, with(HeaderUser, "ana", HeaderOpenWebUser, "bob"), 200, ana, RoleAdmin},
		{"an empty name is none", single, with(HeaderUser, ""), 200, everyone, RoleAdmin},
		{"a name may be percent-encoded", single, with(HeaderUser, "J%C3%BCrgen%20M"), 200, memory.User(memory.DefaultNamespace, "Jürgen M"), RoleAdmin},
		{"a percent sign may be one", single, with(HeaderUser, "100%"), 200, memory.User(memory.DefaultNamespace, "100%"), RoleAdmin},
		{"encoded control characters are refused", single, with(HeaderUser, "a%01b"), 400, "", ""},
		{"two names are refused", single, with(HeaderUser, "ana", HeaderUser, "bob"), 400, "", ""},
		{"control characters are refused", single, with(HeaderUser, "a\x01b"), 400, "", ""},
		{"invalid UTF-8 is refused", single, with(HeaderUser, "a\xffb"), 400, "", ""},
		{"a name past the limit is refused", single, with(HeaderUser, strings.Repeat("a", maxUserBytes+1)), 400, "", ""},
		{"several users and no name is nobody", multi, nil, 200, "", RoleAdmin},
		{"several users and a name", multi, with(HeaderUser, "ana"), 200, ana, RoleAdmin},
		{"a stranger without a key is refused", single, func(r *http.Request) { r.RemoteAddr = "192.0.2.7:1" }, 401, "", ""},
		{"a stranger of unreadable address is refused", single, func(r *http.Request) { r.RemoteAddr = "?" }, 401, "", ""},
		{"a trusted address needs no key", Options{TrustedAddresses: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}}, func(r *http.Request) { r.RemoteAddr = "192.0.2.7:1" }, 200, everyone, RoleAdmin},
		{"other trusted addresses leave loopback out", Options{TrustedAddresses: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}}, nil, 401, "", ""},
		{"with a key loopback is nobody special", keyed, nil, 401, "", ""},
		{"the key as bearer", keyed, with("Authorization", "Bearer "+key), 200, everyone, RoleAdmin},
		{"the scheme's case does not matter", keyed, with("Authorization", "bearer "+key), 200, everyone, RoleAdmin},
		{"the key as X-Loci-Key", keyed, with(HeaderKey, key), 200, everyone, RoleAdmin},
		{"the key where other clients put theirs", keyed, with("X-Api-Key", key), 200, everyone, RoleAdmin},
		{"a wrong X-Loci-Key", keyed, with(HeaderKey, key+"x"), 401, "", ""},
		{"a wrong X-Loci-Key beside a right one", keyed, with(HeaderKey, key, HeaderKey, "x"), 401, "", ""},
		{"somebody else's bearer alone", keyed, with("Authorization", "Bearer sk-upstream"), 401, "", ""},
		{"the key may name any user", keyedMulti, with(HeaderKey, key, HeaderOpenWebUser, "bob"), 200, bob, RoleAdmin},
		{"a signed token names the user", signedMulti, with(HeaderOpenWebJWT, good), 200, ana, RoleUser},
		{"a signed token goes before headers", signedMulti, with(HeaderKey, key, HeaderOpenWebJWT, good, HeaderUser, "bob"), 200, ana, RoleAdmin},
		{"an expired token is refused, key or not", signedMulti, with(HeaderKey, key, HeaderOpenWebJWT, late), 401, "", ""},
		{"without a secret a token names nobody", keyedMulti, with(HeaderKey, key, HeaderOpenWebJWT, good), 200, "", RoleAdmin},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w, got := ask(t, tt.o, tt.set)
			if w.Code != tt.status || got.called != (tt.status == 200) {
				t.Fatalf("status %d, want %d; door called: %v; body %s", w.Code, tt.status, got.called, w.Body)
			}
			if got.identity.Owner != tt.owner || got.identity.Role != tt.role {
				t.Errorf("identity %q as %q, want %q as %q", got.identity.Owner, got.identity.Role, tt.owner, tt.role)
			}
			if strings.Contains(w.Body.String(), key) {
				t.Errorf("the answer holds the key: %s", w.Body)
			}
		})
	}
}

func TestOnlyAProxyNamesTheUserByTheHeaderOfTheSettings(t *testing.T) {
	const header, front, secret = "x-litellm-user_api_key_user_id", "key-of-the-front-end", "shared"
	o := Options{Key: key, FrontKey: front, MultiUser: true, JWTSecret: []byte(secret), UserHeader: header, Proxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}
	ring, texts, _ := stored(t)
	o.Keys = ring
	good := token(t, secret, `{"alg":"HS256"}`, map[string]any{"sub": "cleo", "exp": noon.Unix() + 300})
	const proxy, elsewhere = "10.1.2.3:1", "127.0.0.1:1"
	for name, tt := range map[string]struct {
		from   string
		header []string
		status int
		owner  memory.Owner
	}{
		"a proxy":                            {proxy, []string{header, "ana"}, 200, memory.User("default", "ana")},
		"a proxy that says whom it asks for": {proxy, []string{header, "ana", "X-Forwarded-For", "192.0.2.7"}, 200, memory.User("default", "ana")},
		"another spelling":                   {proxy, []string{"X-LiteLLM-User_API_Key_User_Id", "ana"}, 200, memory.User("default", "ana")},
		"before Loci's own header":           {proxy, []string{HeaderUser, "bob", header, "ana"}, 200, memory.User("default", "ana")},
		"a token goes before it":             {proxy, []string{HeaderOpenWebJWT, good, header, "ana"}, 200, memory.User("default", "cleo")},
		"an empty one is none":               {proxy, []string{header, "", HeaderUser, "bob"}, 200, memory.User("default", "bob")},
		"nobody":                             {proxy, nil, 200, ""},
		"from elsewhere":                     {elsewhere, []string{header, "ana"}, 200, ""},
		"from elsewhere, beside another":     {elsewhere, []string{header, "ana", HeaderUser, "bob"}, 200, memory.User("default", "bob")},
		"from elsewhere, naming the proxy":   {elsewhere, []string{header, "ana", "X-Forwarded-For", "10.1.2.3"}, 200, ""},
		"from elsewhere, wrong":              {elsewhere, []string{header, strings.Repeat("a", 10_000)}, 200, ""},
		"two names":                          {proxy, []string{header, "ana", header, "bob"}, 400, ""},
		"too long":                           {proxy, []string{header, strings.Repeat("a", 10_000)}, 400, ""},
		"control characters":                 {proxy, []string{header, "a\x01b"}, 400, ""},
		"invalid UTF-8":                      {proxy, []string{header, "a\xffb"}, 400, ""},
	} {
		t.Run(name, func(t *testing.T) {
			for _, k := range []string{key, front, texts[memory.KeyFront]} {
				w, got := ask(t, o, func(r *http.Request) {
					r.RemoteAddr = tt.from
					with(append([]string{HeaderKey, k}, tt.header...)...)(r)
				})
				if w.Code != tt.status || got.identity.Owner != tt.owner {
					t.Errorf("status %d, owner %q; want %d, %q: %.200s", w.Code, got.identity.Owner, tt.status, tt.owner, w.Body)
				}
				if got.header.Get(header) != "" {
					t.Errorf("the header goes on: %v", got.header)
				}
			}
		})
	}
	w, got := ask(t, o, func(r *http.Request) {
		r.RemoteAddr = proxy
		with(HeaderKey, texts[memory.KeyUser], header, "mallory")(r)
	})
	if w.Code != 200 || got.identity.Owner == memory.User("default", "mallory") || got.header.Get(header) != "" {
		t.Errorf("a key of one user beside another's name: status %d, owner %q", w.Code, got.identity.Owner)
	}
	if w, _ := ask(t, o, func(r *http.Request) { r.RemoteAddr = proxy; with(header, "ana")(r) }); w.Code != 401 {
		t.Errorf("without a key: status %d", w.Code)
	}
}

func TestBodyNamesUserOnlyWhereNobodyElseDid(t *testing.T) {
	for _, tt := range []struct {
		name string
		o    Options
		set  func(*http.Request)
		body string
		want memory.Owner
	}{
		{"several users, trusted", Options{MultiUser: true}, nil, "ana", memory.User("default", "ana")},
		{"no name", Options{MultiUser: true}, nil, "", ""},
		{"a header was first", Options{MultiUser: true}, with(HeaderUser, "bob"), "ana", memory.User("default", "bob")},
		{"one user", Options{}, nil, "ana", memory.User("default", "default")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, got := ask(t, tt.o, tt.set)
			id, err := got.identity.WithUser(tt.body)
			if err != nil || id.Owner != tt.want {
				t.Errorf("Named(%q) = %q, %v; want %q", tt.body, id.Owner, err, tt.want)
			}
		})
	}
	if id, err := (Identity{Namespace: "default", Role: RoleUser}).WithUser("ana"); err != nil || id.Owner != "" {
		t.Errorf("an untrusted request named %q, %v; want nobody", id.Owner, err)
	}
	if _, err := (Identity{Namespace: "default", canNameUser: true}).WithUser("a\x00"); err == nil {
		t.Error("a control character in the body's user: no error")
	}
}

func TestLociKeyNeverReachesADoor(t *testing.T) {
	o := Options{Key: key, JWTSecret: []byte("s")}
	jwt := token(t, "s", `{"alg":"HS256"}`, map[string]any{"sub": "ana", "exp": noon.Unix() + 60})
	_, got := ask(t, o, with(
		HeaderKey, key,
		"Authorization", "Bearer "+key,
		"Authorization", "Bearer sk-upstream",
		"Api-Key", key,
		"X-Api-Key", "bearer "+key,
		HeaderOpenWebJWT, jwt,
		"X-Custom", "stays"))
	if !got.called {
		t.Fatal("the door was not called")
	}
	for name, values := range got.header {
		for _, v := range values {
			if strings.Contains(v, key) || strings.Contains(v, jwt) {
				t.Errorf("the door sees %s: %s", name, v)
			}
		}
	}
	if v := got.header.Values("Authorization"); len(v) != 1 || v[0] != "Bearer sk-upstream" {
		t.Errorf("Authorization = %q, want the client's own", v)
	}
	if got.header.Get("X-Custom") != "stays" {
		t.Error("a header that is none of Loci's business is gone")
	}
}

func TestOtherSitesAreRefused(t *testing.T) {
	hosts := Options{Hosts: []string{"memory.example.org"}}
	for _, tt := range []struct {
		name   string
		o      Options
		host   string
		header func(*http.Request)
		status int
	}{
		{"localhost", Options{}, "localhost:7077", nil, 200},
		{"loopback address", Options{}, "127.0.0.1:7077", nil, 200},
		{"loopback of IPv6", Options{}, "[::1]:7077", nil, 200},
		{"IPv4 in IPv6", Options{}, "[::ffff:127.0.0.1]:7077", nil, 200},
		{"without a port", Options{}, "LOCALHOST", nil, 200},
		{"another name for this machine", Options{}, "evil.example.org:7077", nil, 403},
		{"a name that begins like localhost", Options{}, "localhost.evil.example.org", nil, 403},
		{"an address elsewhere", Options{}, "192.0.2.1:7077", nil, 403},
		{"a configured name", hosts, "memory.example.org", nil, 200},
		{"same origin", Options{}, "localhost:7077", with("Origin", "http://localhost:7077"), 200},
		{"origin of a configured name", hosts, "localhost:7077", with("Origin", "https://memory.example.org"), 200},
		{"another port is another origin", Options{}, "localhost:7077", with("Origin", "http://localhost:3000"), 403},
		{"another site", Options{}, "localhost:7077", with("Origin", "https://evil.example.org"), 403},
		{"an origin that hides", Options{}, "localhost:7077", with("Origin", "null"), 403},
		{"an origin that is none", Options{}, "localhost:7077", with("Origin", "http://%zz"), 403},
		{"a picture on another site", Options{}, "localhost:7077", with("Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors"), 403},
		{"a link on another site", Options{}, "localhost:7077", with("Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate"), 200},
		{"typed by the user", Options{}, "localhost:7077", with("Sec-Fetch-Site", "none"), 200},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w, _ := ask(t, tt.o, func(r *http.Request) {
				r.Host = tt.host
				if tt.header != nil {
					tt.header(r)
				}
			})
			if w.Code != tt.status {
				t.Errorf("host %q: status %d, want %d: %s", tt.host, w.Code, tt.status, w.Body)
			}
		})
	}
}

func TestHealthNeedsNoKey(t *testing.T) {
	for path, want := range map[string]int{"/health": 200, "/health/live": 200, "/health/x": 401, "/api/memory": 401} {
		w, _ := ask(t, Options{Key: key}, func(r *http.Request) { r.URL.Path = path })
		if w.Code != want {
			t.Errorf("%s without a key: %d, want %d", path, w.Code, want)
		}
	}
}

func TestPanicBecomesAProblem(t *testing.T) {
	var log bytes.Buffer
	h := Guard(Options{Log: slog.New(slog.NewTextHandler(&log, nil))}, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("boom with secrets") }))
	r := httptest.NewRequest(http.MethodGet, "http://localhost/x", nil)
	r.RemoteAddr = "127.0.0.1:1"
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != 500 || w.Header().Get("Content-Type") != ProblemType || strings.Contains(w.Body.String(), "boom") {
		t.Errorf("status %d, type %q, body %s; want a 500 problem that keeps the panic to itself", w.Code, w.Header().Get("Content-Type"), w.Body)
	}
	id := w.Header().Get(HeaderRequestID)
	if !strings.Contains(log.String(), "boom") || id == "" || !strings.Contains(log.String(), id) {
		t.Errorf("the log lacks the panic or the request's id %q: %s", id, &log)
	}
}

func TestPanicInTheMiddleCutsTheAnswer(t *testing.T) {
	srv := httptest.NewServer(Guard(Options{}, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "half")
		_ = http.NewResponseController(w).Flush()
		panic("boom")
	})))
	srv.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo)
	defer srv.Close()
	resp, err := srv.Client().Get(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if got, err := io.ReadAll(resp.Body); err == nil {
		t.Errorf("the client read %q without an error; want to see that it was cut off", got)
	}
}

// slowly is an empty reader that takes its time.
type slowly struct{ wait time.Duration }

func (s slowly) Read([]byte) (int, error) {
	time.Sleep(s.wait)
	return 0, io.EOF
}

func TestBodyLimits(t *testing.T) {
	srv := httptest.NewServer(Guard(Options{MaxBody: 10, BodyTime: 50 * time.Millisecond, StreamedPaths: []string{"/import"}}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := ReadBody(r)
		if err != nil {
			WriteError(w, r, err)
			return
		}
		fmt.Fprintf(w, "%d", len(body))
	})))
	defer srv.Close()

	t.Run("what fits is read", func(t *testing.T) {
		if status, body := post(t, srv.URL, strings.NewReader("0123456789")); status != 200 || body != "10" {
			t.Errorf("10 bytes: %d %s, want 200 10", status, body)
		}
	})
	t.Run("what does not is refused", func(t *testing.T) {
		if status, body := post(t, srv.URL, strings.NewReader("0123456789a")); status != 413 || !strings.Contains(body, "too_large") {
			t.Errorf("11 bytes: %d %s, want 413", status, body)
		}
	})
	t.Run("a stream may be longer, and may take longer", func(t *testing.T) {
		slow := io.MultiReader(strings.NewReader("0123456789"), slowly{80 * time.Millisecond}, strings.NewReader("a"))
		if status, body := post(t, srv.URL+"/import", slow); status != 200 || body != "11" {
			t.Errorf("11 bytes: %d %s, want 200 11", status, body)
		}
	})
	t.Run("a body that never comes is refused", func(t *testing.T) {
		conn, err := net.Dial("tcp", srv.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n012")
		answer, err := io.ReadAll(io.LimitReader(conn, 12))
		if err != nil || string(answer) != "HTTP/1.1 400" {
			t.Errorf("a slow body: %q, %v; want a 400", answer, err)
		}
	})
}

// TestAnswerMayOutlastTheBodysDeadline: a connection's deadline that is left in
// place would end long streams.
func TestAnswerMayOutlastTheBodysDeadline(t *testing.T) {
	conn := &deadlines{ResponseRecorder: httptest.NewRecorder()}
	h := Guard(Options{}, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if len(conn.set) != 1 || conn.set[0].IsZero() {
			t.Errorf("deadlines before the body is read: %v; want one", conn.set)
		}
		if _, err := ReadBody(r); err != nil {
			t.Error(err)
		}
	}))
	r := httptest.NewRequest(http.MethodPost, "http://localhost/", strings.NewReader("all of it"))
	r.RemoteAddr = "127.0.0.1:1"
	h.ServeHTTP(conn, r)
	if n := len(conn.set); n < 2 || !conn.set[n-1].IsZero() {
		t.Errorf("deadlines after the body was read: %v; want the last to be none", conn.set)
	}
}

// deadlines records those of a connection.
type deadlines struct {
	*httptest.ResponseRecorder
	set []time.Time
}

func (d *deadlines) SetReadDeadline(at time.Time) error {
	d.set = append(d.set, at)
	return nil
}

func post(t *testing.T, url string, body io.Reader) (int, string) {
	t.Helper()
	resp, err := http.Post(url, "text/plain", body)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(got)
}
