package httpx

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/loci-memory/loci/memory"
)

const (
	longKey  = "server-key-0123456789/+ =?&%"
	frontKey = "front-end-key-0123456789"
)

// TestNoHeaderOrParameterKeepsAKey puts keys wherever clients put theirs: none is left behind
// the guard, and the rest of the request stays as it was.
func TestNoHeaderOrParameterKeepsAKey(t *testing.T) {
	ring, texts, _ := stored(t)
	other, _, err := NewKey(memory.Key{Name: "of another server", Role: memory.KeyAdmin}, noon)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range []string{longKey, frontKey, texts[memory.KeyUser], other} {
		basic := base64.StdEncoding.EncodeToString([]byte("ana:" + k))
		for _, h := range [][2]string{
			{"Authorization", "Bearer " + k}, {"Authorization", "Token " + k}, {"Authorization", k}, {"Authorization", "ApiKey " + k}, {"Authorization", "Basic " + basic},
			{"Authorization", "Basic " + base64.StdEncoding.EncodeToString([]byte(k+":"))}, {"Proxy-Authorization", "Basic " + basic}, {"X-Api-Key", k}, {"Api-Key", k}, {"X-Goog-Api-Key", k},
			{"X-Mem0-Token", "Token " + k}, {"X-Auth", `{"key":"` + k + `"}`}, {"Sec-Websocket-Protocol", "realtime, openai-insecure-api-key." + k},
			{"Referer", "https://example.com/?key=" + url.QueryEscape(k)}, {"X-Packed", base64.RawURLEncoding.EncodeToString([]byte(k))}, {"Forwarded", "for=1;secret=\"" + k + "\""},
		} {
			w, got := ask(t, Options{Key: longKey, FrontKey: frontKey, Keys: ring, PublicPaths: []string{"/api/memory"}}, with(h[0], h[1], "X-Other", "kept", h[0], "also kept"))
			if w.Code != http.StatusOK {
				t.Fatalf("%s: %d %s", h, w.Code, w.Body)
			}
			left := fmt.Sprint(got.header)
			if strings.Contains(left, k) || strings.Contains(left, basic) || strings.Contains(left, h[1]) {
				t.Errorf("%s: %q: %q went on", h[0], h[1], left)
			}
			if got.header.Get("X-Other") != "kept" || len(got.header.Values(h[0])) != 1 {
				t.Errorf("%s: %q: other headers did not: %q", h[0], h[1], left)
			}
		}
		var query string
		h := Guard(Options{Key: longKey, FrontKey: frontKey, Keys: ring}, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { query = r.URL.RawQuery }))
		r, _ := http.NewRequest(http.MethodGet, "http://localhost/v1/files?a=%20b&key="+url.QueryEscape(k)+"&x=1&y=z+"+url.QueryEscape(k)+"&c", nil)
		r.Header.Set(HeaderKey, longKey)
		r.RemoteAddr = "127.0.0.1:1"
		h.ServeHTTP(discard{}, r)
		if query != "a=%20b&x=1&c" {
			t.Errorf("the query became %q", query)
		}
	}
}

// discard is an answer that nobody reads.
type discard struct{}

func (discard) Header() http.Header         { return http.Header{} }
func (discard) Write(p []byte) (int, error) { return len(p), nil }
func (discard) WriteHeader(int)             {}

// TestOrdinaryHeadersStay: what only resembles a key, or holds a key that is a common word, goes on.
func TestOrdinaryHeadersStay(t *testing.T) {
	for _, k := range []string{longKey, "json", "x", "gzip-key"} {
		for _, h := range [][2]string{
			{"Authorization", "Bearer sk-upstream"}, {"Content-Type", "application/json"}, {"User-Agent", "loci_client/1.0 (x; json)"}, {"Accept-Encoding", "gzip, br"},
			{"X-Api-Key", "loci_short"}, {"X-Trace", longKey[:20]}, {"X-Word", "gzip-keys"},
		} {
			_, got := ask(t, Options{Key: k, PublicPaths: []string{"/api/memory"}}, with(h[0], h[1]))
			if got.header.Get(h[0]) != h[1] {
				t.Errorf("key %q: %s became %q, want %q", k, h[0], got.header.Get(h[0]), h[1])
			}
		}
	}
}

// TestSchemesOpenWithTheKey: the scheme before a key does not matter, but a password is none.
func TestSchemesOpenWithTheKey(t *testing.T) {
	ring, texts, _ := stored(t)
	for value, status := range map[string]int{
		"Token " + key: 200, "token  " + key: 200, "Bearer " + key: 200, "ApiKey " + key: 200, key: 200, "Token " + texts[memory.KeyUser]: 200,
		"Token " + key + "x": 401, "Token": 401, "": 401, "Basic " + base64.StdEncoding.EncodeToString([]byte("a:"+key)): 401,
	} {
		if w, _ := ask(t, Options{Key: key, Keys: ring}, with("Authorization", value)); w.Code != status {
			t.Errorf("%q: %d, want %d", value, w.Code, status)
		}
	}
	if w, _ := ask(t, Options{Key: key, Keys: ring}, func(r *http.Request) { r.URL.RawQuery = "key=" + key }); w.Code != 401 {
		t.Errorf("as a parameter: %d, want 401", w.Code)
	}
}
