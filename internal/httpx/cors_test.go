package httpx

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

const app = "http://localhost:5173"

// throughCORS sends a request through CORS and a guard; header is what the door saw, nil if
// the request did not reach it.
func throughCORS(t *testing.T, method, path string, pairs ...string) (w *httptest.ResponseRecorder, header http.Header) {
	t.Helper()
	door := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { header = r.Header.Clone() })
	h := CORS([]string{app}, func(r *http.Request) bool { return r.URL.Path == "/page" }, Guard(Options{Key: key}, door))
	r := httptest.NewRequest(method, "http://localhost:7077"+path, nil)
	with(pairs...)(r)
	w = httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w, header
}

func TestListedOriginMayAsk(t *testing.T) {
	w, header := throughCORS(t, http.MethodPost, "/v1/chat/completions", "Origin", app, "Sec-Fetch-Site", "same-site", "Sec-Fetch-Mode", "cors",
		"Cookie", "loci_session=x", "Authorization", "Bearer "+key)
	h := w.Header()
	if header == nil || h.Get("Access-Control-Allow-Origin") != app || h.Get("Access-Control-Allow-Credentials") != "" || h.Get("Vary") != "Origin" || !strings.Contains(h.Get("Access-Control-Expose-Headers"), "X-Loci-Trace") {
		t.Errorf("got %d with %v", w.Code, h)
	}
	if header.Get("Cookie")+header.Get("Origin") != "" {
		t.Errorf("the door saw %v, want neither cookie nor origin", header)
	}
}

func TestPreflightNeedsNoKey(t *testing.T) {
	w, header := throughCORS(t, http.MethodOptions, "/api/memory", "Origin", app, "Access-Control-Request-Method", "PUT", "Access-Control-Request-Headers", "authorization, x-loci-user")
	h := w.Header()
	if w.Code != http.StatusNoContent || header != nil || h.Get("Access-Control-Allow-Origin") != app || h.Get("Access-Control-Allow-Headers") != "authorization, x-loci-user" || !strings.Contains(h.Get("Access-Control-Allow-Methods"), "PUT") {
		t.Errorf("got %d with %v", w.Code, h)
	}
}

func TestOtherOriginsMayNotAsk(t *testing.T) {
	for _, origin := range []string{"http://localhost:5174", "https://localhost:5173", app + ".evil.test", "null", "http://evil.test"} {
		for _, method := range []string{http.MethodPost, http.MethodOptions} {
			w, header := throughCORS(t, method, "/v1/chat/completions", "Origin", origin, "Access-Control-Request-Method", "POST", "Authorization", "Bearer "+key)
			if w.Code != http.StatusForbidden || header != nil || w.Header().Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("%s from %s: got %d with %v", method, origin, w.Code, w.Header())
			}
		}
	}
	if w, header := throughCORS(t, http.MethodPost, "/page", "Origin", app, "Authorization", "Bearer "+key); w.Code != http.StatusForbidden || header != nil {
		t.Errorf("the page of Loci itself: got %d, want it refused", w.Code)
	}
	if w, _ := throughCORS(t, http.MethodPost, "/v1/chat/completions", "Origin", app); w.Code != http.StatusUnauthorized || w.Header().Get("Access-Control-Allow-Origin") != app {
		t.Errorf("without a key: got %d with %v, want a 401 that the page can read", w.Code, w.Header())
	}
}
