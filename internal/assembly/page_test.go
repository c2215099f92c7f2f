package assembly

import (
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/api/web"
	"github.com/loci-memory/loci/internal/config"
)

func TestThePageSaysWhereSettingsAreFromAndNoSecret(t *testing.T) {
	file := t.TempDir() + "/loci.yaml"
	noError(t)(os.WriteFile(file, []byte("recall:\n  top_k: 5\n  budget: 900\nreview:\n  categories: [health, family]\n"), 0o600))
	config := try(config.Load(config.Sources{
		File:  file,
		Env:   []string{"LOCI_RECALL_BUDGET=800", "LOCI_API_KEY=hunter2hunter2", "LOCI_UPSTREAM_URL=http://localhost:1/v1?key=hunter2", "LOCI_EMBED_URL=http://localhost:1/v1?key=hunter2"},
		Flags: map[string]string{"recall.threshold": "0.5"},
	})).orFail(t)
	got := map[string]web.Setting{}
	for _, s := range config.ListSettings() {
		got[s.Key] = s
		if strings.Contains(s.Value, "hunter2") {
			t.Errorf("%s is shown as %q", s.Key, s.Value)
		}
	}
	if len(got) != len(config.ListSettings()) {
		t.Errorf("%d settings are shown of %d", len(got), len(config.ListSettings()))
	}
	for key, want := range map[string][2]string{
		"recall.top_k": {"5", "file"}, "recall.budget": {"800", "environment"}, "recall.threshold": {"0.5", "flag"}, "recall.recency_weight": {"0.2", "default"},
		"review.categories": {"health, family", "file"}, "api_key": {"set", "environment"}, "jwt_secret": {"", "default"}, "upstream.url": {"http://localhost:1/v1", "environment"},
	} {
		if s := got[key]; s.Value != want[0] || s.From != want[1] {
			t.Errorf("%s is shown as %q from %s, want %q from %s", key, s.Value, s.From, want[0], want[1])
		}
	}
}

func TestSettingsInEffectAreListedWithoutSecrets(t *testing.T) {
	l := openWith(t, map[string]string{"api_key": "marzipan", "recall.top_k": "7"})
	for key, want := range map[string]int{"marzipan": http.StatusOK, "another": http.StatusUnauthorized} {
		r := httptest.NewRequest(http.MethodGet, "http://localhost/api/settings", nil)
		r.Header.Set("Authorization", "Bearer "+key)
		w := httptest.NewRecorder()
		l.Handler().ServeHTTP(w, r)
		got := w.Body.String()
		if w.Code != want || strings.Contains(got, "marzipan") || want == http.StatusOK && !strings.Contains(got, `"key":"recall.top_k","env":"LOCI_RECALL_TOP_K","value":"7"`) {
			t.Errorf("with the key %s: %d %.300s", key, w.Code, got)
		}
	}
}

func TestThePageStandsBesideTheAPIBehindTheSameGuard(t *testing.T) {
	l := openWith(t, map[string]string{"api_key": "a key"})
	for path, want := range map[string]struct {
		status int
		kind   string
	}{
		"/":                 {http.StatusSeeOther, "text/html"},
		"/signin":           {http.StatusOK, "text/html"},
		"/playground":       {http.StatusSeeOther, "text/html"},
		"/data/export":      {http.StatusSeeOther, "text/html"},
		"/assets/page.js":   {http.StatusOK, "text/javascript"},
		"/api/memory":       {http.StatusUnauthorized, "application/problem+json"},
		"/v1/models":        {http.StatusUnauthorized, "application/json"},
		"/health":           {http.StatusOK, "application/json"},
		"/assets/page.css/": {http.StatusUnauthorized, "application/problem+json"},
	} {
		r := httptest.NewRequest(http.MethodGet, "http://localhost"+path, nil)
		r.RemoteAddr = "127.0.0.1:1"
		w := httptest.NewRecorder()
		l.Handler().ServeHTTP(w, r)
		if w.Code != want.status || !strings.HasPrefix(w.Header().Get("Content-Type"), want.kind) {
			t.Errorf("GET %s: status %d in %s, want %d in %s", path, w.Code, w.Header().Get("Content-Type"), want.status, want.kind)
		}
	}
}

// TestALostBrowserGetsAPage: who looks in a browser for what is nowhere is told so by the
// page, signed in or after signing in; programs, and whoever asks another door, get what
// they got.
func TestALostBrowserGetsAPage(t *testing.T) {
	const browser = "text/html,application/xhtml+xml,*/*;q=0.8"
	ask := func(l *Loci, method, path, accept string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, "http://localhost"+path, nil)
		r.RemoteAddr = "127.0.0.1:1"
		r.Header.Set("Accept", accept)
		w := httptest.NewRecorder()
		l.Handler().ServeHTTP(w, r)
		return w
	}
	l := openWith(t, nil)
	for _, path := range []string{"/nosuch", "/memories", "/playground/x/y", "/conversations/", "/apis"} {
		w := ask(l, http.MethodGet, path, browser)
		if w.Code != http.StatusNotFound || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") ||
			!strings.Contains(w.Body.String(), "Nothing here") || !strings.Contains(w.Body.String(), path) || w.Header().Get("Content-Security-Policy") == "" {
			t.Errorf("GET %s: status %d in %s: %.400s", path, w.Code, w.Header().Get("Content-Type"), w.Body)
		}
		for _, c := range [][2]string{{http.MethodGet, "*/*"}, {http.MethodGet, "application/json"}, {http.MethodGet, ""}, {http.MethodPut, browser}} {
			if w := ask(l, c[0], path, c[1]); w.Code != http.StatusNotFound || w.Header().Get("Content-Type") != "application/problem+json" {
				t.Errorf("%s %s for %q: status %d in %s", c[0], path, c[1], w.Code, w.Header().Get("Content-Type"))
			}
		}
	}
	for _, path := range []string{"/docs", "/metrics", "/health", "/v1/models", "/api/nosuch", "/openapi.yaml"} {
		if w := ask(l, http.MethodGet, path, browser); strings.Contains(w.Body.String(), "Nothing here") {
			t.Errorf("GET %s is the page's: %.200s", path, w.Body)
		}
	}
	keyed := openWith(t, map[string]string{"api_key": "a key"})
	if w := ask(keyed, http.MethodGet, "/nosuch?a=b", browser); w.Code != http.StatusSeeOther || w.Header().Get("Location") != "/signin?next=%2Fnosuch%3Fa%3Db" {
		t.Errorf("with a key: status %d to %s", w.Code, w.Header().Get("Location"))
	}
}
