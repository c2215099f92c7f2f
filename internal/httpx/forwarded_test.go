package httpx

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/loci-memory/loci/memory"
)

func TestProxiedRequestNeedsAKey(t *testing.T) {
	ring, texts, _ := stored(t)
	everywhere := []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0")}
	oldHTTP := func(r *http.Request) { r.ProtoMajor, r.ProtoMinor, r.Proto = 1, 0, "HTTP/1.0" }
	signs := map[string]func(*http.Request){"HTTP/1.0": oldHTTP}
	for _, name := range append([]string{"X-Forwarded-For", "X-Forwarded-Proto", "X-Forwarded-Host", "X-Forwarded-Anything"}, forwardingHeaders...) {
		signs[name] = with(name, "192.0.2.1")
	}
	for name, sign := range signs {
		t.Run(name, func(t *testing.T) {
			for what, o := range map[string]Options{
				"no key": {}, "only stored keys": {Keys: ring}, "several users": {MultiUser: true},
				"trusted address": {TrustedAddresses: everywhere}, "trusted proxy": {Proxies: everywhere},
			} {
				for _, path := range []string{"/api/memory", "/health", "/signin"} {
					o.PublicPaths = []string{"/health", "/signin"}
					w, got := ask(t, o, func(r *http.Request) { r.URL.Path = path; sign(r) })
					if w.Code != http.StatusForbidden || got.called || !strings.Contains(w.Body.String(), "LOCI_API_KEY") || !strings.Contains(w.Body.String(), name) {
						t.Errorf("%s, %s: status %d, want 403 that names the sign and LOCI_API_KEY: %s", what, path, w.Code, w.Body)
					}
				}
			}
			w, got := ask(t, Options{Key: key}, func(r *http.Request) { sign(r); with(HeaderKey, key)(r) })
			if w.Code != http.StatusOK || got.identity.Role != RoleAdmin {
				t.Errorf("with the key: status %d as %q", w.Code, got.identity.Role)
			}
			w, got = ask(t, Options{Keys: ring}, func(r *http.Request) { sign(r); with(HeaderKey, texts[memory.KeyUser])(r) })
			if w.Code != http.StatusOK || got.identity.Role != RoleUser {
				t.Errorf("with a stored key: status %d as %q", w.Code, got.identity.Role)
			}
		})
	}
}

func TestOnlyConfiguredProxiesNameTheClient(t *testing.T) {
	proxies := []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32"), netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("2001:db8:1::/48")}
	for name, tt := range map[string]struct {
		from   string
		header []string
		want   string // the client's address
		secure bool
	}{
		"nobody in between":         {"192.0.2.7:1", nil, "192.0.2.7:1", false},
		"a stranger's claims":       {"192.0.2.7:1", []string{"X-Forwarded-For", "127.0.0.1", "X-Forwarded-Proto", "https"}, "192.0.2.7:1", false},
		"a proxy":                   {"127.0.0.1:1", []string{"X-Forwarded-For", "192.0.2.7", "X-Forwarded-Proto", "https"}, "192.0.2.7:0", true},
		"plain HTTP before a proxy": {"127.0.0.1:1", []string{"X-Forwarded-For", "192.0.2.7", "X-Forwarded-Proto", "http"}, "192.0.2.7:0", false},
		"two proxies":               {"127.0.0.1:1", []string{"X-Forwarded-For", "192.0.2.7, 10.1.2.3"}, "192.0.2.7:0", false},
		"two proxies, two headers":  {"127.0.0.1:1", []string{"X-Forwarded-For", "192.0.2.7", "X-Forwarded-For", "10.1.2.3"}, "192.0.2.7:0", false},
		"a client that pretends":    {"127.0.0.1:1", []string{"X-Forwarded-For", "127.0.0.1, 198.51.100.1, 192.0.2.7"}, "192.0.2.7:0", false},
		"nobody but proxies":        {"127.0.0.1:1", []string{"X-Forwarded-For", "10.9.9.9, 10.1.2.3"}, "10.9.9.9:0", false},
		"no address":                {"127.0.0.1:1", []string{"X-Forwarded-For", "unknown"}, "127.0.0.1:1", false},
		"no address before a proxy": {"127.0.0.1:1", []string{"X-Forwarded-For", "unknown, 10.1.2.3"}, "10.1.2.3:0", false},
		"with ports":                {"127.0.0.1:1", []string{"X-Forwarded-For", "192.0.2.7:4000"}, "192.0.2.7:0", false},
		"IPv6":                      {"[2001:db8:1::1]:1", []string{"X-Forwarded-For", "[2001:db8:2::2]:55", "X-Forwarded-Proto", "HTTPS, http"}, "[2001:db8:2::2]:0", true},
		"IPv4 in IPv6":              {"[::ffff:127.0.0.1]:1", []string{"X-Forwarded-For", "192.0.2.7"}, "192.0.2.7:0", false},
		"another header":            {"127.0.0.1:1", []string{"X-Real-Ip", "192.0.2.7"}, "127.0.0.1:1", false},
	} {
		t.Run(name, func(t *testing.T) {
			var got string
			var secure bool
			h := Guard(Options{Key: key, Proxies: proxies}, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got, secure = r.RemoteAddr, IsSecure(r) }))
			r := httptest.NewRequest(http.MethodGet, "http://localhost/", nil)
			r.RemoteAddr = tt.from
			with(append([]string{HeaderKey, key}, tt.header...)...)(r)
			h.ServeHTTP(httptest.NewRecorder(), r)
			if got != tt.want || secure != tt.secure {
				t.Errorf("client %q, secure %v; want %q, %v", got, secure, tt.want, tt.secure)
			}
			if r.RemoteAddr != tt.from {
				t.Errorf("the caller's request was changed to %q", r.RemoteAddr)
			}
		})
	}
}

func TestWrongKeysBehindAProxyAreCountedByClient(t *testing.T) {
	now := noon
	var log bytes.Buffer
	ask := asking(&now, Options{Proxies: loopbackPrefixes, Log: slog.New(slog.NewTextHandler(&log, nil))})
	wrong := func(client string) int {
		return ask("127.0.0.1:1", "/api/memory", with(HeaderKey, "wrong", "X-Forwarded-For", client)).Code
	}
	for range maxWrongKeys {
		wrong("192.0.2.7")
	}
	if got := wrong("192.0.2.7"); got != http.StatusTooManyRequests {
		t.Errorf("one wrong key more: status %d", got)
	}
	if got := wrong("192.0.2.8"); got != http.StatusUnauthorized {
		t.Errorf("another client of the same proxy: status %d", got)
	}
	if !strings.Contains(log.String(), "192.0.2.7") || strings.Contains(log.String(), "127.0.0.1") {
		t.Errorf("the log names another address than the client's: %s", &log)
	}
}

func TestAdminOnlyRefusesUsers(t *testing.T) {
	ring, texts, _ := stored(t)
	h := Guard(Options{Key: key, Keys: ring}, AdminOnly(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})))
	for text, want := range map[string]int{
		key: 200, texts[memory.KeyAdmin]: 200, texts[memory.KeyFront]: 403, texts[memory.KeyUser]: 403, "": 401,
	} {
		r := httptest.NewRequest(http.MethodGet, "http://localhost/metrics", nil)
		if text != "" {
			r.Header.Set("Authorization", "Bearer "+text)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("status %d, want %d: %s", w.Code, want, w.Body)
		}
	}
}
